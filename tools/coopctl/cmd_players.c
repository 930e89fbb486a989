/* coopctl players: who is known, and his code. */
#include "coopctl/act.h"
#include "coopctl/list.h"
#include "coopctl/name.h"
#include "coopctl/value.h"

#include "base/auto.h"

#include <stdio.h>

static const struct print_column columns[] = {
	{ "ID", "id", PRINT_TEXT },
	{ "CODE", "code", PRINT_NUMBER },
	{ "SEEN", "seen_at", PRINT_AGO },
	{ "CAMPAIGNS", "campaigns", PRINT_NUMBER },
	{ "BYTES", "bytes", PRINT_BYTES },
	{ "HOSTING", "hosting", PRINT_YES },
	{ "BANNED", "banned", PRINT_YES },
	{ "KNOWN", "made_at", PRINT_AGO },
	{ 0 },
};

static enum ctl_exit run_list(struct ctl *c)
{
	return list_run(c, "/players", columns, "There is no such player.");
}

static const struct print_column fields[] = {
	{ "Id", "id", PRINT_TEXT },
	{ "Code", "code", PRINT_TEXT },
	{ "Seen", "seen_at", PRINT_TIME },
	{ "Known since", "made_at", PRINT_TIME },
	{ "Hosting now", "hosting", PRINT_YES },
	{ "Banned", "banned", PRINT_YES },
	{ "Campaigns", "quota.campaigns.used", PRINT_TEXT },
	{ "  at most", "quota.campaigns.max", PRINT_TEXT },
	{ "Bytes", "quota.bytes.used", PRINT_BYTES },
	{ "  at most", "quota.bytes.max", PRINT_BYTES },
	{ "A checkpoint at most", "quota.checkpoint.max", PRINT_BYTES },
	{ 0 },
};

static const struct print_column campaigns[] = {
	{ "ID", "id", PRINT_TEXT },       { "NAME", "name", PRINT_TEXT },       { "ROLE", "role", PRINT_TEXT },
	{ "SIZE", "bytes", PRINT_BYTES }, { "STORED", "stored_at", PRINT_AGO }, { 0 },
};

static enum ctl_exit run_show(struct ctl *c)
{
	static const struct list_inside lists[] = { { "Campaigns", "campaign_list", campaigns }, { 0 } };
	struct ctl_name                 player;
	enum ctl_exit                   e = ctl_name_player(&player, c, ctl_arg(c, 0));

	if (e != CTL_OK)
		return e;

	AUTO(auto_free) char *path = client_path("/players/%s", player.id);

	return list_show(c, path, fields, lists);
}

static enum ctl_exit run_free_code(struct ctl *c)
{
	static const struct action free_code = {
		.method   = "DELETE",
		.path     = "/players/{0}/code",
		.destroys = true,
		.what     = "take player {0}'s code from him, and end his game if there is one",
		.done     = "Player {0} has no code any more.",
	};
	struct ctl_name player;
	enum ctl_exit   e = ctl_name_player(&player, c, ctl_arg(c, 0));

	return e == CTL_OK ? act(c, &free_code, (const char *[ACT_TEXTS_MAX]){ player.id }, NULL) : e;
}

static const struct print_column of_code[] = {
	{ "Code", "code", PRINT_TEXT },
	{ "Before", "old_code", PRINT_TEXT },
	{ 0 },
};

static enum ctl_exit run_set_code(struct ctl *c)
{
	static const struct action set_code = {
		.method   = "POST",
		.path     = "/players/{0}/code",
		.destroys = true,
		.what     = "give player {0} another code; his friends know the old one",
		.done     = "Player {0} has another code.",
		.fields   = of_code,
	};
	const char     *text = ctl_arg(c, 1);
	int64_t         code = 0;
	struct ctl_name player;
	enum ctl_exit   e = CTL_OK;

	if (text && !value_number(&code, text))
		return ctl_fail(c, CTL_USAGE, "usage", "\"%s\" is no code", text);
	e = ctl_name_player(&player, c, ctl_arg(c, 0));
	if (e != CTL_OK)
		return e;

	json_t *body = json_object();

	if (text)
		json_object_set_new(body, "code", json_integer(code));
	e = act(c, &set_code, (const char *[ACT_TEXTS_MAX]){ player.id }, &(struct client_request){ .body = body });
	json_decref(body);
	return e;
}

/* --- forget --- */

static const struct print_column of_forget[] = {
	{ "Code", "code", PRINT_TEXT },
	{ "Connections that end", "connections", PRINT_TEXT },
	{ "Campaigns deleted", "deleted", PRINT_TEXT },
	{ "Campaigns given away", "transferred", PRINT_TEXT },
	{ "Campaigns in the trash", "trash", PRINT_TEXT },
	{ "Memberships", "memberships", PRINT_TEXT },
	{ "Checkpoints stored with others", "checkpoints", PRINT_TEXT },
	{ "Scores", "scores", PRINT_TEXT },
	{ "Rows of the audit trail", "audit", PRINT_TEXT },
	{ "Banned, which stays", "banned", PRINT_YES },
	{ 0 },
};

static const struct print_column of_copies[] = {
	{ "COPY", "file", PRINT_TEXT },
	{ "GOES", "until_at", PRINT_AGO },
	{ 0 },
};

static void say_copies(const struct ctl *c, FILE *out, const json_t *answer)
{
	const json_t *copies = json_object_get(answer, "copies");

	if (json_array_size(copies) > 0) {
		print_heading(c, out,
		              "Copies from before that name him still; those without a time go when you remove them");
		print_table(c, out, copies, of_copies);
	}
	if (json_is_false(json_object_get(answer, "copies_complete")))
		fputs("Not every copy could be read; the server's log names those.\n", out);
}

static const struct print_column of_undecided[] = {
	{ "CAMPAIGN", "id", PRINT_TEXT },
	{ "OTHER MEMBERS", "members", PRINT_NUMBER },
	{ 0 },
};

/* Without a word about his campaigns that others play there is nothing to confirm yet. */
static enum ctl_exit say_tried(struct ctl *c, FILE *out, const json_t *answer)
{
	const json_t *list = json_object_get(answer, "undecided_list");

	if (json_array_size(list) > 0) {
		print_heading(c, out,
		              "A decision is needed: these have other members; say --transfer-to PLAYER, or --delete");
		print_table(c, out, list, of_undecided);
	}
	say_copies(c, out, answer);
	return c->dry_run || json_array_size(list) == 0
	               ? CTL_OK
	               : ctl_fail(c, CTL_CONFLICT, "conflict", "say --transfer-to PLAYER, or --delete");
}

/* What becomes of his campaigns, and which names go; NULL: a mistake, which has been said. */
static json_t *new_forget(struct ctl *c, enum ctl_exit *e)
{
	const char     *names[CTL_VALUES_MAX], *heir = ctl_value(c, "transfer-to");
	size_t          count = ctl_values(names, COUNT_OF(names), c, "name");
	struct ctl_name other;
	json_t         *body = json_object(), *list = json_array();

	*e = heir ? ctl_name_player(&other, c, heir) : CTL_OK;
	for (size_t i = 0; *e == CTL_OK && i < count; i++) {
		char key[NAME_KEY_BYTES];

		if (ctl_name_key(key, names[i]))
			json_array_append_new(list, json_string(key));
		else
			*e = ctl_fail(c, CTL_USAGE, "usage", "\"%s\" is too long for a name on boards", names[i]);
	}
	if (*e == CTL_OK && heir)
		json_object_set_new(body, "transfer_to", json_string(other.id));
	if (ctl_given(c, "delete"))
		json_object_set_new(body, "delete", json_true());
	if (count > 0)
		json_object_set(body, "names", list);
	json_decref(list);
	if (*e == CTL_OK)
		return body;
	json_decref(body);
	return NULL;
}

static enum ctl_exit run_forget(struct ctl *c)
{
	static const struct action forget = {
		.method   = "POST",
		.path     = "/players/{0}/forget",
		.destroys = true,
		.what     = "forget player {0} for good",
		.fields   = of_forget,
		.tried    = say_tried,
	};
	struct ctl_name player;
	json_t         *answer = NULL, *body = NULL;
	enum ctl_exit   e = ctl_name_player(&player, c, ctl_arg(c, 0));

	if (e == CTL_OK)
		body = new_forget(c, &e);
	if (!body)
		return e;
	e = act_quietly(&answer, c, &forget, (const char *[ACT_TEXTS_MAX]){ player.id },
	                &(struct client_request){ .body = body });
	json_decref(body);
	if (e != CTL_OK || !answer)
		return e;
	if (c->json) {
		print_json(stdout, answer);
	} else {
		printf("Player %s is forgotten.\n", player.id);
		print_fields(c, stdout, answer, of_forget);
		say_copies(c, stdout, answer);
	}
	json_decref(answer);
	return CTL_OK;
}

static const struct ctl_option forget_options[] = {
	{ .name = "transfer-to", .value = "PLAYER", .help = "who gets his campaigns that have other members" },
	{ .name = "delete", .help = "these are deleted, too" },
	{ .name = "name", .value = "NAME", .help = "a name of his, to go from all boards", .many = true },
	{ 0 },
};

static const struct ctl_option list_options[] = {
	{ .name = "code", .value = "CODE", .kind = CTL_NUMBER, .help = "who has this code", .query = "code" },
	{ .name = "find", .value = "ID", .help = "whose id begins so", .query = "q" },
	LIST_LIMIT,
	{ 0 },
};

#define WHO "PLAYER is an id, the beginning of one that no other has, or a code."

static const struct ctl_command commands[] = {
	{ "list", "", "list the players that are known", NULL, list_options,
	  "coopctl players\ncoopctl players --code 123456\ncoopctl players --find 0011", run_list },
	{ "show", "PLAYER", "show one player with his campaigns and what he may store", WHO, NULL,
	  "coopctl players show 00112233445566aa\ncoopctl players show 123456", run_show },
	{ "free-code", "PLAYER", "take a player's code from him",
	  WHO "\n\nA game under it ends. He gets another one when he hosts again.", NULL,
	  "coopctl players free-code 123456", run_free_code },
	{ "set-code", "PLAYER [CODE]", "give a player a certain code, or a new one", WHO, NULL,
	  "coopctl players set-code 00112233445566aa 654321\ncoopctl players set-code 123456  # a new one, whichever",
	  run_set_code },
	{ "forget", "PLAYER", "delete all that is kept about a player",
	  WHO "\n\nHis code, campaigns, memberships, what he may store, and what he has in the trash go for good; his "
	      "connections and "
	      "his game end. Checkpoints that he stored in other people's campaigns stay, but nobody can see whose "
	      "they were; the audit "
	      "trail says \"forgotten\" in place of his id. Campaigns of his that have other members need a word: "
	      "--transfer-to or "
	      "--delete.\n\nWhat stays: a ban of him, what the texts of other people's checkpoints say, and copies "
	      "from before, which are "
	      "listed. A restore of one of these forgets him again, as long as limits.store_forgotten_days. Boards "
	      "know nobody's id: "
	      "say which names are his. When his game connects again he is a new player.",
	  forget_options,
	  "coopctl players forget 00112233445566aa --dry-run\n"
	  "coopctl players forget 123456 --transfer-to 8899aabbccddeeff --name Ada\n"
	  "coopctl players forget 123456 --delete",
	  run_forget },
	{ 0 },
};
const struct ctl_group ctl_players = { "players", "players that are known: list, show, forget, free or set a code",
	                               commands };

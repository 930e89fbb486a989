/* coopctl bans: who may not come any more. */
#include "coopctl/act.h"
#include "coopctl/list.h"
#include "coopctl/value.h"

#include "base/auto.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEARLY_AN_ID 12 /* hex digits; an online id has at most 16 bytes */

static enum ctl_exit run_list(struct ctl *c)
{
	static const struct print_column columns[] = {
		{ "ID", "id", PRINT_NUMBER },
		{ "KIND", "kind", PRINT_TEXT },
		{ "VALUE", "value", PRINT_TEXT },
		{ "UNTIL", "until_at", PRINT_AGO },
		{ "HITS", "hits", PRINT_NUMBER },
		{ "REASON", "reason", PRINT_TEXT },
		{ "BY", "by", PRINT_TEXT },
		{ "SINCE", "made_at", PRINT_AGO },
		{ 0 },
	};

	return list_run(c, "/bans", columns, "Nobody is banned.");
}

/* --- Adding --- */

static bool is_address(const char *text)
{
	char          address[INET6_ADDRSTRLEN];
	unsigned char bytes[16];

	/* With or without the bits of a network behind it: whether they are right is for the server to say. */
	return text_format(address, sizeof(address), "%.*s", (int)strcspn(text, "/"), text) &&
	       (inet_pton(AF_INET, address, bytes) == 1 || inet_pton(AF_INET6, address, bytes) == 1);
}

/* A slip in an address or an id would otherwise ban a name that nobody has. */
static bool is_nearly(const char *text)
{
	return strspn(text, "0123456789abcdefABCDEF.:/") == strlen(text) &&
	       (strpbrk(text, ".:/") || strlen(text) >= NEARLY_AN_ID);
}

/* The kind that an option says, or what the value looks like; NULL: two options; "": nobody can tell. */
static const char *kind_of(const struct ctl *c, const char *value)
{
	static const char *const kinds[] = { "address", "player", "identity", "name" };
	const char              *said    = NULL;

	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		if (!ctl_given(c, kinds[i]))
			continue;
		if (said)
			return NULL;
		said = kinds[i];
	}
	if (said)
		return said;
	return is_address(value)         ? "address"
	       : value_is_hex(value, 16) ? "player"
	       : value_is_hex(value, 64) ? "identity"
	       : is_nearly(value)        ? ""
	                                 : "name";
}

static enum ctl_exit run_add(struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Number", "id", PRINT_TEXT },
		{ "Until", "until_at", PRINT_TIME },
		{ "Connections that end", "ends", PRINT_TEXT },
		{ 0 },
	};
	static const struct action add = {
		.method   = "POST",
		.path     = "/bans",
		.destroys = true,
		.what     = "ban the {1} {0}",
		.done     = "The {1} {0} is banned.",
		.fields   = fields,
	};
	const char *value = ctl_arg(c, 0), *reason = ctl_value(c, "reason");
	const char *kind = kind_of(c, value);
	int64_t     expires_s;

	if (!kind)
		return ctl_fail(c, CTL_USAGE, "usage",
		                "a ban is of one kind: --address, --player, --identity or --name");

	if (!*kind)
		return ctl_fail(c, CTL_USAGE, "usage",
		                "%s looks like an address or an id with a slip in it; if it is what you mean, say its "
		                "kind: "
		                "--name",
		                value);

	json_t *body = json_pack("{s:s,s:s,s:s}", "kind", kind, "value", value, "reason", reason ? reason : "");

	if (!body)
		return ctl_fail(c, CTL_USAGE, "usage", "value and reason must be UTF-8");
	if (value_of(&expires_s, c, "expires"))
		json_object_set_new(body, "expires_s", json_integer(expires_s));
	if (ctl_given(c, "force"))
		json_object_set_new(body, "force", json_true());

	enum ctl_exit e =
		act(c, &add, (const char *[ACT_TEXTS_MAX]){ value, kind }, &(struct client_request){ .body = body });

	json_decref(body);
	return e;
}

/* --- Removing --- */

/* The number of the ban on exactly this value. */
static enum ctl_exit find_ban(char id[24], struct ctl *c, const char *value)
{
	AUTO(auto_free) char *path  = client_query(strdup("/bans"), "q", value);
	json_t               *list  = NULL;
	const json_t         *found = NULL, *item;
	size_t                i, count = 0;
	enum ctl_exit         e = client_list(&list, c, path, 0);

	if (e != CTL_OK)
		return e;
	json_array_foreach(json_object_get(list, "items"), i, item)
	{
		const char *is = json_string_value(json_object_get(item, "value"));

		if (!is || !text_same_nocase(is, value))
			continue;
		found = item;
		count++;
	}
	if (count == 0)
		e = ctl_fail(c, CTL_NOT_FOUND, "not_found", "there is no ban on \"%s\"; coopctl bans lists them",
		             value);
	else if (count > 1)
		e = ctl_fail(c, CTL_CONFLICT, "ambiguous", "there are %zu bans on \"%s\"; give the number of one",
		             count, value);
	else
		text_format(id, 24, "%lld", (long long)json_integer_value(json_object_get(found, "id")));
	json_decref(list);
	return e;
}

static enum ctl_exit run_remove(struct ctl *c)
{
	static const struct action remove = {
		.method = "DELETE",
		.path   = "/bans/{0}",
		.what   = "lift ban {0}",
		.done   = "Ban {0} is lifted.",
	};
	const char   *which = ctl_arg(c, 0);
	char          id[24];
	int64_t       number;
	enum ctl_exit e = CTL_OK;

	if (value_number(&number, which) && strlen(which) < sizeof(id))
		text_copy(id, sizeof(id), which);
	else
		e = find_ban(id, c, which);
	return e == CTL_OK ? act(c, &remove, (const char *[ACT_TEXTS_MAX]){ id }, NULL) : e;
}

static const struct ctl_option list_options[] = {
	{ .name  = "kind",
	  .value = "KIND",
	  .help  = "only these",
	  .words = "address player identity name",
	  .query = "kind" },
	{ .name = "find", .value = "TEXT", .help = "with this in the value or the reason", .query = "q" },
	LIST_LIMIT,
	{ 0 },
};

static const struct ctl_option add_options[] = {
	{ .name = "reason", .value = "TEXT", .help = "why, for other operators" },
	{ .name = "expires", .value = "TIME", .kind = CTL_SECONDS, .help = "for so long: 12h, 7d; else for ever" },
	{ .name = "address", .help = "VALUE is an address, or a network: 192.0.2.0/24" },
	{ .name = "player", .help = "VALUE is a player's id" },
	{ .name = "identity", .help = "VALUE is an identity of signaling, 64 hex digits" },
	{ .name = "name", .help = "VALUE is an online id of the rooms, or title/online id" },
	{ .name = "force", .help = "also what covers loopback, a proxy, yourself, or very many" },
	{ 0 },
};

static const struct ctl_command commands[] = {
	{ "list", "", "list the bans", NULL, list_options, "coopctl bans\ncoopctl bans --kind address", run_list },
	{ "add", "VALUE", "ban an address, a network, a player, an identity or an online id",
	  "It is in force at once, also for who is connected. What kind of ban it is can be seen from VALUE; an option "
	  "says it where that guesses wrong.",
	  add_options,
	  "coopctl bans add 192.0.2.7 --reason \"floods\" --expires 7d\ncoopctl bans add 2001:db8::/48\n"
	  "coopctl bans add 00112233445566aa  # a player\ncoopctl bans add racer/Mallory --name",
	  run_add },
	{ "remove", "BAN", "lift a ban", "BAN is its number or its value.", NULL,
	  "coopctl bans remove 3\ncoopctl bans remove 192.0.2.7", run_remove },
	{ 0 },
};
const struct ctl_group ctl_bans = { "bans", "who may not come any more: list, add, remove", commands };

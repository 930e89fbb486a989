/* coopctl blobs, backup, drain, reload, settings: the server itself. */
#include "coopctl/act.h"
#include "coopctl/list.h"
#include "coopctl/value.h"

#include "base/auto.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHOW_EVERY_US 500000

/* --- blobs --- */

static enum ctl_exit run_blobs(struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Blobs", "blobs", PRINT_TEXT },
		{ "  bytes", "bytes", PRINT_BYTES },
		{ "That no row names", "garbage", PRINT_TEXT },
		{ "In the trash", "trash", PRINT_TEXT },
		{ "  bytes", "trash_bytes", PRINT_BYTES },
		{ "Damaged", "damaged", PRINT_TEXT },
		{ "Missing", "missing", PRINT_TEXT },
		{ "Folder is known", "known", PRINT_YES },
		{ 0 },
	};

	return list_show(c, "/blobs", fields, NULL);
}

static enum ctl_exit run_sweep(struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Files", "moved", PRINT_TEXT },
		{ "Bytes", "bytes", PRINT_BYTES },
		{ 0 },
	};
	static const struct action sweep = {
		.method   = "POST",
		.path     = "/blobs/sweep",
		.destroys = true,
		.what     = "move the files that no row of the database names to the trash",
		.done     = "The files that no row names are in the trash.",
		.fields   = fields,
	};
	json_t       *body = json_pack("{s:b}", "confirm", 1);
	enum ctl_exit e    = act(c, &sweep, c->args, &(struct client_request){ .body = body });

	json_decref(body);
	return e;
}

static const struct ctl_command blob_commands[] = {
	{ "show", "", "show the folder of checkpoints: files, bytes, trash, damage", NULL, NULL, "coopctl blobs",
	  run_blobs },
	{ "sweep", "", "move files that no row names to the trash",
	  "coopd does this by itself in a folder that it knows. After a database was replaced by an older one it asks: "
	  "then look before at what would be moved.",
	  NULL, "coopctl blobs sweep --dry-run\ncoopctl blobs sweep", run_sweep },
	{ 0 },
};
const struct ctl_group ctl_blobs = { "blobs", "the files of checkpoints: show, sweep", blob_commands };

/* --- backup --- */

static enum ctl_exit show_backup(struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Running", "running", PRINT_YES },         { "Where", "dest", PRINT_TEXT },
		{ "Began", "began_at", PRINT_TIME },         { "Ended", "ended_at", PRINT_TIME },
		{ "Result", "result", PRINT_STATE },         { "Blobs", "blobs", PRINT_TEXT },
		{ "  done", "blobs_done", PRINT_TEXT },      { "Damaged", "damaged", PRINT_TEXT },
		{ "Last good", "last_good_at", PRINT_TIME }, { 0 },
	};

	return list_show(c, "/backup", fields, NULL);
}

/* The server does not know our folder. Over TCP it takes plain names only, and says so of others. */
static char *whole_path(const struct ctl *c, const char *dest)
{
	AUTO(auto_free) char *here  = dest[0] != '/' && c->where.socket ? realpath(".", NULL) : NULL;
	char                 *whole = NULL;

	return here ? asprintf(&whole, "%s/%s", here, dest) < 0 ? NULL : whole : strdup(dest);
}

/* How far it is, for somebody at a terminal: a process of its own asks, while this one waits for the end. */
_Noreturn static void keep_showing(struct ctl *c, pid_t parent)
{
	const struct client_request rq = { .path = "/backup", .hasty = true };

	c->curl = NULL; /* the other's */
	for (;;) {
		struct client_answer a;
		json_int_t           done, all;

		usleep(SHOW_EVERY_US);
		if (getppid() != parent)
			_exit(0);
		client_try(&a, c, &rq);
		if (a.exit == CTL_OK && json_is_true(json_object_get(a.json, "running"))) {
			done = json_integer_value(json_object_get(a.json, "blobs_done"));
			all  = json_integer_value(json_object_get(a.json, "blobs"));
			if (all > 0)
				fprintf(stderr,
				        "\r  %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " checkpoints\033[K",
				        done, all);
			else
				fprintf(stderr, "\r  the database\033[K");
		}
		client_answer_free(&a);
	}
}

/* 0: nobody looks. */
static pid_t show_progress(struct ctl *c)
{
	pid_t parent = getpid(), pid = -1;

	if (!c->json && !c->dry_run && isatty(STDERR_FILENO))
		pid = fork();
	if (pid == 0)
		keep_showing(c, parent);
	return pid > 0 ? pid : 0;
}

static void end_progress(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	fputs("\r\033[K", stderr);
}

static enum ctl_exit run_backup(struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Where", "dest", PRINT_TEXT },
		{ "Database", "database_bytes", PRINT_BYTES },
		{ "Blobs", "blobs", PRINT_TEXT },
		{ "  new ones", "blobs_copied", PRINT_TEXT },
		{ "  bytes", "bytes_copied", PRINT_BYTES },
		{ "  damaged", "damaged", PRINT_TEXT },
		{ "Took", "took_ms", PRINT_MS },
		{ 0 },
	};
	static const struct action backup = {
		.method = "POST",
		.path   = "/backup",
		.what   = "write a backup to {0}",
		.done   = "The backup is written and verified.",
		.fields = fields,
	};
	AUTO(auto_free) char *dest = NULL;

	if (ctl_given(c, "status"))
		return show_backup(c);
	if (!ctl_arg(c, 0))
		return ctl_fail(c, CTL_USAGE, "usage", "where to? coopctl backup DEST; --status shows the last one");
	dest = whole_path(c, ctl_arg(c, 0));
	if (!dest)
		return ctl_fail(c, CTL_REFUSED, "output", "the folder cannot be found out");

	json_t *body = json_pack("{s:s}", "dest", dest);

	if (!body)
		return ctl_fail(c, CTL_USAGE, "usage", "the server takes names in UTF-8 only");

	pid_t         shower = show_progress(c);
	enum ctl_exit e      = act(c, &backup, (const char *[ACT_TEXTS_MAX]){ dest },
	                           &(struct client_request){ .body = body, .patient = true });

	end_progress(shower);
	json_decref(body);
	return e;
}

static const struct ctl_option backup_options[] = {
	{ .name = "status", .help = "show the last one, or how far one is that runs" },
	{ 0 },
};

static const struct ctl_command backup_commands[] = {
	{ "", "[DEST]", "write a backup beside the running server, and verify it",
	  "DEST is a folder on the server's machine, which coopd makes or brings up to date. With --url it is a plain "
	  "name below backup.dir.",
	  backup_options, "coopctl backup /var/backups/coopd\ncoopctl backup --status", run_backup },
	{ 0 },
};
const struct ctl_group ctl_backup = { "backup", "write a backup beside the running server", backup_commands };

/* --- drain --- */

static const struct print_column drain_fields[] = {
	{ "Draining", "draining", PRINT_YES },
	{ "Hands over", "hand_over", PRINT_YES },
	{ "Since", "since_at", PRINT_TIME },
	{ "Deadline", "deadline_at", PRINT_TIME },
	{ "Games left", "left.games", PRINT_TEXT },
	{ "  hosts", "left.hosts", PRINT_TEXT },
	{ "  friends", "left.friends", PRINT_TEXT },
	{ "Lobbies", "left.lobbies", PRINT_TEXT },
	{ "At signaling", "left.signal", PRINT_TEXT },
	{ "Rooms", "left.rooms", PRINT_TEXT },
	{ "  players", "left.room_players", PRINT_TEXT },
	{ "P2P rooms", "left.p2p_rooms", PRINT_TEXT },
	{ "  sessions", "left.p2p_sessions", PRINT_TEXT },
	{ "Uploads", "left.uploads", PRINT_TEXT },
	{ "HTTP transfers", "left.transfers", PRINT_TEXT },
	{ 0 },
};

/* Nothing drains yet. */
static const struct print_column drain_tried[] = {
	{ "Would hand over", "hand_over", PRINT_YES },      { "Deadline then", "deadline_at", PRINT_TIME },
	{ "Games now", "left.games", PRINT_TEXT },          { "  hosts", "left.hosts", PRINT_TEXT },
	{ "  friends", "left.friends", PRINT_TEXT },        { "Lobbies", "left.lobbies", PRINT_TEXT },
	{ "At signaling", "left.signal", PRINT_TEXT },      { "Rooms", "left.rooms", PRINT_TEXT },
	{ "  players", "left.room_players", PRINT_TEXT },   { "P2P rooms", "left.p2p_rooms", PRINT_TEXT },
	{ "  sessions", "left.p2p_sessions", PRINT_TEXT },  { "Uploads", "left.uploads", PRINT_TEXT },
	{ "HTTP transfers", "left.transfers", PRINT_TEXT }, { 0 },
};

static enum ctl_exit run_drain(struct ctl *c)
{
	static const struct action drain = {
		.method       = "POST",
		.path         = "/drain",
		.destroys     = true,
		.what         = "begin nothing new, let those play who do, and stop the server at the deadline",
		.done         = "The server drains. coopctl drain --cancel takes it back.",
		.fields       = drain_fields,
		.tried_fields = drain_tried,
	};
	static const struct action undrain = {
		.method = "DELETE",
		.path   = "/drain",
		.what   = "take the drain back",
		.done   = "The server takes new games again.",
		.fields = drain_fields,
	};
	static const struct action hand_over = {
		.method       = "POST",
		.path         = "/handover",
		.destroys     = true,
		.what         = "start the program anew and hand all to it; everybody is cut off once and comes back",
		.done         = "The new process takes over.",
		.fields       = drain_fields,
		.tried_fields = drain_tried,
	};
	static const struct action later = {
		.method   = "POST",
		.path     = "/handover",
		.destroys = true,
		.what = "begin nothing new, let those play who do, and hand over to a new process when nobody is left "
			"or at "
			"the deadline",
		.done = "The server drains and then hands over. coopctl drain --cancel takes it back.",
		.fields       = drain_fields,
		.tried_fields = drain_tried,
	};
	bool                 hands_over = ctl_given(c, "hand-over");
	int64_t              deadline_s = 0;
	const struct action *what       = &drain;

	if (ctl_given(c, "status") + ctl_given(c, "cancel") + (ctl_given(c, "deadline") || hands_over) > 1)
		return ctl_fail(c, CTL_USAGE, "usage",
		                "only one of --status, --cancel and --deadline, which goes with --hand-over");
	if (ctl_given(c, "status"))
		return list_show(c, "/drain", drain_fields, NULL);
	if (ctl_given(c, "cancel"))
		return act_on_args(c, &undrain);

	json_t *body = json_object();

	if (value_of(&deadline_s, c, "deadline"))
		json_object_set_new(body, "deadline_s", json_integer(deadline_s));
	if (hands_over)
		what = deadline_s > 0 ? &later : &hand_over;

	enum ctl_exit e = act(c, what, c->args, &(struct client_request){ .body = body, .patient = hands_over });

	json_decref(body);
	return e;
}

static const struct ctl_option drain_options[] = {
	{ .name  = "deadline",
	  .value = "TIME",
	  .kind  = CTL_SECONDS,
	  .help  = "stop after so long: 30m; 0: never; else 1h. With --hand-over: at the latest then; else at once" },
	{ .name = "hand-over", .help = "a new process takes over instead, as for an upgrade" },
	{ .name = "status", .help = "show who is still there" },
	{ .name = "cancel", .help = "take it back" },
	{ 0 },
};

static const struct ctl_command drain_commands[] = {
	{ "", "", "let players finish before the server stops",
	  "No new games, lobbies, rooms or sessions; who plays goes on, and friends still come. At the deadline the "
	  "server stops. With --hand-over a new process of the program that is installed now takes over: games go on, "
	  "after a reconnect of each player. If it cannot start, all stays as it is.",
	  drain_options,
	  "coopctl drain --deadline 30m\ncoopctl drain --status\ncoopctl drain --cancel\ncoopctl drain --hand-over\n"
	  "coopctl drain --hand-over --deadline 30m",
	  run_drain },
	{ 0 },
};
const struct ctl_group ctl_drain = { "drain", "let players finish before the server stops", drain_commands };

/* --- reload --- */

static void print_texts(const char *title, const json_t *texts)
{
	const json_t *text;
	size_t        i;

	if (json_array_size(texts) > 0)
		printf("%s:\n", title);
	json_array_foreach(texts, i, text)
	{
		AUTO(auto_free) char *escaped = print_escape(json_string_value(text) ? json_string_value(text) : "");

		printf("  %s\n", escaped);
	}
}

static enum ctl_exit run_reload(struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Changes", "changed", PRINT_TEXT },
		{ "Needs a restart", "restart", PRINT_TEXT },
		{ 0 },
	};
	static const struct action reload = {
		.method = "POST",
		.path   = "/reload",
		.what   = "read the configuration again",
		.done   = "",
		.fields = fields,
	};
	json_t       *answer = NULL;
	enum ctl_exit e      = act_quietly(&answer, c, &reload, c->args, NULL);

	if (e != CTL_OK || !answer)
		return e;
	if (c->json) {
		print_json(stdout, answer);
	} else {
		puts("The configuration was read again.");
		print_texts("Changed", json_object_get(answer, "changed"));
		print_texts("Needs a restart", json_object_get(answer, "restart"));
	}
	json_decref(answer);
	return CTL_OK;
}

static const struct ctl_command reload_commands[] = {
	{ "", "", "have the server read its configuration again",
	  "What is wrong in it is listed, and nothing is changed then.", NULL,
	  "coopctl reload\ncoopctl reload --dry-run", run_reload },
	{ 0 },
};
const struct ctl_group ctl_reload = { "reload", "have the server read its configuration again", reload_commands };

/* --- settings --- */

/* Whether an operator looks for this one: a part of its name, and not the default if that was asked. */
static bool is_wanted(const struct ctl *c, const json_t *item)
{
	const char *key = json_string_value(json_object_get(item, "key"));

	if (ctl_given(c, "changed") && json_is_true(json_object_get(item, "default")))
		return false;
	return !ctl_arg(c, 0) || (key && strstr(key, ctl_arg(c, 0)));
}

static enum ctl_exit run_settings(struct ctl *c)
{
	static const struct print_column columns[] = {
		{ "SETTING", "key", PRINT_TEXT },
		{ "VALUE", "value", PRINT_TEXT },
		{ "UNIT", "unit", PRINT_TEXT },
		{ "FROM", "source", PRINT_TEXT },
		{ "RELOAD", "reload", PRINT_YES },
		{ "WHAT", "help", PRINT_TEXT },
		{ 0 },
	};
	json_t       *list = NULL;
	enum ctl_exit e    = client_list(&list, c, "/settings", 0);

	if (e != CTL_OK)
		return e;

	json_t *items = json_object_get(list, "items");

	for (size_t i = json_array_size(items); i-- > 0;)
		if (!is_wanted(c, json_array_get(items, i)))
			json_array_remove(items, i);
	print_list(c, list, columns, "There is no such setting.");
	json_decref(list);
	return CTL_OK;
}

static const struct ctl_option settings_options[] = {
	{ .name = "changed", .help = "only those that are not at their defaults" },
	{ 0 },
};

static const struct ctl_command settings_commands[] = {
	{ "", "[TEXT]", "show the settings in force, and where each comes from",
	  "With TEXT, those that have it in their names. Secrets are not shown.", settings_options,
	  "coopctl settings --changed\ncoopctl settings admin.", run_settings },
	{ 0 },
};
const struct ctl_group ctl_settings = { "settings", "the settings in force, and where each comes from",
	                                settings_commands };

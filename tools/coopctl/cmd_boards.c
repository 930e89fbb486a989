/* coopctl boards: leaderboards. */
#include "coopctl/act.h"
#include "coopctl/into.h"
#include "coopctl/list.h"
#include "coopctl/name.h"

#include "base/auto.h"
#include "os/file.h"

#include <stdio.h>

#define CSV_BYTES_MAX ((size_t)4 * 1024 * 1024) /* the server takes no more */

static enum ctl_exit run_list(struct ctl *c)
{
	static const struct print_column columns[] = {
		{ "TITLE", "title", PRINT_TEXT },
		{ "BOARD", "board", PRINT_TEXT },
		{ "BETTER IS", "order", PRINT_TEXT },
		{ "ROWS", "rows", PRINT_NUMBER },
		{ "LEADER", "leader", PRINT_TEXT },
		{ "BEST", "best", PRINT_NUMBER },
		{ 0 },
	};

	return list_run(c, "/boards", columns, "There is no board.");
}

/* The arguments as paths have them: TITLE, BOARD and, of remove-score, NAME. */
struct keys {
	char title[NAME_KEY_BYTES], board[NAME_KEY_BYTES], name[NAME_KEY_BYTES];
};

static enum ctl_exit read_keys(struct keys *k, const struct ctl *c)
{
	const char *name = ctl_arg(c, 2);

	k->name[0] = '\0';
	if (!ctl_name_key(k->title, ctl_arg(c, 0)) || !ctl_name_key(k->board, ctl_arg(c, 1)) ||
	    (name && !ctl_name_key(k->name, name)))
		return ctl_fail(c, CTL_USAGE, "usage", "such a long name cannot be");
	return CTL_OK;
}

static enum ctl_exit run_show(struct ctl *c)
{
	static const struct print_column columns[] = {
		{ "RANK", "rank", PRINT_NUMBER },      { "NAME", "name", PRINT_TEXT },
		{ "SCORE", "score", PRINT_NUMBER },    { "COMMENT", "comment", PRINT_TEXT },
		{ "SINCE", "recorded_at", PRINT_AGO }, { 0 },
	};
	struct keys   k;
	enum ctl_exit e = read_keys(&k, c);

	if (e != CTL_OK)
		return e;

	AUTO(auto_free) char *path = client_path("/boards/%s/%s", k.title, k.board);

	return list_run(c, path, columns, "The board has no row.");
}

static enum ctl_exit act_on_board(struct ctl *c, const struct action *a, const struct client_request *more)
{
	struct keys   k;
	enum ctl_exit e = read_keys(&k, c);

	return e == CTL_OK ? act(c, a, (const char *[ACT_TEXTS_MAX]){ k.title, k.board, k.name, ctl_arg(c, 2) }, more)
	                   : e;
}

static enum ctl_exit run_remove_score(struct ctl *c)
{
	static const struct action remove = {
		.method   = "DELETE",
		.path     = "/boards/{0}/{1}/scores/{2}",
		.destroys = true,
		.what     = "remove the row of {3} from board {1} of {0}",
		.done     = "The row of {3} is gone from board {1} of {0}.",
	};

	return act_on_board(c, &remove, NULL);
}

static const struct print_column of_reset[] = { { "Rows", "rows", PRINT_TEXT }, { 0 } };

static enum ctl_exit run_reset(struct ctl *c)
{
	static const struct action reset = {
		.method   = "DELETE",
		.path     = "/boards/{0}/{1}",
		.destroys = true,
		.what     = "remove all rows of board {1} of {0} (coopctl boards export saves them)",
		.done     = "Board {1} of {0} is empty.",
		.fields   = of_reset,
	};

	return act_on_board(c, &reset, NULL);
}

static enum ctl_exit run_export(struct ctl *c)
{
	const char   *to = ctl_value(c, "output");
	struct keys   k;
	enum ctl_exit e = read_keys(&k, c);

	if (e != CTL_OK)
		return e;

	AUTO(auto_free) char *path = client_path("/boards/%s/%s/csv", k.title, k.board);

	return into_file(c, path, to ? to : "-");
}

static enum ctl_exit run_import(struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Rows taken", "imported", PRINT_TEXT },
		{ "Rows skipped", "skipped", PRINT_TEXT },
		{ 0 },
	};
	static const struct action import = {
		.method   = "POST",
		.path     = "/boards/{0}/{1}/csv",
		.destroys = true,
		.what     = "put the rows of {3} into board {1} of {0}, in place of those of the same names",
		.done     = "Board {1} of {0} has the rows of {3}.",
		.fields   = fields,
	};
	AUTO(auto_free) char *text = NULL;
	size_t                len  = 0;

	if (file_read(&text, &len, ctl_arg(c, 2), CSV_BYTES_MAX) != ERR_OK)
		return ctl_fail(c, CTL_USAGE, "usage", "\"%s\" cannot be read, or is larger than 4 MiB", ctl_arg(c, 2));
	return act_on_board(c, &import, &(struct client_request){ .text = text, .text_len = len });
}

static const struct ctl_option list_options[] = {
	{ .name = "title", .value = "TITLE", .help = "of this title", .query = "title" },
	LIST_LIMIT,
	{ 0 },
};
static const struct ctl_option show_options[]   = { LIST_LIMIT, { 0 } };
static const struct ctl_option export_options[] = {
	{ .name = "output", .letter = 'o', .value = "FILE", .help = "where to, instead of standard output" },
	{ 0 },
};

#define NAMES \
	"Names are written as they are; one that cannot be typed as --json has it in title_key and name_key, ~c3a4."

static const struct ctl_command commands[] = {
	{ "list", "", "list the boards", NULL, list_options, "coopctl boards\ncoopctl boards --title racer", run_list },
	{ "show", "TITLE BOARD", "show the rows of a board, from the best", NAMES, show_options,
	  "coopctl boards show racer laps --limit 10", run_show },
	{ "remove-score", "TITLE BOARD NAME", "remove one row", NAMES, NULL,
	  "coopctl boards remove-score racer laps \"Ada L.\"", run_remove_score },
	{ "reset", "TITLE BOARD", "remove all rows of a board", NAMES, NULL,
	  "coopctl boards export racer laps -o laps.csv\ncoopctl boards reset racer laps", run_reset },
	{ "export", "TITLE BOARD", "save a board as CSV", NAMES, export_options,
	  "coopctl boards export racer laps -o laps.csv", run_export },
	{ "import", "TITLE BOARD FILE", "put rows of a CSV file into a board",
	  NAMES "\n\nThe first line is name,score,comment,recorded_at. Rows replace those of the same name; when one "
	        "is wrong none is taken.",
	  NULL, "coopctl boards import racer laps laps.csv --dry-run", run_import },
	{ 0 },
};
const struct ctl_group ctl_boards = { "boards", "leaderboards: list, show, remove a score, reset, export, import",
	                              commands };

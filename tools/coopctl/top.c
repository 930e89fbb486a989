#include "coopctl/top.h"

#include "base/auto.h"
#include "base/text.h"
#include "coopctl/event_line.h"
#include "coopctl/print.h"

#include <stdlib.h>
#include <string.h>

#define CELL_COLUMNS 26
#define LABEL_WIDTH  12
#define PAGE_GAMES   10
#define EVENTS_MIN   4 /* lines that the games leave */
#define PLAIN_EVENTS 20
#define PLAIN_WIDTH  160

/* The games' table; each can be sorted by. RATE is made here, of both ways. */
static const struct print_column columns[] = {
	{ "RATE", "rate", PRINT_RATE },         { "CODE", "code", PRINT_NUMBER },
	{ "STATE", "state", PRINT_TEXT },       { "FRIENDS", "friends", PRINT_NUMBER },
	{ "UP", "rate_up", PRINT_RATE },        { "DOWN", "rate_down", PRINT_RATE },
	{ "ALL UP", "up.bytes", PRINT_BYTES },  { "ALL DOWN", "down.bytes", PRINT_BYTES },
	{ "DROPPED", "dropped", PRINT_NUMBER }, { "V", "version", PRINT_NUMBER },
	{ "HOST", "host", PRINT_TEXT },         { 0 },
};
#define COLUMNS (COUNT_OF(columns) - 1)

static const char *const help[] = {
	"q         quit",
	"p         pause: everything stays as it is, and goes on with p",
	"s S       sort the games by the next column, by the one before",
	"r         sort the other way round",
	"up down   move through the games; also page up, page down, home",
	"h ?       this help, and back",
};

void top_init(struct top *t)
{
	*t = (struct top){ .events = json_array() };
	if (!t->events)
		abort();
}

void top_fini(struct top *t)
{
	json_decref(t->hello);
	json_decref(t->figures);
	json_decref(t->games);
	json_decref(t->events);
}

/* --- What comes --- */

static void replace(json_t **old, const json_t *with)
{
	json_decref(*old);
	*old = json_deep_copy(with);
}

void top_hello(struct top *t, const json_t *hello)
{
	replace(&t->hello, hello);
}

void top_note(struct top *t, const char *note)
{
	text_copy(t->note, sizeof(t->note), note);
}

static void add_event(struct top *t, const json_t *message)
{
	json_array_append_new(t->events, json_deep_copy(message));
	if (t->paused)
		t->hidden++;
	if (json_array_size(t->events) > TOP_EVENTS)
		json_array_remove(t->events, 0);
	if (t->hidden > json_array_size(t->events))
		t->hidden = json_array_size(t->events);
}

void top_message(struct top *t, const json_t *message)
{
	const char *op = json_string_value(json_object_get(message, "op"));

	if (op && strcmp(op, "figures") == 0 && !t->paused)
		replace(&t->figures, message);
	else if (op && (strcmp(op, "event") == 0 || strcmp(op, "lost") == 0))
		add_event(t, message);
}

/* Texts before numbers before nothing; below 0: a is the smaller one. */
static int compare(const json_t *a, const json_t *b)
{
	const char *x = json_string_value(a), *y = json_string_value(b);
	double      m = json_number_value(a), n = json_number_value(b);

	if (x && y)
		return strcmp(x, y);
	if (x || y)
		return x ? 1 : -1;
	return m < n ? -1 : m > n;
}

static int compare_games(const void *a, const void *b, void *arg)
{
	const struct top *t   = arg;
	const json_t     *x   = *(const json_t *const *)a;
	const json_t     *y   = *(const json_t *const *)b;
	const char       *by  = columns[t->sort].member;
	int               way = compare(print_member(x, by), print_member(y, by));

	/* The largest number first, but texts and codes from the beginning. */
	if (columns[t->sort].format != PRINT_TEXT && strcmp(by, "code") != 0)
		way = -way;
	if (t->is_turned)
		way = -way;
	return way ? way : compare(json_object_get(x, "code"), json_object_get(y, "code"));
}

static void sort_games(struct top *t)
{
	size_t   count  = json_array_size(t->games);
	json_t  *sorted = json_array();
	json_t **all    = calloc(count + 1, sizeof(json_t *));

	if (!sorted || !all)
		abort();
	for (size_t i = 0; i < count; i++)
		all[i] = json_array_get(t->games, i);
	qsort_r((void *)all, count, sizeof(*all), compare_games, t);
	for (size_t i = 0; i < count; i++)
		json_array_append(sorted, all[i]);
	free((void *)all);
	json_decref(t->games);
	t->games = sorted;
}

static json_int_t number(const json_t *object, const char *path)
{
	return json_integer_value(print_member(object, path));
}

void top_games(struct top *t, const json_t *items)
{
	json_t *game;
	size_t  i;

	if (t->paused)
		return;
	replace(&t->games, items);
	json_array_foreach(t->games, i, game)
	{
		json_object_set_new(game, "rate", json_integer(number(game, "rate_up") + number(game, "rate_down")));
		json_object_set_new(game, "dropped",
		                    json_integer(number(game, "up.dropped") + number(game, "down.dropped")));
	}
	sort_games(t);
}

/* --- Keys --- */

static void scroll(struct top *t, long by)
{
	size_t up = by < 0 ? (size_t)-by : 0;

	if (by > 0)
		t->scroll += (size_t)by;
	else
		t->scroll -= up < t->scroll ? up : t->scroll;
}

static void sort_by(struct top *t, size_t column)
{
	t->sort      = column % COLUMNS;
	t->is_turned = false;
	sort_games(t);
}

bool top_key(struct top *t, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case 'p':
	case ' ':
		t->paused = !t->paused;
		t->hidden = 0;
		break;
	case 's':
		sort_by(t, t->sort + 1);
		break;
	case 'S':
		sort_by(t, t->sort + COLUMNS - 1);
		break;
	case 'r':
		t->is_turned = !t->is_turned;
		sort_games(t);
		break;
	case 'h':
	case '?':
		t->helps = !t->helps;
		break;
	case TOP_KEY_UP:
		scroll(t, -1);
		break;
	case TOP_KEY_DOWN:
		scroll(t, 1);
		break;
	case TOP_KEY_PAGE_UP:
		scroll(t, -PAGE_GAMES);
		break;
	case TOP_KEY_PAGE_DOWN:
		scroll(t, PAGE_GAMES);
		break;
	case TOP_KEY_HOME:
		t->scroll = 0;
		break;
	default:
		break;
	}
	return true;
}

/* --- Lines --- */

static void put(struct top_view *v, size_t width, enum top_style style, const char *text)
{
	if (v->count == TOP_LINES_MAX)
		return;
	v->lines[v->count].text    = print_cut(text, width);
	v->lines[v->count++].style = style;
}

void top_view_fini(struct top_view *v)
{
	while (v->count > 0)
		free(v->lines[--v->count].text);
}

static void put_head(struct top_view *v, const struct top *t, size_t width)
{
	const char           *at      = json_string_value(json_object_get(t->figures, "at"));
	const char           *version = json_string_value(json_object_get(t->hello, "version"));
	AUTO(auto_free) char *safe    = print_escape(version ? version : "");
	AUTO(auto_free) char *when    = print_escape(at ? at : "");
	AUTO(auto_free) char *note    = print_escape(t->note);
	char                  line[400];
	bool                  is_time = strlen(when) >= 19 && when[10] == 'T';

	text_format(line, sizeof(line), "coopd %s  %.*s %.*s%s%s%s%s", safe, is_time ? 10 : 0, when, is_time ? 8 : 0,
	            is_time ? when + 11 : "", is_time ? " UTC" : "", t->paused ? "  PAUSED" : "", *note ? "  " : "",
	            note);
	put(v, width, TOP_BAR, line);
}

/* --- Figures --- */

struct cell {
	const char       *label, *member;
	enum print_format format;
	const char       *unit;
};

static const struct cell cells[] = {
	{ "Games", "games", PRINT_NUMBER, "" },
	{ "Hosts", "hosts", PRINT_NUMBER, "" },
	{ "Friends", "friends", PRINT_NUMBER, "" },
	{ "Players", "players", PRINT_NUMBER, "" },
	{ "Up", "bytes_up_s", PRINT_RATE, "" },
	{ "Down", "bytes_down_s", PRINT_RATE, "" },
	{ "Datagrams", "datagrams_s", PRINT_NUMBER, "/s" },
	{ "Dropped", "drops_s", PRINT_NUMBER, "/s" },
	{ "Lobbies", "lobbies", PRINT_NUMBER, "" },
	{ "Signaling", "signal_peers", PRINT_NUMBER, "" },
	{ "Rooms", "rooms", PRINT_NUMBER, "" },
	{ "  players", "room_players", PRINT_NUMBER, "" },
	{ "P2P", "p2p_sessions", PRINT_NUMBER, "" },
	{ "  rooms", "p2p_rooms", PRINT_NUMBER, "" },
	{ "WebSockets", "ws_connections", PRINT_NUMBER, "" },
	{ "HTTP", "http_requests_s", PRINT_NUMBER, "/s" },
	{ "Store queue", "store_queue", PRINT_NUMBER, "" },
	{ "Commit 50%", "commit_p50_ms", PRINT_NUMBER, " ms" },
	{ "  99%", "commit_p99_ms", PRINT_NUMBER, " ms" },
	{ "Loop lag", "loop_lag_ms", PRINT_MS, "" },
	{ "Memory", "rss_bytes", PRINT_BYTES, "" },
	{ "Disk free", "disk_free_bytes", PRINT_BYTES, "" },
	{ "Database", "database_bytes", PRINT_BYTES, "" },
	{ "  WAL", "wal_bytes", PRINT_BYTES, "" },
	{ "Checkpoints", "blob_bytes", PRINT_BYTES, "" },
	{ "Quota used", "quota_used_bytes", PRINT_BYTES, "" },
	{ "  of", "quota_max_bytes", PRINT_BYTES, "" },
};

/* The set with sums that the server does not make. Only of figures that are there. */
static json_t *with_sums(const json_t *figures)
{
	json_t       *all  = json_copy((json_t *)(uintptr_t)figures);
	json_int_t    lost = 0;
	bool          any  = false;
	const char   *name;
	const json_t *value;

	json_object_foreach(all, name, value)
	{
		if (strncmp(name, "drops_", 6) != 0 || !json_is_number(value))
			continue;
		lost += (json_int_t)json_number_value(value);
		any = true;
	}
	if (any)
		json_object_set_new(all, "drops_s", json_integer(lost));
	if (json_object_get(all, "datagrams_up_s"))
		json_object_set_new(all, "datagrams_s",
		                    json_integer(
					    (json_int_t)json_number_value(json_object_get(all, "datagrams_up_s")) +
					    (json_int_t)json_number_value(json_object_get(all, "datagrams_down_s"))));
	return all;
}

static void put_figures(struct top_view *v, const struct top *t, size_t width)
{
	static const struct ctl plain    = { .color = false };
	json_t                 *figures  = with_sums(t->figures);
	size_t                  in_a_row = width / CELL_COLUMNS ? width / CELL_COLUMNS : 1;
	char                    line[1000];
	size_t                  len = 0;

	for (size_t i = 0; i < COUNT_OF(cells); i++) {
		const json_t         *is    = json_object_get(figures, cells[i].member);
		AUTO(auto_free) char *value = print_value(&plain, is, cells[i].format);
		int                   room  = CELL_COLUMNS - 2 - LABEL_WIDTH;
		char                  shown[64];

		text_format(shown, sizeof(shown), "%s%s", value, is ? cells[i].unit : "");
		if (len + CELL_COLUMNS + 1 < sizeof(line))
			len += (size_t)snprintf(line + len, sizeof(line) - len, "%-*s%*.*s  ", LABEL_WIDTH,
			                        cells[i].label, room, room, shown);
		if ((i + 1) % in_a_row != 0 && i + 1 < COUNT_OF(cells))
			continue;
		while (len > 0 && line[len - 1] == ' ')
			line[--len] = '\0';
		put(v, width, TOP_PLAIN, line);
		len = 0;
	}
	json_decref(figures);
}

/* --- Games and events --- */

/* Each line of what was printed into text. */
static void put_lines(struct top_view *v, char *text, size_t width, size_t most, bool has_head)
{
	char *rest = text;

	for (size_t i = 0; i < most; i++) {
		char *line = strsep(&rest, "\n");

		if (!line || (!rest && !*line))
			return;
		put(v, width, has_head && i == 0 ? TOP_BOLD : TOP_PLAIN, line);
	}
}

/* most: lines, with that of the titles. */
static void put_games(struct top_view *v, struct top *t, size_t width, size_t most)
{
	size_t              count = json_array_size(t->games);
	struct print_column shown[COUNT_OF(columns)];
	struct ctl          plain  = { .columns = width };
	json_t             *window = json_array();
	char               *text   = NULL;
	char                title[40];
	size_t              len  = 0;
	FILE               *out  = open_memstream(&text, &len);
	size_t              room = most > 1 ? most - 1 : 0;

	if (!out || !window)
		abort();
	if (t->scroll + room > count)
		t->scroll = count > room ? count - room : 0;
	for (size_t i = t->scroll; i < count && i < t->scroll + room; i++)
		json_array_append(window, json_array_get(t->games, i));
	memcpy(shown, columns, sizeof(columns));
	text_format(title, sizeof(title), "%s%s", columns[t->sort].title, t->is_turned ? "^" : "*");
	shown[t->sort].title = title;
	print_table(&plain, out, window, shown);
	fclose(out);
	put_lines(v, text, width, most, true);
	free(text);
	json_decref(window);
}

/* The newest at the bottom. */
static void put_events(struct top_view *v, const struct top *t, size_t width, size_t most)
{
	static const struct ctl plain = { .color = false };
	size_t                  count = json_array_size(t->events) - t->hidden;

	for (size_t i = count > most ? count - most : 0; i < count; i++) {
		char  *text = NULL;
		size_t len  = 0;
		FILE  *out  = open_memstream(&text, &len);

		if (!out)
			abort();
		event_print(&plain, out, json_array_get(t->events, i));
		fclose(out);
		text[strcspn(text, "\n")] = '\0';
		put(v, width, TOP_PLAIN, text);
		free(text);
	}
}

static size_t left_of(size_t rows, const struct top_view *v, size_t kept)
{
	return rows > v->count + kept ? rows - v->count - kept : 0;
}

static void put_help(struct top_view *v, size_t width)
{
	put(v, width, TOP_PLAIN, "");
	for (size_t i = 0; i < COUNT_OF(help); i++)
		put(v, width, TOP_PLAIN, help[i]);
}

/* As many rows as there are; the games take what they need, but for some lines of events. */
static void put_screen(struct top_view *v, struct top *t, size_t width, size_t rows)
{
	size_t games = json_array_size(t->games) + 1;
	size_t room;

	put_figures(v, t, width);
	put(v, width, TOP_PLAIN, "");
	room = left_of(rows, v, EVENTS_MIN + 2);
	put_games(v, t, width, games < room ? games : room);
	put(v, width, TOP_PLAIN, "");
	put_events(v, t, width, left_of(rows, v, 1));
}

static void put_plain(struct top_view *v, struct top *t, size_t width)
{
	put_figures(v, t, width);
	put(v, width, TOP_PLAIN, "");
	put_games(v, t, width, TOP_LINES_MAX / 2);
	if (json_array_size(t->events) > 0)
		put(v, width, TOP_PLAIN, "");
	put_events(v, t, width, PLAIN_EVENTS);
}

void top_render(struct top_view *out, struct top *t, size_t width, size_t rows)
{
	out->count = 0;
	width      = width ? width : PLAIN_WIDTH;
	put_head(out, t, width);
	if (rows == 0) {
		put_plain(out, t, width);
		return;
	}
	if (t->helps)
		put_help(out, width);
	else
		put_screen(out, t, width, rows);
	while (out->count + 1 < rows && out->count < TOP_LINES_MAX)
		put(out, width, TOP_PLAIN, "");
	while (out->count >= rows && out->count > 1)
		free(out->lines[--out->count].text);
	if (rows > 1)
		put(out, width, TOP_BAR, "q quit  p pause  s sort  r reverse  h help");
}

json_t *top_json(const struct top *t)
{
	json_t *j =
		json_pack("{s:O?,s:O?,s:o,s:O}", "version", json_object_get(t->hello, "version"), "figures", t->figures,
	                  "games", t->games ? json_incref(t->games) : json_array(), "events", t->events);

	if (!j)
		abort();
	return j;
}

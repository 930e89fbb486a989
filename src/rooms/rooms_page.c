/*
 * The snapshot as text: JSON for programs, a page for people. The page has no script: it reloads itself by what its head says.
 */
#include "rooms/rooms_snapshot.h"

#include "base/auto.h"
#include "base/clean.h"
#include "base/json.h"
#include "base/text.h"
#include "base/version.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_BYTES  CLEAN_BYTES(ROOMS_NAME_BYTES)
#define UPTIME_BYTES 48
#define PREFIX       "rooms_" /* of our limits, which here need none */

static_assert(ROOMS_TITLE_BYTES <= ROOMS_NAME_BYTES, "titles are shown where names are");

/* "42s", "1m5s", "2h0m9s" */
static void duration_text(char out[UPTIME_BYTES], int64_t ms)
{
	int64_t s = ms > 0 ? ms / 1000 : 0, m = s / 60, h = m / 60;

	if (h > 0)
		text_format(out, UPTIME_BYTES, "%" PRId64 "h%" PRId64 "m%" PRId64 "s", h, m % 60, s % 60);
	else if (m > 0)
		text_format(out, UPTIME_BYTES, "%" PRId64 "m%" PRId64 "s", m, s % 60);
	else
		text_format(out, UPTIME_BYTES, "%" PRId64 "s", s);
}

/* A title or a name, which end at the first NUL. */
static void field_text(char out[SHOWN_BYTES], const uint8_t *field, size_t cap)
{
	clean_text(out, cap, field, rooms_text_len(field, cap), CLEAN_BAD_IS_SHOWN);
}

/* --- JSON --- */

static void put_field(struct json *j, const char *key, const uint8_t *field, size_t cap)
{
	char text[SHOWN_BYTES];

	field_text(text, field, cap);
	json_put_text(j, key, text);
}

static void put_duration(struct json *j, const char *key, int64_t ms)
{
	char text[UPTIME_BYTES];

	duration_text(text, ms);
	json_put_text(j, key, text);
}

static struct json *names_json(const struct rooms_snapshot *s, const struct rooms_shown_room *room)
{
	struct json *names = json_array_new();

	for (size_t i = 0; names && i < room->count; i++) {
		char text[SHOWN_BYTES];

		field_text(text, s->names[room->first + i], ROOMS_NAME_BYTES);
		json_add_text(names, text);
	}
	return names;
}

static struct json *room_json(const struct rooms_snapshot *s, const struct rooms_shown_room *room)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_int(j, "id", (int64_t)room->id);
	put_field(j, "title", room->title, sizeof(room->title));
	json_put_json(j, "members", names_json(s, room));
	json_put_int(j, "max", room->max);
	put_duration(j, "age", room->age_ms);
	return j;
}

static struct json *board_json(const struct rooms_shown_board *board)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	put_field(j, "title", board->title, sizeof(board->title));
	json_put_int(j, "board", board->number);
	json_put_int(j, "entries", board->rows);
	put_field(j, "leader", board->leader, sizeof(board->leader));
	json_put_int(j, "best", board->best);
	return j;
}

static struct json *rooms_json(const struct rooms_snapshot *s)
{
	struct json *rooms = json_array_new();

	for (size_t i = 0; rooms && i < s->room_count; i++)
		json_add_json(rooms, room_json(s, &s->rooms[i]));
	return rooms;
}

static struct json *boards_json(const struct rooms_snapshot *s)
{
	struct json *boards = json_array_new();

	for (size_t i = 0; boards && i < s->board_count; i++)
		json_add_json(boards, board_json(&s->boards[i]));
	return boards;
}

/* All that are ours, without asking which: a new one is shown as well. */
static struct json *limits_json(const struct limits *limits)
{
	static const struct {
		const char *name;
		size_t      at;
	} rows[] = {
#define LIMIT(name, ...) { #name, offsetof(struct limits, name) },
#include "conf/limits.def"
#undef LIMIT
	};
	const size_t skip = sizeof(PREFIX) - 1;
	struct json *j    = json_object_new();

	for (size_t i = 0; j && i < COUNT_OF(rows); i++) {
		int64_t value;

		memcpy(&value, (const char *)limits + rows[i].at, sizeof(value));
		if (strncmp(rows[i].name, PREFIX, skip) == 0)
			json_put_int(j, rows[i].name + skip, value);
	}
	return j;
}

char *rooms_snapshot_json(size_t *len, const struct rooms_snapshot *s)
{
	AUTO(json_freep) struct json *j    = json_object_new();
	char                         *text = NULL;

	if (!j)
		return NULL;
	put_duration(j, "uptime", s->uptime_ms);
	json_put_int(j, "clients", (int64_t)s->clients);
	json_put_int(j, "connections_total", s->connections);
	json_put_json(j, "rooms", rooms_json(s));
	json_put_json(j, "boards", boards_json(s));
	json_put_text(j, "version", COOPD_VERSION);
	json_put_bool(j, "relay", s->relays);
	json_put_int(j, "relayed_bytes", s->relayed_bytes);
	json_put_int(j, "tcp_refused", s->tcp_refused);
	json_put_int(j, "udp_dropped", s->udp_dropped);
	json_put_int(j, "streams_open", s->streams);
	json_put_json(j, "limits", limits_json(s->limits));
	text = json_text(j);
	*len = text ? strlen(text) : 0;
	return text;
}

/* --- The page --- */

const char rooms_page_style[] =
	"body{font:16px/1.5 sans-serif;margin:2em auto;max-width:60em;padding:0 1em;color:#222;background:#fff}"
	"table{border-collapse:collapse;width:100%}"
	"caption{font-weight:bold;text-align:left;padding:1.5em 0 .3em}"
	"th,td{border-bottom:1px solid #ccc;padding:.3em .6em .3em 0;text-align:left;vertical-align:top}"
	"td{overflow-wrap:anywhere}"
	"@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}th,td{border-color:#444}}";

static void print_text(FILE *out, const char *text)
{
	static const struct {
		char        c;
		const char *as;
	} marks[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" } };

	for (; *text; text++) {
		size_t i = 0;

		while (i < COUNT_OF(marks) && marks[i].c != *text)
			i++;
		if (i < COUNT_OF(marks))
			fputs(marks[i].as, out);
		else
			fputc(*text, out);
	}
}

static void print_field(FILE *out, const uint8_t *field, size_t cap)
{
	char text[SHOWN_BYTES];

	field_text(text, field, cap);
	print_text(out, text);
}

static void print_figure(FILE *out, const char *what, int64_t value)
{
	fprintf(out, "<tr><th>%s<td>%" PRId64 "\n", what, value);
}

static void print_figures(FILE *out, const struct rooms_snapshot *s)
{
	char up[UPTIME_BYTES];

	duration_text(up, s->uptime_ms);
	fprintf(out, "<table>\n<tr><th>version<td>" COOPD_VERSION "\n<tr><th>running for<td>%s\n<tr><th>relay<td>%s\n",
	        up, s->relays ? "on" : "off");
	print_figure(out, "connections of players", (int64_t)s->clients);
	print_figure(out, "connections since the start", s->connections);
	print_figure(out, "connections refused", s->tcp_refused);
	print_figure(out, "packets dropped", s->udp_dropped);
	print_figure(out, "streams open", s->streams);
	print_figure(out, "bytes relayed", s->relayed_bytes);
	fputs("</table>\n", out);
}

static void print_rooms(FILE *out, const struct rooms_snapshot *s)
{
	fprintf(out, "<table>\n<caption>Rooms: %zu</caption>\n", s->room_count);
	if (s->room_count > 0)
		fputs("<tr><th>room<th>title<th>players<th>names<th>age\n", out);
	for (size_t i = 0; i < s->room_count; i++) {
		const struct rooms_shown_room *room = &s->rooms[i];
		char                           age[UPTIME_BYTES];

		fprintf(out, "<tr><td>%" PRIu64 "<td>", room->id);
		print_field(out, room->title, sizeof(room->title));
		fprintf(out, "<td>%zu of %u<td>", room->count, room->max);
		for (size_t n = 0; n < room->count; n++) {
			fputs(n > 0 ? ", " : "", out);
			print_field(out, s->names[room->first + n], ROOMS_NAME_BYTES);
		}
		duration_text(age, room->age_ms);
		fprintf(out, "<td>%s\n", age);
	}
	fputs("</table>\n", out);
}

static void print_boards(FILE *out, const struct rooms_snapshot *s)
{
	fprintf(out, "<table>\n<caption>Leaderboards: %zu</caption>\n", s->board_count);
	if (s->board_count > 0)
		fputs("<tr><th>title<th>board<th>players<th>leader<th>best\n", out);
	for (size_t i = 0; i < s->board_count; i++) {
		const struct rooms_shown_board *board = &s->boards[i];

		fputs("<tr><td>", out);
		print_field(out, board->title, sizeof(board->title));
		fprintf(out, "<td>%" PRIu32 "<td>%" PRIu32 "<td>", board->number, board->rows);
		print_field(out, board->leader, sizeof(board->leader));
		fprintf(out, "<td>%" PRId64 "\n", board->best);
	}
	fputs("</table>\n", out);
}

char *rooms_snapshot_page(size_t *len, const struct rooms_snapshot *s)
{
	char *text = NULL;
	FILE *out  = open_memstream(&text, len);

	if (!out)
		return NULL;
	fprintf(out,
	        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	        "<meta http-equiv=\"refresh\" content=\"5\">\n"
	        "<meta name=\"viewport\" content=\"width=device-width\">\n"
	        "<title>Rooms</title>\n<style>%s</style>\n<h1>Rooms</h1>\n",
	        rooms_page_style);
	print_figures(out, s);
	print_rooms(out, s);
	print_boards(out, s);
	fputs("</html>\n", out);

	bool is_whole = !ferror(out);

	if (fclose(out) == 0 && is_whole)
		return text;
	free(text);
	return NULL;
}

#include "rooms/rooms_log.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/metric.h"
#include "base/text.h"
#include "net/addr_event.h"
#include "os/log.h"
#include "rooms/rooms_inside.h"

#include <inttypes.h>

#define NAME_TEXT_BYTES   (4 * ROOMS_NAME_BYTES + 8) /* each byte as \xHH */
#define TITLE_TEXT_BYTES  (4 * ROOMS_TITLE_BYTES + 8)
#define PLAYER_TEXT_BYTES 256
#define REFUSALS_MS       1000

/* clang-format off */
static const struct {
	enum metric metric;
	const char *code, *word; /* for programs; for people */
} ends[] = {
	[ROOMS_END_PEER]          = { M_ROOMS_CLOSED_PEER,          "peer", "peer" },
	[ROOMS_END_SILENT]        = { M_ROOMS_CLOSED_SILENT,        "silent", "silent" },
	[ROOMS_END_NO_HELLO]      = { M_ROOMS_CLOSED_NO_HELLO,      "no_hello", "no_hello" },
	[ROOMS_END_REPLACED]      = { M_ROOMS_CLOSED_REPLACED,      "replaced", "replaced" },
	[ROOMS_END_OUTPUT]        = { M_ROOMS_CLOSED_OUTPUT,        "output", "output (it does not read)" },
	[ROOMS_END_OUTPUT_BUDGET] = { M_ROOMS_CLOSED_OUTPUT_BUDGET, "output_budget", "output_budget (too much waits for all)" },
	[ROOMS_END_INPUT_BUDGET]  = { M_ROOMS_CLOSED_INPUT_BUDGET,  "input_budget", "input_budget (too many frames are incomplete or wait)" },
	[ROOMS_END_MEMORY]        = { M_ROOMS_CLOSED_MEMORY,        "memory", "memory" },
	[ROOMS_END_SERVER]        = { M_ROOMS_CLOSED_SERVER,        "server", "server" },
	[ROOMS_END_OPERATOR]      = { M_ROOMS_CLOSED_OPERATOR,      "operator", "operator" },
	[ROOMS_END_BANNED]        = { M_ROOMS_CLOSED_BANNED,        "banned", "banned" },
};

static const struct {
	enum metric metric;
	const char *word;
} refusals[ROOMS_REFUSALS] = {
	[ROOMS_REFUSED_TOTAL]   = { M_ROOMS_REFUSED_TOTAL,   "total" },
	[ROOMS_REFUSED_ADDRESS] = { M_ROOMS_REFUSED_ADDRESS, "address" },
	[ROOMS_REFUSED_RATE]    = { M_ROOMS_REFUSED_RATE,    "rate" },
	[ROOMS_REFUSED_MEMORY]  = { M_ROOMS_REFUSED_MEMORY,  "memory" },
};

static const struct {
	uint8_t     type;
	const char *verb; /* of one that succeeded */
} room_events[] = {
	{ ROOMS_CREATE_ROOM,   "creates-room" },
	{ ROOMS_JOIN_ROOM,     "joins-room" },
	{ ROOMS_LEAVE_ROOM,    "leaves-room" },
	{ ROOMS_SET_ROOM_DATA, "changes-room" },
	{ ROOMS_KICK_MEMBER,   "kicks" },
};
/* clang-format on */

/* Lines about players: whatever they do, it is so many lines a second. */

static void say_rest(int64_t count)
{
	if (count > 0)
		log_info("rooms", 0, "untold", "lines=%" PRId64 " (about players who came or went)", count);
}

static void on_rest(struct timer *timer, int64_t now_ms)
{
	say_rest(log_lines_rest(&CONTAINER(timer, struct rooms_log, rest)->lines, now_ms));
}

static bool is_told(struct rooms_log *log)
{
	int64_t now_ms        = loop_now_ms(log->loop), before;
	bool    is_one_of_few = log_lines_take(&before, &log->lines, now_ms);

	say_rest(before);
	if (!is_one_of_few)
		timer_set(log->loop, &log->rest, now_ms + LOG_LINES_MS);
	return is_one_of_few;
}

/* user=5 title="NPWR00860_00" name="alice" */
static const char *about(char out[PLAYER_TEXT_BYTES], const struct rooms_player *p)
{
	char title[TITLE_TEXT_BYTES], name[NAME_TEXT_BYTES];

	text_escape(title, sizeof(title), p->title, rooms_text_len(p->title, sizeof(p->title)));
	text_escape(name, sizeof(name), p->name, rooms_text_len(p->name, sizeof(p->name)));
	text_format(out, PLAYER_TEXT_BYTES, "user=%" PRIu32 " title=\"%s\" name=\"%s\"", p->user_id, title, name);
	return out;
}

static struct event_field title_of(const struct rooms_player *p)
{
	return event_text("title", p->title, rooms_text_len(p->title, sizeof(p->title)));
}

static struct event_field name_of(const struct rooms_player *p)
{
	return event_text("name", p->name, rooms_text_len(p->name, sizeof(p->name)));
}

void rooms_log_in(const struct rooms_peer *p)
{
	event_emit(E_ROOM_PLAYER_IN, event_int("user", p->player.user_id), title_of(&p->player), name_of(&p->player),
	           event_addr("from", &p->addr));
}

void rooms_log_hello(struct rooms_log *log, const struct rooms_peer *p)
{
	char text[PLAYER_TEXT_BYTES], addr[ADDR_TEXT_BYTES];

	if (!is_told(log))
		return;
	addr_text_log(addr, &p->addr);
	log_info("rooms", p->id, "hello", "%s address=%s port=%d", about(text, &p->player), addr, p->player.p2p_port);
}

void rooms_log_ended(struct rooms_log *log, const struct rooms_peer *p)
{
	char text[PLAYER_TEXT_BYTES];

	metric_inc(ends[p->end].metric);
	if (p->is_named)
		event_emit(E_ROOM_PLAYER_OUT, event_int("user", p->player.user_id), title_of(&p->player),
		           name_of(&p->player), event_word("reason", ends[p->end].code));
	if (p->is_named && is_told(log))
		log_info("rooms", p->id, "ends", "%s reason=%s", about(text, &p->player), ends[p->end].word);
}

/* Refusals: a flood of them must not become one of lines. */

static void say_refusals(struct rooms_log *log, int64_t now_ms)
{
	bool is_any = false;

	for (size_t i = 0; i < ROOMS_REFUSALS; i++) {
		if (log->refused[i] == 0)
			continue;
		log_warn("rooms", 0, "full", "reason=%s refused=%" PRId64, refusals[i].word, log->refused[i]);
		log->refused[i] = 0;
		is_any          = true;
	}
	if (is_any)
		timer_set(log->loop, &log->refusals, now_ms + REFUSALS_MS);
}

static void on_second_over(struct timer *timer, int64_t now_ms)
{
	say_refusals(CONTAINER(timer, struct rooms_log, refusals), now_ms);
}

void rooms_log_refused(struct rooms_log *log, enum rooms_refusal why)
{
	metric_inc(refusals[why].metric);
	log->refused[why]++;
	if (log->refusals.at_ms == 0)
		say_refusals(log, loop_now_ms(log->loop));
}

void rooms_log_init(struct rooms_log *log, struct loop *loop)
{
	log->loop = loop;
	log_lines_init(&log->lines);
	timer_init(&log->rest, on_rest);
	timer_init(&log->refusals, on_second_over);
}

void rooms_log_fini(struct rooms_log *log)
{
	timer_clear(&log->rest);
	timer_clear(&log->refusals);
	log_lines_fini(&log->lines);
}

/* What goes out and what it answers */

static bool is_push(uint8_t type)
{
	return type >= 0xA0 && type <= 0xAF;
}

void rooms_log_sent(struct rooms_peer *p, const uint8_t *frame, size_t len)
{
	struct rd r    = rd_over(frame, len);
	uint8_t   type = rd_u8(&r);

	if (type == ROOMS_ROOM_MSG)
		metric_inc(M_ROOMS_MESSAGES);
	if (is_push(type))
		return;
	p->replied = type;
	rd_bytes(&r, ROOMS_HEAD_BYTES - 1 + ROOMS_REQ_BYTES);
	if (type == ROOMS_SCORE_RECORDED)
		metric_inc(M_ROOMS_SCORES);
	else if (type == ROOMS_ROOM_JOINED)
		p->room_id = rd_be(&r, 8);
	else if (type == ROOMS_ERROR) {
		p->code = (enum rooms_code)rd_be(&r, 4);
		if (p->code >= ROOMS_BAD && p->code <= ROOMS_NO_RELAY)
			metric_inc(M_ROOMS_ERROR_1 + (p->code - ROOMS_BAD));
	}
}

/* Of a request about a room: it stands behind its number, but for one that is yet to be made. */
static uint64_t room_of(const struct rooms_peer *p, const uint8_t *payload, size_t len)
{
	struct rd r = rd_over(payload, len);

	if (p->replied == ROOMS_ROOM_JOINED)
		return p->room_id;
	rd_bytes(&r, ROOMS_REQ_BYTES);
	return rd_be(&r, 8);
}

void rooms_log_request(const struct rooms_peer *p, uint8_t type, const uint8_t *payload, size_t len)
{
	if (type == ROOMS_CREATE_ROOM && p->replied == ROOMS_ROOM_JOINED)
		event_emit(E_ROOM_MADE, event_int("room", (int64_t)p->room_id), title_of(&p->player),
		           event_int("user", p->player.user_id));
	if (!log_is_on(LOG_DEBUG))
		return;
	if (p->replied == ROOMS_ERROR) {
		log_debug("rooms", p->id, "refuses", "user=%" PRIu32 " type=0x%02x error=%d", p->player.user_id, type,
		          (int)p->code);
		return;
	}
	for (size_t i = 0; i < COUNT_OF(room_events); i++) {
		if (room_events[i].type == type)
			log_debug("rooms", p->id, room_events[i].verb, "user=%" PRIu32 " room=%" PRIu64,
			          p->player.user_id, room_of(p, payload, len));
	}
}

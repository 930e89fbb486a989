#include "signal/signal_log.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/metric.h"
#include "base/text.h"
#include "net/addr_event.h"
#include "os/log.h"

#include <inttypes.h>

#define FULL_LINE_MS  1000
#define ABOUT_BYTES   200
#define OFFERED_BYTES 200 /* of the log, for what somebody says he is called */

/* clang-format off */
static const struct reason {
	enum metric metric;
	const char *word;   /* as in the figures */
	const char *detail; /* for people; NULL: the word says it */
} reasons[SIGNAL_WHY_COUNT] = {
	[SIGNAL_WHY_PRE_TOTAL]    = { M_SIGNAL_CLOSED_PRE_TOTAL,    "unproved_total",   NULL },
	[SIGNAL_WHY_PRE_ADDRESS]  = { M_SIGNAL_CLOSED_PRE_ADDRESS,  "unproved_address", NULL },
	[SIGNAL_WHY_RATE]         = { M_SIGNAL_CLOSED_RATE,         "rate",             NULL },
	[SIGNAL_WHY_SHAPE]        = { M_SIGNAL_CLOSED_SHAPE,        "greeting",         "it is not a token, a blank and an identity" },
	[SIGNAL_WHY_TOKEN]        = { M_SIGNAL_CLOSED_TOKEN,        "token",            "it is not this server's" },
	[SIGNAL_WHY_LENGTH]       = { M_SIGNAL_CLOSED_IDENTITY,     "identity",         "it is too long" },
	[SIGNAL_WHY_IDENTITY]     = { M_SIGNAL_CLOSED_IDENTITY,     "identity",         "it is not gen: and 64 hex digits in lower case" },
	[SIGNAL_WHY_EARLY]        = { M_SIGNAL_CLOSED_PROOF,        "proof",            "a line came before the nonce was sent" },
	[SIGNAL_WHY_PROOF_SHAPE]  = { M_SIGNAL_CLOSED_PROOF,        "proof",            "it is not auth and 128 hex digits in lower case" },
	[SIGNAL_WHY_PROOF]        = { M_SIGNAL_CLOSED_PROOF,        "proof",            "the signature is not good" },
	[SIGNAL_WHY_LATE]         = { M_SIGNAL_CLOSED_LATE,         "late",             NULL },
	[SIGNAL_WHY_LONG]         = { M_SIGNAL_CLOSED_LONG,         "line",             "it is too long" },
	[SIGNAL_WHY_BREAK]        = { M_SIGNAL_CLOSED_LONG,         "line",             "there is a line break in a message" },
	[SIGNAL_WHY_JUNK]         = { M_SIGNAL_CLOSED_JUNK,         "junk",             "too many lines that name nobody" },
	[SIGNAL_WHY_FULL_TOTAL]   = { M_SIGNAL_CLOSED_FULL_TOTAL,   "peers_total",      NULL },
	[SIGNAL_WHY_FULL_ADDRESS] = { M_SIGNAL_CLOSED_FULL_ADDRESS, "peers_address",    NULL },
	[SIGNAL_WHY_REPLACED]     = { M_SIGNAL_CLOSED_REPLACED,     "replaced",         NULL },
	[SIGNAL_WHY_OPERATOR]     = { M_SIGNAL_CLOSED_OPERATOR,     "operator",         NULL },
	[SIGNAL_WHY_BANNED]       = { M_SIGNAL_CLOSED_BANNED,       "banned",           NULL },
	[SIGNAL_WHY_MEMORY]       = { M_SIGNAL_CLOSED_MEMORY,       "memory",           NULL },
	[SIGNAL_DROP_SHAPE]       = { M_SIGNAL_DROPPED_SHAPE,       "shape",            NULL },
	[SIGNAL_DROP_NOBODY]      = { M_SIGNAL_DROPPED_NO_DEST,     "nobody",           NULL },
	[SIGNAL_DROP_FULL]        = { M_SIGNAL_DROPPED_FULL,        "full",             NULL },
	[SIGNAL_DROP_SHARE]       = { M_SIGNAL_DROPPED_SHARE,       "share",            NULL },
	[SIGNAL_DROP_BUDGET]      = { M_SIGNAL_DROPPED_BUDGET,      "budget",           NULL },
};

static const struct reason ends[] = {
	[SIGNAL_END_PEER]      = { M_SIGNAL_CLOSED_PEER,      "peer",      NULL },
	[SIGNAL_END_HANDSHAKE] = { M_SIGNAL_CLOSED_HANDSHAKE, "handshake", "TLS failed" },
	[SIGNAL_END_STALLED]   = { M_SIGNAL_CLOSED_STALLED,   "stalled",   "it took nothing of what waited for it" },
	[SIGNAL_END_BANNED]    = { M_SIGNAL_CLOSED_BANNED,    "banned",    NULL },
	[SIGNAL_END_SERVER]    = { M_SIGNAL_CLOSED_SERVER,    "server",    "coopd stops" },
};
/* clang-format on */

static const enum signal_why kinds[SIGNAL_LOG_KINDS] = { SIGNAL_WHY_PRE_TOTAL, SIGNAL_WHY_PRE_ADDRESS,
	                                                 SIGNAL_WHY_FULL_TOTAL, SIGNAL_WHY_FULL_ADDRESS,
	                                                 SIGNAL_WHY_RATE };

/* No room: a flood of refusals must not become one of lines. */

static void say_full(struct signal_fullness *f, int64_t now_ms)
{
	log_warn("signal", 0, "full", "reason=%s refused=%" PRId64, reasons[f->why].word, f->count);
	f->count = 0;
	timer_set(f->loop, &f->timer, now_ms + FULL_LINE_MS);
}

static void on_second_over(struct timer *timer, int64_t now_ms)
{
	struct signal_fullness *f = CONTAINER(timer, struct signal_fullness, timer);

	if (f->count > 0)
		say_full(f, now_ms);
}

/* Strangers: whatever they do, it is so many lines a second. */

static void say_rest(int64_t count)
{
	if (count > 0)
		log_info("signal", 0, "untold", "lines=%" PRId64 " (about connections that have proved no key)", count);
}

static void on_rest(struct timer *timer, int64_t now_ms)
{
	say_rest(log_lines_rest(&CONTAINER(timer, struct signal_log, rest)->unproved, now_ms));
}

/* Whether a line about this one may be written. */
static bool is_told(struct signal_log *log, const struct signal_about *who)
{
	int64_t now_ms = loop_now_ms(log->loop), before;

	if (who->key)
		return true;

	bool is_one_of_few = log_lines_take(&before, &log->unproved, now_ms);

	say_rest(before);
	if (!is_one_of_few)
		timer_set(log->loop, &log->rest, now_ms + LOG_LINES_MS);
	return is_one_of_few;
}

void signal_log_init(struct signal_log *log, struct loop *loop)
{
	log->loop = loop;
	log_lines_init(&log->unproved);
	timer_init(&log->rest, on_rest);
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		log->full[i] = (struct signal_fullness){ .loop = loop, .why = kinds[i] };
		timer_init(&log->full[i].timer, on_second_over);
	}
}

void signal_log_fini(struct signal_log *log)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		timer_clear(&log->full[i].timer);
	timer_clear(&log->rest);
	log_lines_fini(&log->unproved);
}

/* Of log->full; SIGNAL_LOG_KINDS: it is none of these. */
static size_t kind_of(enum signal_why why)
{
	size_t i = 0;

	while (i < SIGNAL_LOG_KINDS && kinds[i] != why)
		i++;
	return i;
}

static void count_full(struct signal_fullness *f)
{
	f->count++;
	if (f->timer.at_ms == 0)
		say_full(f, loop_now_ms(f->loop));
}

/* Connections */

/* "identity=... listener=plain address=1.2.3.0" */
static const char *about(char out[ABOUT_BYTES], const struct signal_about *who)
{
	char addr[ADDR_TEXT_BYTES], identity[SIGNAL_IDENTITY_CHARS + 1] = "-";

	addr_text_log(addr, who->addr);
	if (who->key)
		signal_identity(identity, who->key);
	text_format(out, ABOUT_BYTES, "identity=%s listener=%s address=%s", identity, who->listener, addr);
	return out;
}

static void tell_gone(const struct signal_about *who, const char *reason)
{
	event_emit(E_SIGNAL_GONE, event_hex("identity", who->key, SIGNAL_KEY_BYTES), event_word("reason", reason));
}

void signal_log_admitted(struct signal_log *log, const struct signal_about *who)
{
	char text[ABOUT_BYTES];

	if (is_told(log, who))
		log_info("signal", who->id, "admitted", "%s", about(text, who));
}

void signal_log_registered(const struct signal_about *who)
{
	char text[ABOUT_BYTES];

	metric_inc(M_SIGNAL_REGISTERED);
	log_info("signal", who->id, "registered (key proved)", "%s", about(text, who));
	event_emit(E_SIGNAL_REGISTERED, event_hex("identity", who->key, SIGNAL_KEY_BYTES),
	           event_addr("from", who->addr));
}

void signal_log_replaced(const struct signal_about *who, uint64_t by)
{
	char text[ABOUT_BYTES];

	metric_inc(reasons[SIGNAL_WHY_REPLACED].metric);
	log_info("signal", who->id, "replaced", "by=%" PRIu64 " %s", by, about(text, who));
	tell_gone(who, "replaced");
}

static void say_end(struct signal_log *log, const struct signal_about *who, const struct reason *r, const char *offered)
{
	char text[ABOUT_BYTES];

	if (who->key)
		tell_gone(who, r->word);
	if (!is_told(log, who))
		return;
	log_info("signal", who->id, who->key ? "disconnected" : "refused", "reason=%s%s%s%s%s%s %s", r->word,
	         r->detail ? " (" : "", r->detail ? r->detail : "", r->detail ? ")" : "", offered ? " offered=" : "",
	         offered ? offered : "", about(text, who));
}

void signal_log_closed(struct signal_log *log, const struct signal_about *who, enum signal_why why,
                       const uint8_t *offered, size_t len)
{
	size_t kind = kind_of(why);
	char   shown[OFFERED_BYTES];

	metric_inc(reasons[why].metric);
	if (kind < SIGNAL_LOG_KINDS) {
		count_full(&log->full[kind]);
		return;
	}
	if (offered)
		text_escape(shown, sizeof(shown), offered, len);
	say_end(log, who, &reasons[why], offered ? shown : NULL);
}

void signal_log_gone(struct signal_log *log, const struct signal_about *who, enum signal_end end)
{
	metric_inc(ends[end].metric);
	say_end(log, who, &ends[end], NULL);
}

void signal_log_dropped(enum signal_why why)
{
	metric_inc(reasons[why].metric);
}

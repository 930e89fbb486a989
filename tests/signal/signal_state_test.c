/*
 * The registry, told what happens: every event in every phase, slots, names, budgets.
 */
#include "signal/signal_state.h"

#include "base/auto.h"
#include "base/hex.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN     "token"
#define PROOF     "auth "
#define HEX64     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CONNS_MAX 1024

static struct limits       limits;
static struct signal_state s;
static struct signal_conn  conns[CONNS_MAX];
static size_t              conn_count;
static int                 tokens_asked;

static bool check_token(void *arg, const uint8_t *token, size_t len)
{
	(void)arg;
	tokens_asked++;
	return len == strlen(TOKEN) && memcmp(token, TOKEN, len) == 0;
}

static void start(void)
{
	limits_default(&limits);
	signal_state_init(&s, &limits, 1, check_token, NULL);
	conn_count = 0;
}

static void stop(void)
{
	for (size_t i = 0; i < conn_count; i++)
		signal_leave(&s, &conns[i], 0);
	cr_expect_eq(s.unproved_count, 0);
	cr_expect_eq(s.peer_count, 0);
	cr_expect_eq(s.store.blocks.used, 0);
	cr_expect_eq(map_count(&s.by_key), 0);
	signal_state_fini(&s);
}

TestSuite(signal_state, .init = start, .fini = stop);

/* Driving it */

struct from {
	int  addr, network; /* 0: none */
	bool is_exempt;
};

static enum signal_why try_enter(struct signal_conn **out, struct from from, int64_t now_ms)
{
	uint8_t addr[SIGNAL_ADDR_BYTES] = { 0 }, network[SIGNAL_ADDR_BYTES] = { 0 };

	cr_assert_lt(conn_count, (size_t)CONNS_MAX);
	memcpy(addr, &from.addr, sizeof(from.addr));
	memcpy(network, &from.network, sizeof(from.network));

	struct signal_origin origin = { .addr      = addr,
		                        .network   = from.network ? network : NULL,
		                        .is_exempt = from.is_exempt };
	enum signal_why      why    = signal_enter(&s, &conns[conn_count], &origin, now_ms);

	if (why == SIGNAL_FINE)
		*out = &conns[conn_count++];
	return why;
}

static struct signal_conn *enter_from(struct from from)
{
	struct signal_conn *c = NULL;

	cr_assert_eq(try_enter(&c, from, 0), SIGNAL_FINE);
	return c;
}

static const char *name_of(int number)
{
	static char name[SIGNAL_IDENTITY_CHARS + 1];
	uint8_t     key[SIGNAL_KEY_BYTES] = { 0 };

	memcpy(key, &number, sizeof(number));
	signal_identity(name, key);
	return name;
}

static struct signal_step line_at(struct signal_conn *c, const char *text, int64_t now_ms)
{
	return signal_on_line(&s, c, (const uint8_t *)text, strlen(text), now_ms);
}

static struct signal_step line(struct signal_conn *c, const char *text)
{
	return line_at(c, text, 0);
}

static struct signal_step greet(struct signal_conn *c, int number)
{
	char text[256];

	snprintf(text, sizeof(text), TOKEN " %s", name_of(number));
	return line(c, text);
}

/* Brings it up to this phase; its name is this number. */
static void bring_to(struct signal_conn *c, int number, enum signal_phase phase)
{
	if (phase > SIGNAL_GREETING)
		cr_assert_eq(greet(c, number).what, SIGNAL_CHALLENGE);
	if (phase > SIGNAL_GREETED)
		signal_challenged(c, HEX64);
	if (phase > SIGNAL_CHALLENGED)
		cr_assert_eq(line(c, PROOF HEX64 HEX64).what, SIGNAL_VERIFY);
	if (phase > SIGNAL_PROVING)
		cr_assert_eq(signal_proved(&s, c, true, 0).what, SIGNAL_REGISTERED);
	if (phase > SIGNAL_READY)
		cr_assert_eq(signal_on_bad_line(&s, c, SIGNAL_WHY_LONG).what, SIGNAL_CLOSE);
	cr_assert_eq(c->phase, phase);
}

static struct signal_conn *registered_from(int number, struct from from)
{
	struct signal_conn *c = enter_from(from);

	bring_to(c, number, SIGNAL_READY);
	return c;
}

/* From an address of its own. */
static struct signal_conn *registered(int number)
{
	return registered_from(number, (struct from){ .addr = 1000 + number });
}

static struct signal_step relay_at(struct signal_conn *c, int to, const char *payload, int64_t now_ms)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s %s", name_of(to), payload);
	return line_at(c, text, now_ms);
}

static struct signal_step relay(struct signal_conn *c, int to, const char *payload)
{
	return relay_at(c, to, payload, 0);
}

/* The next line that waits for it; "" when none does. */
static const char *taken(struct signal_conn *c)
{
	static uint8_t out[SIGNAL_LINE_MAX + 1];

	if (signal_queue_is_empty(&c->queue))
		return "";
	out[signal_take(&s, c, out)] = '\0';
	return (const char *)out;
}

/* Every event in every phase */

enum event {
	GOOD_GREETING,
	GOOD_PROOF_LINE,
	RELAY_LINE,
	EMPTY_LINE,
	TOO_LONG,
	CHALLENGED,
	VALID,
	INVALID,
	DEADLINE,
	LEAVE,
	EVENTS
};

static const char *const event_names[EVENTS] = { "greeting",   "proof line", "relay line", "empty line", "too long",
	                                         "challenged", "valid",      "invalid",    "deadline",   "leave" };

struct outcome {
	enum signal_what  what;
	enum signal_why   why;
	enum signal_phase phase;
};

#define WAITS(phase)                            \
	{                                       \
		SIGNAL_WAIT, SIGNAL_FINE, phase \
	}
#define CLOSES(why)                              \
	{                                        \
		SIGNAL_CLOSE, why, SIGNAL_CLOSED \
	}
#define DROPS(why)                             \
	{                                      \
		SIGNAL_DROP, why, SIGNAL_READY \
	}
#define DOES(what, phase)                \
	{                                \
		what, SIGNAL_FINE, phase \
	}

/* clang-format off */
static const struct outcome outcomes[EVENTS][SIGNAL_PHASE_COUNT] = {
	[GOOD_GREETING] = {
		[SIGNAL_GREETING]   = DOES(SIGNAL_CHALLENGE, SIGNAL_GREETED),
		[SIGNAL_GREETED]    = CLOSES(SIGNAL_WHY_EARLY),
		[SIGNAL_CHALLENGED] = CLOSES(SIGNAL_WHY_PROOF_SHAPE),
		[SIGNAL_PROVING]    = CLOSES(SIGNAL_WHY_EARLY),
		[SIGNAL_READY]      = DROPS(SIGNAL_DROP_NOBODY),
		[SIGNAL_CLOSED]     = WAITS(SIGNAL_CLOSED) },
	[GOOD_PROOF_LINE] = {
		[SIGNAL_GREETING]   = CLOSES(SIGNAL_WHY_TOKEN),
		[SIGNAL_GREETED]    = CLOSES(SIGNAL_WHY_EARLY),
		[SIGNAL_CHALLENGED] = DOES(SIGNAL_VERIFY, SIGNAL_PROVING),
		[SIGNAL_PROVING]    = CLOSES(SIGNAL_WHY_EARLY),
		[SIGNAL_READY]      = DROPS(SIGNAL_DROP_NOBODY),
		[SIGNAL_CLOSED]     = WAITS(SIGNAL_CLOSED) },
	[RELAY_LINE] = {
		[SIGNAL_GREETING]   = CLOSES(SIGNAL_WHY_TOKEN),
		[SIGNAL_GREETED]    = CLOSES(SIGNAL_WHY_EARLY),
		[SIGNAL_CHALLENGED] = CLOSES(SIGNAL_WHY_PROOF_SHAPE),
		[SIGNAL_PROVING]    = CLOSES(SIGNAL_WHY_EARLY),
		[SIGNAL_READY]      = DOES(SIGNAL_SEND, SIGNAL_READY),
		[SIGNAL_CLOSED]     = WAITS(SIGNAL_CLOSED) },
	[EMPTY_LINE] = {
		[SIGNAL_GREETING]   = CLOSES(SIGNAL_WHY_SHAPE),
		[SIGNAL_GREETED]    = CLOSES(SIGNAL_WHY_EARLY),
		[SIGNAL_CHALLENGED] = CLOSES(SIGNAL_WHY_PROOF_SHAPE),
		[SIGNAL_PROVING]    = CLOSES(SIGNAL_WHY_EARLY),
		[SIGNAL_READY]      = DROPS(SIGNAL_DROP_SHAPE),
		[SIGNAL_CLOSED]     = WAITS(SIGNAL_CLOSED) },
	[TOO_LONG] = {
		[SIGNAL_GREETING]   = CLOSES(SIGNAL_WHY_LONG),
		[SIGNAL_GREETED]    = CLOSES(SIGNAL_WHY_LONG),
		[SIGNAL_CHALLENGED] = CLOSES(SIGNAL_WHY_LONG),
		[SIGNAL_PROVING]    = CLOSES(SIGNAL_WHY_LONG),
		[SIGNAL_READY]      = CLOSES(SIGNAL_WHY_LONG),
		[SIGNAL_CLOSED]     = WAITS(SIGNAL_CLOSED) },
	[CHALLENGED] = {
		[SIGNAL_GREETING]   = WAITS(SIGNAL_GREETING),
		[SIGNAL_GREETED]    = WAITS(SIGNAL_CHALLENGED),
		[SIGNAL_CHALLENGED] = WAITS(SIGNAL_CHALLENGED),
		[SIGNAL_PROVING]    = WAITS(SIGNAL_PROVING),
		[SIGNAL_READY]      = WAITS(SIGNAL_READY),
		[SIGNAL_CLOSED]     = WAITS(SIGNAL_CLOSED) },
	[VALID] = {
		[SIGNAL_GREETING]   = WAITS(SIGNAL_GREETING),
		[SIGNAL_GREETED]    = WAITS(SIGNAL_GREETED),
		[SIGNAL_CHALLENGED] = WAITS(SIGNAL_CHALLENGED),
		[SIGNAL_PROVING]    = DOES(SIGNAL_REGISTERED, SIGNAL_READY),
		[SIGNAL_READY]      = WAITS(SIGNAL_READY),
		[SIGNAL_CLOSED]     = WAITS(SIGNAL_CLOSED) },
	[INVALID] = {
		[SIGNAL_GREETING]   = WAITS(SIGNAL_GREETING),
		[SIGNAL_GREETED]    = WAITS(SIGNAL_GREETED),
		[SIGNAL_CHALLENGED] = WAITS(SIGNAL_CHALLENGED),
		[SIGNAL_PROVING]    = CLOSES(SIGNAL_WHY_PROOF),
		[SIGNAL_READY]      = WAITS(SIGNAL_READY),
		[SIGNAL_CLOSED]     = WAITS(SIGNAL_CLOSED) },
	[DEADLINE] = {
		[SIGNAL_GREETING]   = CLOSES(SIGNAL_WHY_LATE),
		[SIGNAL_GREETED]    = CLOSES(SIGNAL_WHY_LATE),
		[SIGNAL_CHALLENGED] = CLOSES(SIGNAL_WHY_LATE),
		[SIGNAL_PROVING]    = CLOSES(SIGNAL_WHY_LATE),
		[SIGNAL_READY]      = WAITS(SIGNAL_READY),
		[SIGNAL_CLOSED]     = WAITS(SIGNAL_CLOSED) },
	[LEAVE] = {
		[SIGNAL_GREETING]   = WAITS(SIGNAL_CLOSED),
		[SIGNAL_GREETED]    = WAITS(SIGNAL_CLOSED),
		[SIGNAL_CHALLENGED] = WAITS(SIGNAL_CLOSED),
		[SIGNAL_PROVING]    = WAITS(SIGNAL_CLOSED),
		[SIGNAL_READY]      = WAITS(SIGNAL_CLOSED),
		[SIGNAL_CLOSED]     = WAITS(SIGNAL_CLOSED) },
};
/* clang-format on */

static struct signal_step happens(enum event e, struct signal_conn *c)
{
	struct signal_step step = { .what = SIGNAL_WAIT };
	int64_t            next_ms;

	switch (e) {
	case GOOD_GREETING:
		return greet(c, 1);
	case GOOD_PROOF_LINE:
		return line(c, PROOF HEX64 HEX64);
	case RELAY_LINE:
		return relay(c, 1, "0a");
	case EMPTY_LINE:
		return line(c, "");
	case TOO_LONG:
		return signal_on_bad_line(&s, c, SIGNAL_WHY_LONG);
	case CHALLENGED:
		signal_challenged(c, HEX64);
		return step;
	case VALID:
		return signal_proved(&s, c, true, 0);
	case INVALID:
		return signal_proved(&s, c, false, 0);
	case DEADLINE:
		if (signal_on_tick(&s, 15000, &next_ms) == c)
			step = (struct signal_step){ .what = SIGNAL_CLOSE, .why = SIGNAL_WHY_LATE };
		return step;
	case LEAVE:
		signal_leave(&s, c, 0);
		return step;
	case EVENTS:
		break;
	}
	return step;
}

Test(signal_state, every_event_in_every_phase)
{
	for (int e = 0; e < EVENTS; e++) {
		for (int phase = 0; phase < SIGNAL_PHASE_COUNT; phase++) {
			const struct outcome *want = &outcomes[e][phase];
			struct signal_conn   *c    = enter_from((struct from){ .addr = 1 });

			bring_to(c, 1, (enum signal_phase)phase);

			struct signal_step got = happens((enum event)e, c);

			cr_expect_eq(got.what, want->what, "%s in phase %d does %d", event_names[e], phase, got.what);
			cr_expect_eq(got.why, want->why, "%s in phase %d: why %d", event_names[e], phase, got.why);
			cr_expect_eq(c->phase, want->phase, "%s in phase %d leads to %d", event_names[e], phase,
			             c->phase);
			signal_leave(&s, c, 0);
		}
	}
}

/* Greeting and proof */

Test(signal_state, the_token_is_asked_for_only_when_the_shape_is_right_and_before_the_identity)
{
	cr_expect_eq(line(enter_from((struct from){ .addr = 1 }), "no-blank").why, SIGNAL_WHY_SHAPE);
	cr_expect_eq(tokens_asked, 0);
	cr_expect_eq(line(enter_from((struct from){ .addr = 2 }), "wrong nobody").why, SIGNAL_WHY_TOKEN);

	struct signal_step step = line(enter_from((struct from){ .addr = 3 }), TOKEN " no\x1b[0mbody");

	cr_expect_eq(step.why, SIGNAL_WHY_IDENTITY);
	cr_expect_eq(step.offered_len, 10);
	cr_expect_arr_eq(step.offered, "no\x1b[0mbody", 10);

	char text[128] = TOKEN " ";

	memset(text + strlen(text), 'x', 81);
	cr_expect_eq(line(enter_from((struct from){ .addr = 4 }), text).why, SIGNAL_WHY_LENGTH);
	text[strlen(text) - 1] = '\0';
	cr_expect_eq(line(enter_from((struct from){ .addr = 5 }), text).why, SIGNAL_WHY_IDENTITY);
}

Test(signal_state, what_is_to_be_verified_is_the_proof_under_the_claimed_key_and_the_nonce_sent)
{
	struct signal_conn *c = enter_from((struct from){ .addr = 1 });

	bring_to(c, 77, SIGNAL_CHALLENGED);

	struct signal_step step = line(c, PROOF HEX64 HEX64);

	cr_expect_eq(step.what, SIGNAL_VERIFY);
	cr_expect_eq(step.sig[1], 0x23);
	cr_expect_eq(c->self.key[0], 77);
	cr_expect_arr_eq(c->nonce, HEX64, SIGNAL_NONCE_CHARS);
}

Test(signal_state, lines_may_be_512_bytes_before_registration_and_8192_after_it)
{
	struct signal_conn *c = enter_from((struct from){ .addr = 1 });

	for (int phase = SIGNAL_GREETING; phase <= SIGNAL_READY; phase++) {
		signal_leave(&s, c, 0);
		c = enter_from((struct from){ .addr = 1 });
		bring_to(c, 1, (enum signal_phase)phase);
		cr_expect_eq(signal_line_max(c), phase == SIGNAL_READY ? 8192 : 512);
	}
}

/* Deadlines */

Test(signal_state, the_deadline_is_15_s_from_accept_whatever_happened_since)
{
	struct signal_conn *a = NULL, *b = NULL, *ready = NULL;
	int64_t             next_ms;

	cr_expect_null(signal_on_tick(&s, 0, &next_ms));
	cr_expect_eq(next_ms, 0);
	try_enter(&a, (struct from){ .addr = 1 }, 1000);
	try_enter(&ready, (struct from){ .addr = 2 }, 1000);
	try_enter(&b, (struct from){ .addr = 3 }, 1500);
	bring_to(a, 1, SIGNAL_PROVING);
	bring_to(ready, 2, SIGNAL_READY);
	cr_expect_null(signal_on_tick(&s, 15999, &next_ms));
	cr_expect_eq(next_ms, 16000);
	cr_expect_eq(signal_on_tick(&s, 16000, &next_ms), a);
	cr_expect_null(signal_on_tick(&s, 16000, &next_ms));
	cr_expect_eq(next_ms, 16500);
	cr_expect_eq(signal_on_tick(&s, 99999999, &next_ms), b);
	cr_expect_null(signal_on_tick(&s, 99999999, &next_ms));
	cr_expect_eq(next_ms, 0);
	cr_expect_eq(ready->phase, SIGNAL_READY, "a silent registered peer stays");
}

/* Slots */

Test(signal_state, eight_unproved_ones_per_address_and_128_in_all)
{
	struct signal_conn *c = NULL;

	for (int addr = 0; addr < 16; addr++) {
		for (int i = 0; i < 8; i++)
			cr_assert_eq(try_enter(&c, (struct from){ .addr = addr }, 0), SIGNAL_FINE);
		if (addr < 15)
			cr_expect_eq(try_enter(&c, (struct from){ .addr = addr }, 0), SIGNAL_WHY_PRE_ADDRESS);
	}
	cr_expect_eq(try_enter(&c, (struct from){ .addr = 99 }, 0), SIGNAL_WHY_PRE_TOTAL);
	cr_expect_eq(try_enter(&c, (struct from){ .addr = 99, .is_exempt = true }, 0), SIGNAL_WHY_PRE_TOTAL);
	signal_leave(&s, c, 0);
	cr_expect_eq(try_enter(&c, (struct from){ .addr = 99 }, 0), SIGNAL_FINE);
}

Test(signal_state, a_refused_connection_has_no_slot_any_more)
{
	struct signal_conn *c = NULL, *more;

	for (int i = 0; i < 8; i++)
		c = enter_from((struct from){ .addr = 1 });
	cr_expect_eq(try_enter(&more, (struct from){ .addr = 1 }, 0), SIGNAL_WHY_PRE_ADDRESS);
	cr_expect_eq(line(c, "nonsense").what, SIGNAL_CLOSE);
	cr_expect_eq(try_enter(&more, (struct from){ .addr = 1 }, 0), SIGNAL_FINE);
	signal_leave(&s, c, 0); /* gives back nothing twice, however often it leaves */
	signal_leave(&s, c, 0);
	cr_expect_eq(try_enter(&more, (struct from){ .addr = 1 }, 0), SIGNAL_WHY_PRE_ADDRESS);
}

Test(signal_state, a_48_has_8_times_the_slots_of_an_address)
{
	struct signal_conn *c = NULL;

	for (int addr = 0; addr < 8; addr++)
		for (int i = 0; i < 8; i++)
			cr_assert_eq(try_enter(&c, (struct from){ .addr = addr, .network = 5 }, 0), SIGNAL_FINE);
	cr_expect_eq(try_enter(&c, (struct from){ .addr = 8, .network = 5 }, 0), SIGNAL_WHY_PRE_ADDRESS);
	cr_expect_eq(try_enter(&c, (struct from){ .addr = 8, .network = 6 }, 0), SIGNAL_FINE);
}

Test(signal_state, registering_gives_the_unproved_slot_back)
{
	for (int i = 0; i < 32; i++)
		registered_from(i, (struct from){ .addr = 1 });
	cr_expect_eq(s.unproved_count, 0);
	cr_expect_eq(s.peer_count, 32);
}

static enum signal_why register_one_more(int number, struct from from)
{
	struct signal_conn *c = enter_from(from);

	bring_to(c, number, SIGNAL_PROVING);

	enum signal_why why = signal_proved(&s, c, true, 0).why;

	if (why != SIGNAL_FINE)
		signal_leave(&s, c, 0);
	return why;
}

Test(signal_state, 32_registered_ones_per_address_and_512_in_all)
{
	for (int i = 0; i < 512; i++) {
		registered_from(i, (struct from){ .addr = i / 32 });
		if (i % 32 == 31 && i < 511)
			cr_expect_eq(register_one_more(9999, (struct from){ .addr = i / 32 }), SIGNAL_WHY_FULL_ADDRESS);
	}
	cr_expect_eq(register_one_more(9999, (struct from){ .addr = 99 }), SIGNAL_WHY_FULL_TOTAL);
	cr_expect_eq(register_one_more(9999, (struct from){ .addr = 99, .is_exempt = true }), SIGNAL_WHY_FULL_TOTAL);

	/* Who replaces himself takes no more than there was, wherever he comes from. */
	cr_expect_eq(register_one_more(5, (struct from){ .addr = 5 / 32 }), SIGNAL_FINE);
	cr_expect_eq(register_one_more(5, (struct from){ .addr = 99 }), SIGNAL_FINE);
	cr_expect_eq(s.peer_count, 512);
}

Test(signal_state, nobody_is_evicted_by_one_for_whom_there_is_no_slot)
{
	struct signal_conn *holder = registered(1);

	for (int i = 100; i < 132; i++)
		registered_from(i, (struct from){ .addr = 7 });
	cr_expect_eq(register_one_more(1, (struct from){ .addr = 7 }), SIGNAL_WHY_FULL_ADDRESS);
	cr_expect_eq(holder->phase, SIGNAL_READY);
	cr_expect_eq(relay(holder, 1, "").dest, holder);
}

Test(signal_state, a_48_has_8_times_the_registered_slots_of_an_address)
{
	for (int i = 0; i < 256; i++)
		registered_from(i, (struct from){ .addr = i, .network = 5 });
	cr_expect_eq(register_one_more(999, (struct from){ .addr = 999, .network = 5 }), SIGNAL_WHY_FULL_ADDRESS);
	cr_expect_eq(register_one_more(3, (struct from){ .addr = 999, .network = 5 }), SIGNAL_FINE);
}

Test(signal_state, limits_per_address_do_not_hold_for_exempt_ones)
{
	for (int i = 0; i < 100; i++)
		enter_from((struct from){ .addr = 1, .is_exempt = true });
	for (int i = 0; i < 100; i++)
		bring_to(&conns[i], i, SIGNAL_READY);
	cr_expect_eq(s.peer_count, 100);
}

/* Names */

Test(signal_state, a_second_registration_takes_the_name_over_and_the_first_one_s_end_changes_nothing)
{
	struct signal_conn *old = registered(1), *sender = registered(2);

	relay(sender, 1, "waits for the old one");

	struct signal_conn *young = enter_from((struct from){ .addr = 3 });

	bring_to(young, 1, SIGNAL_PROVING);
	cr_expect_eq(relay(sender, 1, "still the old one's").dest, old);

	struct signal_step step = signal_proved(&s, young, true, 0);

	cr_expect_eq(step.what, SIGNAL_REGISTERED);
	cr_expect_eq(step.evicted, old);
	cr_expect_eq(old->phase, SIGNAL_CLOSED);
	cr_expect(signal_queue_is_empty(&old->queue));
	cr_expect_eq(relay(old, 2, "from beyond").what, SIGNAL_WAIT);
	signal_leave(&s, old, 0);
	cr_expect_eq(relay(sender, 1, "0a").dest, young);
	cr_expect_str_eq(taken(sender), "");
	cr_expect_eq(s.peer_count, 2);
}

Test(signal_state, one_who_does_not_prove_his_key_neither_evicts_nor_receives)
{
	struct signal_conn *holder = registered(1), *claimant = enter_from((struct from){ .addr = 9 });

	bring_to(claimant, 1, SIGNAL_PROVING);
	cr_expect_eq(relay(holder, 1, "0a").dest, holder);
	cr_expect_eq(signal_proved(&s, claimant, false, 0).why, SIGNAL_WHY_PROOF);
	signal_leave(&s, claimant, 0);
	cr_expect_eq(relay(holder, 1, "0a").dest, holder);
	cr_expect_eq(holder->phase, SIGNAL_READY);
}

Test(signal_state, who_has_left_is_nobody)
{
	struct signal_conn *a = registered(1), *b = registered(2);

	cr_expect_eq(relay(a, 2, "0a").dest, b);
	cr_expect_eq(signal_on_bad_line(&s, b, SIGNAL_WHY_LONG).why, SIGNAL_WHY_LONG);
	cr_expect_eq(relay(a, 2, "0a").why, SIGNAL_DROP_NOBODY, "from the moment it is refused");
	signal_leave(&s, b, 0);
	cr_expect_eq(relay(a, 2, "0a").why, SIGNAL_DROP_NOBODY);
	cr_expect_eq(relay(a, 2, "0a").what, SIGNAL_DROP);
}

/* Relaying */

Test(signal_state, a_line_arrives_with_the_registered_name_of_its_sender)
{
	struct signal_conn *a = registered(1), *b = registered(2);
	char                want[256];

	cr_expect_eq(relay(a, 2, "C0ffee  with blanks \r").dest, b);
	snprintf(want, sizeof(want), "%s C0ffee  with blanks \r", name_of(1));
	cr_expect_str_eq(taken(b), want);
	cr_expect_str_eq(taken(b), "");
	cr_expect_str_eq(taken(a), "");
}

Test(signal_state, a_line_to_oneself_arrives_like_any_other)
{
	struct signal_conn *a = registered(1);
	char                want[256];

	cr_expect_eq(relay(a, 1, "0a").dest, a);
	cr_expect_eq(relay(a, 1, "0a").is_test, false);
	cr_expect_eq(relay(a, 1, "").is_test, true);
	snprintf(want, sizeof(want), "%s 0a", name_of(1));
	cr_expect_str_eq(taken(a), want);
	taken(a);
	snprintf(want, sizeof(want), "%s ", name_of(1));
	cr_expect_str_eq(taken(a), want);
}

Test(signal_state, lines_of_the_wrong_shape_are_dropped_and_the_peer_stays)
{
	struct signal_conn *a = registered(1), *b = registered(2);
	char                text[256];

	cr_expect_eq(line(a, name_of(2)).why, SIGNAL_DROP_SHAPE);
	snprintf(text, sizeof(text), " %s 0a", name_of(2));
	cr_expect_eq(line(a, text).why, SIGNAL_DROP_SHAPE);
	cr_expect_eq(relay(a, 3, "0a").why, SIGNAL_DROP_NOBODY);
	cr_expect_eq(line(a, "somebody 0a").why, SIGNAL_DROP_NOBODY);
	cr_expect_str_eq(taken(b), "");
	cr_expect_eq(relay(a, 2, "0a").what, SIGNAL_SEND);
}

Test(signal_state, order_is_kept_from_one_sender_to_one_destination)
{
	struct signal_conn *a = registered(1), *b = registered(2), *c = registered(3);
	int                 seen[4] = { 0 };

	for (int i = 0; i < 30; i++) {
		char payload[16];

		snprintf(payload, sizeof(payload), "%d", i);
		relay(a, 3, payload);
		relay(b, 3, payload);
	}
	for (int i = 0; i < 60; i++) {
		const char *got = taken(c);
		int         who = got[5] - '0'; /* the first byte of the key, little-endian */

		cr_assert(who == 1 || who == 2, "%s", got);
		cr_expect_eq(atoi(got + SIGNAL_IDENTITY_CHARS + 1), seen[who]++);
	}
}

Test(signal_state, a_full_queue_still_takes_the_owner_s_self_test)
{
	struct signal_conn *a = registered(1), *b = registered(2), *c = registered(3);

	for (int i = 0; i < 32; i++) {
		cr_assert_eq(relay(a, 3, "0a").what, SIGNAL_SEND);
		cr_assert_eq(relay(b, 3, "0a").what, SIGNAL_SEND);
	}
	cr_expect_eq(relay(a, 3, "0a").why, SIGNAL_DROP_FULL);
	cr_expect_eq(relay(a, 3, "").why, SIGNAL_DROP_FULL, "an empty line of somebody else is no self test");
	cr_expect_eq(relay(c, 3, "0a").why, SIGNAL_DROP_FULL);
	cr_expect_eq(relay(c, 3, "").what, SIGNAL_SEND);
	cr_expect_eq(relay(c, 3, "").why, SIGNAL_DROP_FULL);
	cr_expect_eq(relay(a, 1, "").what, SIGNAL_SEND, "and does not delay anybody");
}

Test(signal_state, one_sender_leaves_half_of_a_queue_to_others)
{
	struct signal_conn *a = registered(1), *b = registered(2);

	registered(3);
	for (int i = 0; i < 32; i++)
		cr_assert_eq(relay(a, 3, "0a").what, SIGNAL_SEND);
	cr_expect_eq(relay(a, 3, "0a").why, SIGNAL_DROP_SHARE);
	cr_expect_eq(relay(b, 3, "0a").what, SIGNAL_SEND);
}

/* Budgets */

static void spend(struct signal_conn *c, int lines, int64_t now_ms)
{
	for (int i = 0; i < lines; i++)
		cr_assert_eq(relay_at(c, 424242, "0a", now_ms).why, SIGNAL_DROP_NOBODY);
}

Test(signal_state, 200_lines_of_one_sender_in_10_s_and_self_tests_are_not_counted)
{
	struct signal_conn *a = registered(1), *b = registered(2);

	spend(a, 200, 0);
	cr_expect_eq(relay_at(a, 2, "0a", 9999).why, SIGNAL_DROP_BUDGET);
	for (int i = 0; i < 10; i++)
		cr_expect_eq(relay_at(a, 1, "", 9999).what, SIGNAL_SEND);
	cr_expect_eq(relay_at(a, 1, "0a", 9999).why, SIGNAL_DROP_BUDGET, "no self test");
	cr_expect_eq(relay_at(b, 1, "0a", 9999).what, SIGNAL_SEND, "somebody else's is his own");
	cr_expect_eq(relay_at(a, 2, "0a", 11000).what, SIGNAL_SEND);
}

Test(signal_state, self_tests_use_nothing_up)
{
	struct signal_conn *a = registered(1);

	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(relay(a, 1, "").what, SIGNAL_SEND);
		taken(a);
	}
	spend(a, 200, 0);
	cr_expect_eq(relay(a, 1, "0a").why, SIGNAL_DROP_BUDGET);
}

Test(signal_state, 1600_lines_of_one_address_in_10_s_whoever_sends_them)
{
	for (int i = 0; i < 8; i++)
		spend(registered_from(i, (struct from){ .addr = 5 }), 200, 0);

	struct signal_conn *ninth  = registered_from(9, (struct from){ .addr = 5 });
	struct signal_conn *exempt = registered_from(10, (struct from){ .addr = 5, .is_exempt = true });

	cr_expect_eq(relay(ninth, 1, "0a").why, SIGNAL_DROP_BUDGET);
	cr_expect_eq(relay(exempt, 1, "0a").what, SIGNAL_SEND);
	cr_expect_eq(relay_at(ninth, 1, "0a", 11000).what, SIGNAL_SEND);
}

Test(signal_state, 8_times_as_many_of_one_48)
{
	for (int i = 0; i < 64; i++)
		spend(registered_from(i, (struct from){ .addr = i / 8, .network = 5 }), 200, 0);
	cr_expect_eq(relay(registered_from(99, (struct from){ .addr = 99, .network = 5 }), 1, "0a").why,
	             SIGNAL_DROP_BUDGET);
	cr_expect_eq(relay(registered_from(98, (struct from){ .addr = 99, .network = 6 }), 1, "0a").what, SIGNAL_SEND);
}

Test(signal_state, coming_back_does_not_renew_a_budget)
{
	struct signal_conn *a = registered(1);

	spend(a, 200, 0);
	signal_leave(&s, a, 0);
	cr_expect_eq(relay(registered_from(1, (struct from){ .addr = 77 }), 1, "0a").why, SIGNAL_DROP_BUDGET);
	cr_expect_eq(relay(registered_from(1, (struct from){ .addr = 78 }), 1, "0a").why, SIGNAL_DROP_BUDGET,
	             "nor does taking over");
}

/* Junk */

/* What can be for nobody, one after the other. */
static struct signal_step junk_at(struct signal_conn *c, int number, int64_t now_ms)
{
	static const char *const kinds[] = { "", " x", "somebody 0a", "no-blank", "GEN:12 \r", "x " };

	return line_at(c, kinds[(size_t)number % COUNT_OF(kinds)], now_ms);
}

static void send_junk(struct signal_conn *c, int count, int64_t now_ms)
{
	for (int i = 0; i < count; i++)
		cr_assert_eq(junk_at(c, i, now_ms).what, SIGNAL_DROP, "line %d", i);
}

Test(signal_state, 1000_lines_that_name_nobody_in_10_s_and_with_one_more_it_is_closed)
{
	for (int kind = 0; kind < 6; kind++) {
		struct signal_conn *a = registered(10 + kind);

		send_junk(a, 1000, 0);
		cr_expect_eq(relay_at(a, 10 + kind, "", 0).what, SIGNAL_SEND, "a self test is none");

		struct signal_step step = junk_at(a, kind, 9999);

		cr_expect_eq(step.what, SIGNAL_CLOSE, "kind %d", kind);
		cr_expect_eq(step.why, SIGNAL_WHY_JUNK, "kind %d", kind);
		cr_expect_eq(a->phase, SIGNAL_CLOSED);
	}
}

Test(signal_state, junk_is_forgotten_after_11_s_and_not_by_coming_back)
{
	struct signal_conn *a = registered(1);

	send_junk(a, 1000, 0);
	send_junk(a, 1000, 11000);
	signal_leave(&s, a, 11000);
	a = registered(1);
	cr_expect_eq(junk_at(a, 0, 12000).why, SIGNAL_WHY_JUNK);
	send_junk(registered(2), 1000, 12000);
}

/* Somebody may have gone a moment ago: lines to him are no junk, however many. */
Test(signal_state, lines_to_who_is_not_there_cost_budget_and_never_the_connection)
{
	struct signal_conn *a = registered(1);

	registered(2);
	for (int i = 0; i < 200; i++)
		cr_assert_eq(relay(a, 99, "0a").why, SIGNAL_DROP_NOBODY);
	for (int i = 0; i < 2000; i++)
		cr_assert_eq(relay(a, 99, "0a").why, SIGNAL_DROP_BUDGET);
	cr_expect_eq(relay(a, 2, "0a").why, SIGNAL_DROP_BUDGET);

	a = registered(3);
	for (int i = 0; i < 200; i++)
		cr_assert_eq(line(a, "somebody 0a").why, SIGNAL_DROP_NOBODY);
	cr_expect_eq(line(a, "somebody 0a").why, SIGNAL_DROP_BUDGET);
	cr_expect_eq(relay(a, 2, "0a").why, SIGNAL_DROP_BUDGET);
}

Test(signal_state, a_token_in_the_place_of_an_identity_is_not_shown_as_offered)
{
	struct signal_step step = line(enter_from((struct from){ .addr = 1 }), TOKEN " " TOKEN);

	cr_expect_eq(step.why, SIGNAL_WHY_IDENTITY);
	cr_expect_null(step.offered);
	cr_expect_eq(step.offered_len, 0);
}

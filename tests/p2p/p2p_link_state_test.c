/*
 * The link relay, told what happens: which frames leave, who has confirmed, what is repeated, what the sender hears.
 */
#include "p2p/p2p_link_state.h"

#include "base/auto.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "support/dice.h"
#include "support/p2p_people.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_BYTES 16 /* of a message, in what is told */

static struct p2p_people    p;
static struct p2p_link_host host;
static char                 told[16384]; /* what left, as one text */
static size_t               told_len, charged, frames;
static const char          *watched;  /* only frames for this one become the last frame; NULL: all */
static bool                 is_broke; /* no charge goes through */
static int64_t              now_ms;
static uint8_t              last_frame[P2P_LINK_FRAME_MAX];
static size_t               last_len;

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (told_len < sizeof(told))
		told_len += (size_t)vsnprintf(told + told_len, sizeof(told) - told_len, format, args);
	va_end(args);
}

/* "ben rp[5,2]hi; ": reliable (r), pass on (p) to these seats, yours (y), again (a), and the message. */
static void on_send(void *arg, struct p2p_member *to, unsigned flags, const uint8_t *frame, size_t len)
{
	struct p2p_frame f;

	(void)arg;
	frames++;
	if (!watched || strcmp(to->uid, watched) == 0) {
		memcpy(last_frame, frame, len);
		last_len = len;
	}
	cr_assert(p2p_frame_parse(&f, frame, len));
	cr_assert_eq(f.kind, P2P_LINK);
	cr_assert_eq(f.flags, flags);
	tell("%s %s%s%s%s", to->uid, flags & P2P_FLAG_RELIABLE ? "r" : "", flags & P2P_FLAG_PASS_ON ? "p" : "",
	     flags & P2P_FLAG_YOURS ? "y" : "", flags & P2P_FLAG_AGAIN ? "a" : "");
	if (flags & P2P_FLAG_PASS_ON) {
		struct rd r     = rd_over(f.content, f.content_len);
		unsigned  count = rd_u8(&r);

		for (unsigned i = 0; i < count; i++)
			tell("%s%u", i ? "," : "[", (unsigned)rd_be(&r, 2));
		tell("]");
		f.content = rd_rest(&r, &f.content_len);
		cr_assert(rd_done(&r));
	}
	tell("%.*s; ", (int)(f.content_len < SHOWN_BYTES ? f.content_len : SHOWN_BYTES), (const char *)f.content);
}

static bool on_charge(void *arg, struct p2p_member *sender, size_t bytes)
{
	(void)arg;
	(void)sender;
	if (is_broke)
		return false;
	charged += bytes;
	return true;
}

static void on_done(void *arg, struct p2p_member *sender, uint32_t number, const char (*missing)[P2P_UID_BYTES],
                    size_t missing_count)
{
	(void)arg;
	tell("%s done %u", sender->uid, (unsigned)number);
	for (size_t i = 0; i < missing_count; i++)
		tell(" -%s", missing[i]);
	tell("; ");
}

static void start(void)
{
	static const uint8_t keys[P2P_SYNC_KEYS_BYTES];

	p2p_people_init(&p);
	host     = (struct p2p_link_host){ .send = on_send, .charge = on_charge, .done = on_done };
	now_ms   = 1000000;
	told_len = charged = frames = 0;
	is_broke                    = false;
	p2p_people_seven(&p);
	p2p_room_start(p.room, keys, now_ms);
	p2p_people_link_all(&p);
	cr_assert(p2p_groups_make(p.room, 3)); /* fay ben* cid | gus* ann eve | dee */
}

static void stop(void)
{
	p2p_link_clear(p.room);
	p2p_people_fini(&p);
}

TestSuite(p2p_link_state, .init = start, .fini = stop);

/* What was told since the last time is exactly this. */
#define EXPECT_TOLD(text)                     \
	do {                                  \
		told[told_len] = '\0';        \
		cr_expect_str_eq(told, text); \
		told_len = 0;                 \
	} while (0)

static struct p2p_member *who(const char *uid)
{
	return p2p_people_find(&p, uid);
}

static enum p2p_link_says try_send(struct p2p_link_sent *out, const char *from, unsigned flags, const void *text,
                                   size_t len)
{
	struct p2p_frame f = { .kind        = P2P_LINK,
		               .flags       = (uint8_t)flags,
		               .ver         = 1,
		               .cmd         = 300,
		               .seat        = P2P_SEAT_ALL,
		               .number      = 9,
		               .content     = text,
		               .content_len = len };

	return p2p_link_send(out, who(from), &f, &host, &p.limits, now_ms);
}

static struct p2p_link_sent send_text(const char *from, unsigned flags, const char *text)
{
	struct p2p_link_sent out = { 0 };

	cr_assert_eq(try_send(&out, from, flags, text, strlen(text)), P2P_LINK_FINE);
	return out;
}

#define UNRELIABLE 0
#define RELIABLE   P2P_FLAG_RELIABLE
#define EXPECT_SENT(sent, l, s, r)                   \
	do {                                         \
		struct p2p_link_sent sent_ = (sent); \
		cr_expect_eq(sent_.leaders, l);      \
		cr_expect_eq(sent_.straight, s);     \
		cr_expect_eq(sent_.receivers, r);    \
	} while (0)

static void ack(const char *uid, uint32_t number)
{
	uint8_t   content[4];
	struct wr w = wr_over(content, sizeof(content));

	wr_be(&w, number, 4);
	p2p_link_ack(who(uid), content, sizeof(content), &host);
}

static void acks(uint32_t number, const char *const *uids)
{
	for (; *uids; uids++)
		ack(*uids, number);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void leave(const char *uid)
{
	struct p2p_member *m = who(uid);

	p2p_link_leave(m, &host);
	p2p_groups_leave(m);
	p2p_room_leave(m);
}

static int64_t tick_after(int64_t ms)
{
	return p2p_link_tick(p.room, &host, now_ms + ms);
}

static void lose(const char *a, const char *b)
{
	p2p_pair_say(who(a), who(b), P2P_PAIR_DOWN);
}

/* Which way */

Test(p2p_link_state, three_frames_leave_instead_of_six)
{
	struct p2p_link_sent sent = send_text("eve", UNRELIABLE, "hi");

	EXPECT_TOLD("ben p[5,2]hi; dee hi; gus p[0]hi; ");
	EXPECT_SENT(sent, 2, 1, 6);
	cr_expect_eq(sent.number, 1);
	cr_expect_eq(charged, 6 * 14);
}

Test(p2p_link_state, a_leader_passes_on_its_own_message)
{
	EXPECT_SENT(send_text("gus", UNRELIABLE, "hi"), 2, 1, 6);
	EXPECT_TOLD("ben p[5,2]hi; dee hi; gus py[0,4]hi; ");
}

Test(p2p_link_state, the_frames_are_those_of_the_document)
{
	static const struct {
		const char *uid, *hex;
	} rows[] = {
		{ "ben", "02030100012c00040000002a02000500026869" },
		{ "gus", "02030100012c00040000002a0100006869" },
		{ "dee", "02010100012c00040000002a6869" },
	};
	char hex[2 * sizeof(last_frame) + 1];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		p2p_link_clear(p.room);
		for (int n = 1; n < 42; n++)
			send_text("ann", UNRELIABLE, "");
		watched = rows[i].uid;
		/* Of the sender's flags only the first counts, and its number stays with it. */
		send_text("eve", 0xFF, "hi");
		watched = NULL;
		hex_encode(hex, last_frame, last_len);
		cr_expect_str_eq(hex, rows[i].hex);
	}
}

Test(p2p_link_state, who_is_in_no_group_gets_it_straight)
{
	p2p_people_join(&p, "hal", 1, P2P_NAT_OPEN);
	EXPECT_SENT(send_text("hal", UNRELIABLE, "hi"), 2, 1, 7);
	EXPECT_TOLD("ben p[5,2]hi; dee hi; gus p[0,4]hi; ");
	EXPECT_SENT(send_text("dee", UNRELIABLE, "hi"), 2, 1, 7);
	EXPECT_TOLD("ben p[5,2]hi; gus p[0,4]hi; hal hi; ");
}

Test(p2p_link_state, without_groups_all_get_it_straight)
{
	p2p_groups_clear(p.room);
	EXPECT_SENT(send_text("ann", UNRELIABLE, "hi"), 0, 6, 6);
	EXPECT_TOLD("ben hi; cid hi; dee hi; eve hi; fay hi; gus hi; ");
}

Test(p2p_link_state, a_link_that_is_not_up_from_both_sides_is_none)
{
	lose("cid", "ben");
	lose("gus", "eve");
	EXPECT_SENT(send_text("dee", UNRELIABLE, "hi"), 2, 2, 6);
	EXPECT_TOLD("ben p[5]hi; cid hi; eve hi; gus p[0]hi; ");
}

Test(p2p_link_state, a_leader_with_nobody_to_pass_on_to_gets_it_straight)
{
	lose("ben", "fay");
	EXPECT_SENT(send_text("cid", UNRELIABLE, "hi"), 1, 3, 6);
	EXPECT_TOLD("ben hi; dee hi; fay hi; gus p[0,4]hi; ");
}

Test(p2p_link_state, a_leader_that_sends_without_links_gets_no_copy)
{
	lose("gus", "ann");
	lose("gus", "eve");
	EXPECT_SENT(send_text("gus", UNRELIABLE, "hi"), 1, 3, 6);
	EXPECT_TOLD("ann hi; ben p[5,2]hi; dee hi; eve hi; ");
}

Test(p2p_link_state, a_datagram_s_worth_goes_through_leaders_and_a_byte_more_does_not)
{
	static char          text[P2P_LINK_LEADERS_BYTES + 1];
	struct p2p_link_sent sent;

	cr_assert_eq(try_send(&sent, "eve", UNRELIABLE, text, P2P_LINK_LEADERS_BYTES), P2P_LINK_FINE);
	EXPECT_SENT(sent, 2, 1, 6);
	cr_assert_eq(try_send(&sent, "eve", UNRELIABLE, text, P2P_LINK_LEADERS_BYTES + 1), P2P_LINK_FINE);
	EXPECT_SENT(sent, 0, 6, 6);
	cr_expect_eq(sent.number, 2);
}

Test(p2p_link_state, sixty_three_get_a_message_in_one_frame)
{
	static char          text[P2P_LINK_LEADERS_BYTES];
	struct p2p_link_sent sent;
	char                 uid[P2P_UID_BYTES];

	for (int i = 7; i < P2P_MEMBERS_MAX; i++) {
		snprintf(uid, sizeof(uid), "m%d", i);
		p2p_people_join(&p, uid, 200, P2P_NAT_PORT);
	}
	p2p_people_link_all(&p);
	cr_assert(p2p_groups_make(p.room, P2P_MEMBERS_MAX));
	cr_assert_eq(try_send(&sent, "ben", RELIABLE, text, sizeof(text)), P2P_LINK_FINE);
	EXPECT_SENT(sent, 1, 0, 63);
	cr_expect_eq(frames, 1);
	cr_expect_eq(last_len, 12 + 1 + 63 * 2 + sizeof(text));
}

/* What is refused */

Test(p2p_link_state, the_longest_message_goes_and_a_longer_one_does_not)
{
	static char          text[P2P_LINK_BYTES_MAX + 1];
	struct p2p_link_sent sent;

	cr_expect_eq(try_send(&sent, "eve", RELIABLE, text, P2P_LINK_BYTES_MAX), P2P_LINK_FINE);
	cr_expect_eq(last_len, P2P_LINK_FRAME_MAX);
	frames = 0;
	cr_expect_eq(try_send(&sent, "eve", RELIABLE, text, P2P_LINK_BYTES_MAX + 1), P2P_LINK_TOO_LARGE);
	cr_expect_eq(frames, 0);
}

Test(p2p_link_state, before_the_first_start_nothing_goes)
{
	struct p2p_link_sent sent;

	p.room->epoch = 0;
	cr_expect_eq(try_send(&sent, "eve", UNRELIABLE, "hi", 2), P2P_LINK_OFF);
	EXPECT_TOLD("");
}

Test(p2p_link_state, who_cannot_pay_sends_nothing_and_takes_no_number)
{
	struct p2p_link_sent sent;

	is_broke = true;
	cr_expect_eq(try_send(&sent, "eve", RELIABLE, "hi", 2), P2P_LINK_BUSY);
	cr_expect_eq(try_send(&sent, "eve", UNRELIABLE, "hi", 2), P2P_LINK_BUSY);
	cr_expect_eq(p2p_link_due(p.room), 0);
	EXPECT_TOLD("");
	is_broke = false;
	cr_expect_eq(send_text("eve", UNRELIABLE, "hi").number, 1);
}

Test(p2p_link_state, alone_in_the_room_it_is_fine_and_free)
{
	for (size_t i = 1; i < p.count; i++)
		leave(p.people[i].uid);
	is_broke = true;
	EXPECT_SENT(send_text("ann", RELIABLE, "hi"), 0, 0, 0);
	EXPECT_TOLD("");
	cr_expect_eq(p2p_link_due(p.room), 0);
}

static const char long_text[P2P_LINK_BYTES_MAX];

/* How many of these fit, all sent at once and confirmed by nobody. */
static size_t fill(size_t len)
{
	struct p2p_link_sent sent;
	size_t               count = 0;

	while (try_send(&sent, "eve", RELIABLE, long_text, len) == P2P_LINK_FINE)
		count++;
	return count;
}

Test(p2p_link_state, what_is_kept_for_repeats_is_bounded)
{
	struct p2p_link_sent sent;
	size_t               first;

	p.limits.p2p_repeat_bytes = 16384;
	first                     = fill(1000);
	cr_expect(first >= 13 && first <= 16, "%zu", first); /* of 1,000 bytes and some for six receivers */
	cr_expect_eq(try_send(&sent, "ann", RELIABLE, long_text, 1000),
	             P2P_LINK_BUSY); /* of the room, not of the sender */
	cr_expect_eq(try_send(&sent, "eve", UNRELIABLE, "hi", 2), P2P_LINK_FINE);

	for (uint32_t i = 1; i <= sent.number; i++)
		acks(i, LIST("ann", "ben", "cid", "dee", "eve", "fay", "gus"));
	cr_expect_eq(fill(1000), first);
}

Test(p2p_link_state, the_bound_is_exact)
{
	struct p2p_link_sent sent;
	int64_t              bytes;

	/* The smallest bound under which it goes; one less, and it does not. */
	for (bytes = 0;; bytes++) {
		p.limits.p2p_repeat_bytes = bytes;
		if (try_send(&sent, "eve", RELIABLE, "hi", 2) == P2P_LINK_FINE)
			break;
	}
	p.limits.p2p_repeat_bytes = 2 * bytes;
	cr_expect_eq(try_send(&sent, "eve", RELIABLE, "hi", 2), P2P_LINK_FINE);
	cr_expect_eq(try_send(&sent, "eve", RELIABLE, "hi", 2), P2P_LINK_BUSY);
	acks(1, LIST("ann", "ben", "cid", "dee", "fay", "gus"));
	p.limits.p2p_repeat_bytes = 2 * bytes - 1;
	cr_expect_eq(try_send(&sent, "eve", RELIABLE, "hi", 2), P2P_LINK_BUSY);
	p.limits.p2p_repeat_bytes = 2 * bytes;
	cr_expect_eq(try_send(&sent, "eve", RELIABLE, "hi", 2), P2P_LINK_FINE);
}

Test(p2p_link_state, a_long_message_that_is_not_repeated_is_not_kept)
{
	p.limits.p2p_repeat_bytes = 16384;
	cr_expect_gt(fill(P2P_LINK_BYTES_MAX), 100);
}

/* Confirming */

Test(p2p_link_state, the_sender_hears_when_all_have_confirmed)
{
	send_text("eve", RELIABLE, "hi");
	EXPECT_TOLD("ben rp[5,2]hi; dee rhi; gus rp[0]hi; ");
	acks(1, LIST("ann", "ben", "cid", "dee", "fay"));
	EXPECT_TOLD("");
	ack("gus", 1);
	EXPECT_TOLD("eve done 1; ");
	ack("gus", 1);
	tick_after(5000);
	EXPECT_TOLD("");
	cr_expect_eq(p2p_link_due(p.room), 0);
}

Test(p2p_link_state, a_frame_confirms_many_and_what_is_no_number_confirms_nothing)
{
	static const uint8_t content[] = { 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0 };

	send_text("eve", RELIABLE, "a");
	send_text("eve", RELIABLE, "b");
	send_text("eve", UNRELIABLE, "c");
	for (uint32_t i = 1; i <= 3; i++)
		acks(i, LIST("ann", "ben", "cid", "dee", "eve", "fay"));
	told_len = 0;
	p2p_link_ack(who("gus"), content, sizeof(content), &host);
	EXPECT_TOLD("eve done 2; eve done 1; ");
}

Test(p2p_link_state, a_confirmation_before_any_message_is_nothing)
{
	ack("ben", 1);
	EXPECT_TOLD("");
}

Test(p2p_link_state, twice_from_one_is_not_once_from_two)
{
	p2p_groups_clear(p.room);
	leave("cid");
	leave("dee");
	leave("eve");
	leave("fay");
	leave("gus");
	send_text("ann", RELIABLE, "hi");
	p2p_people_join(&p, "hal", 1, P2P_NAT_OPEN); /* came later: not one of its receivers */
	told_len = 0;
	ack("ann", 1);
	ack("hal", 1);
	EXPECT_TOLD("");
	ack("ben", 1);
	EXPECT_TOLD("ann done 1; ");
}

/* Repeating */

Test(p2p_link_state, what_is_not_confirmed_comes_again_once)
{
	send_text("eve", RELIABLE, "hi");
	acks(1, LIST("dee", "gus", "ben", "fay"));
	told_len = 0;
	/* cid by ben: 100 + 24 + 24, so 300; ann by gus: 100 + 62 + 96, so 300, too. */
	cr_expect_eq(p2p_link_due(p.room), now_ms + 300);
	tick_after(299);
	EXPECT_TOLD("");
	cr_expect_eq(tick_after(300), now_ms + 5000);
	EXPECT_TOLD("ann rahi; cid rahi; ");
	tick_after(4999);
	EXPECT_TOLD("");
	ack("cid", 1);
	cr_expect_eq(tick_after(5000), 0);
	EXPECT_TOLD("eve done 1 -ann; ");
	ack("ann", 1);
	EXPECT_TOLD("");
}

Test(p2p_link_state, who_got_it_straight_gets_no_repeat)
{
	lose("ben", "cid");
	send_text("eve", RELIABLE, "hi");
	acks(1, LIST("ann", "ben", "fay", "gus"));
	told_len = 0;
	tick_after(4999);
	EXPECT_TOLD("");
	tick_after(5000);
	EXPECT_TOLD("eve done 1 -cid -dee; ");
}

Test(p2p_link_state, a_repeat_is_the_same_message_with_its_number_and_sender)
{
	struct p2p_frame f;

	send_text("ann", UNRELIABLE, "first");
	send_text("eve", RELIABLE, "hello");
	acks(2, LIST("ann", "ben", "dee", "fay", "gus"));
	tick_after(300);
	cr_assert(p2p_frame_parse(&f, last_frame, last_len));
	cr_expect_eq(f.flags, P2P_FLAG_RELIABLE | P2P_FLAG_AGAIN);
	cr_expect_eq(f.number, 2);
	cr_expect_eq(f.seat, 4);
	cr_expect_eq(f.ver, 1);
	cr_expect_eq(f.cmd, 300);
	cr_expect_eq(f.content_len, 5);
	cr_expect_arr_eq(f.content, "hello", 5);
}

Test(p2p_link_state, the_time_to_a_repeat_follows_both_latencies)
{
	static const struct {
		int leader_ms, target_ms, again_ms;
	} rows[] = {
		{ 0, 0, 300 },
		{ 50, 50, 300 },
		{ 50, 51, 302 },
		{ 300, 100, 900 },
		{ 475, 475, 2000 },
		{ 475, 476, 2000 },
		{ 100000, 100000, 2000 },
		{ P2P_PEOPLE_UNMEASURED, 100, 700 },
		{ 100, P2P_PEOPLE_UNMEASURED, 700 },
		{ P2P_PEOPLE_UNMEASURED, P2P_PEOPLE_UNMEASURED, 900 },
	};
	struct p2p_member *ben = who("ben"), *cid = who("cid");

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct p2p_link_sent sent;

		ben->has_latency = rows[i].leader_ms != P2P_PEOPLE_UNMEASURED;
		ben->latency_ms  = ben->has_latency ? rows[i].leader_ms : 77777;
		cid->has_latency = rows[i].target_ms != P2P_PEOPLE_UNMEASURED;
		cid->latency_ms  = cid->has_latency ? rows[i].target_ms : 77777;
		sent             = send_text("eve", RELIABLE, "hi");
		acks(sent.number, LIST("ann", "ben", "dee", "fay", "gus"));
		told_len = 0;
		tick_after(rows[i].again_ms - 1);
		EXPECT_TOLD("");
		tick_after(rows[i].again_ms);
		EXPECT_TOLD("cid rahi; ");
		ack("cid", sent.number);
		told_len = 0;
	}
}

Test(p2p_link_state, what_a_sender_leads_itself_is_repeated_too)
{
	send_text("gus", RELIABLE, "hi");
	acks(1, LIST("ben", "cid", "dee", "eve", "fay"));
	told_len = 0;
	tick_after(300);
	EXPECT_TOLD("ann rahi; ");
}

Test(p2p_link_state, unreliable_ones_are_never_repeated)
{
	send_text("eve", UNRELIABLE, "hi");
	cr_expect_eq(p2p_link_due(p.room), 0);
	leave("ben");
	EXPECT_TOLD("ben p[5,2]hi; dee hi; gus p[0]hi; ");
}

Test(p2p_link_state, each_message_has_its_own_time)
{
	send_text("eve", RELIABLE, "a");
	now_ms += 100;
	send_text("fay", RELIABLE, "b");
	acks(1, LIST("ann", "ben", "dee", "fay", "gus"));
	acks(2, LIST("ann", "ben", "dee", "eve", "gus"));
	told_len = 0;
	cr_expect_eq(tick_after(200), now_ms + 300);
	EXPECT_TOLD("cid raa; ");
	cr_expect_eq(tick_after(300), now_ms + 4900);
	EXPECT_TOLD("cid rab; ");
	cr_expect_eq(tick_after(4900), now_ms + 5000);
	EXPECT_TOLD("eve done 1 -cid; ");
	cr_expect_eq(tick_after(5000), 0);
	EXPECT_TOLD("fay done 2 -cid; ");
}

/* Leaving */

Test(p2p_link_state, what_a_leader_that_leaves_had_comes_at_once)
{
	send_text("eve", RELIABLE, "hi");
	ack("fay", 1);
	told_len = 0;
	leave("ben");
	EXPECT_TOLD("cid rahi; ");
	tick_after(300);
	EXPECT_TOLD("ann rahi; ");
	acks(1, LIST("ann", "cid", "dee", "gus"));
	EXPECT_TOLD("eve done 1; ");
}

Test(p2p_link_state, what_a_replaced_leader_had_comes_at_once)
{
	send_text("eve", RELIABLE, "hi");
	acks(1, LIST("fay"));
	told_len = 0;
	lose("ben", "fay");
	lose("ben", "cid");
	cr_assert(p2p_groups_look(who("ben")->group));
	p2p_link_replaced(who("ben"), &host);
	EXPECT_TOLD("cid rahi; ");
	tick_after(4999);
	EXPECT_TOLD("ann rahi; ");
	acks(1, LIST("ann", "cid", "dee", "gus"));
	EXPECT_TOLD(""); /* ben is still here, and has not confirmed */
	ack("ben", 1);
	EXPECT_TOLD("eve done 1; ");
}

Test(p2p_link_state, who_leaves_is_not_waited_for)
{
	send_text("eve", RELIABLE, "hi");
	acks(1, LIST("ann", "ben", "dee", "fay", "gus"));
	told_len = 0;
	leave("cid");
	EXPECT_TOLD("eve done 1; ");
}

Test(p2p_link_state, a_sender_that_leaves_hears_nothing_but_its_message_is_still_repeated)
{
	send_text("eve", RELIABLE, "hi");
	acks(1, LIST("ann", "ben", "dee", "gus", "fay"));
	told_len = 0;
	leave("eve");
	EXPECT_TOLD("");
	tick_after(300);
	EXPECT_TOLD("cid rahi; ");
	ack("cid", 1);
	tick_after(5000);
	EXPECT_TOLD("");
	cr_expect_eq(p2p_link_due(p.room), 0);
}

Test(p2p_link_state, a_sender_that_leads_and_leaves_leaves_its_message_behind)
{
	send_text("gus", RELIABLE, "hi");
	told_len = 0;
	leave("gus");
	EXPECT_TOLD("ann rahi; eve rahi; ");
}

Test(p2p_link_state, who_comes_back_is_somebody_else)
{
	send_text("eve", RELIABLE, "hi");
	acks(1, LIST("ann", "ben", "dee", "fay", "gus"));
	leave("eve");
	p2p_people_join(&p, "eve", 95, P2P_NAT_SYMMETRIC);
	told_len = 0;
	ack("cid", 1);
	tick_after(5000);
	EXPECT_TOLD("");
}

/* Whatever happens */

Test(p2p_link_state, every_reliable_message_ends_once_and_reaches_everybody)
{
	size_t sent_count = 0, done_count = 0;

	dice_seed(1);
	for (int i = 0; i < 3000; i++) {
		struct p2p_member   *m = p.room->members[dice_below((uint32_t)p.room->count)];
		struct p2p_link_sent sent;
		uint32_t             number = (uint32_t)(sent_count > 20 ? sent_count - 20 : 0) + dice_below(22);

		told_len = 0;
		if (dice_below(3) == 0) {
			size_t before = frames;

			cr_assert_eq(try_send(&sent, m->uid, RELIABLE, "hi", 2), P2P_LINK_FINE);
			sent_count++;
			cr_assert_eq(sent.number, sent_count);
			cr_assert_eq(frames - before, sent.leaders + sent.straight);
		} else if (dice_below(20) == 0) {
			p2p_pair_say(m, p.room->members[dice_below((uint32_t)p.room->count)],
			             (enum p2p_pair_state)dice_below(4));
		} else if (dice_below(50) == 0) {
			cr_assert(p2p_groups_make(p.room, 1 + dice_below(8)));
		} else {
			ack(m->uid, number);
		}
		now_ms += dice_below(100);
		p2p_link_tick(p.room, &host, now_ms);
		for (const char *at = told; told_len && (at = strstr(at, " done ")); at++)
			done_count++;
		told[0] = '\0';
	}
	told_len = 0;
	tick_after(5000);
	told[told_len] = '\0';
	for (const char *at = told; told_len && (at = strstr(at, " done ")); at++)
		done_count++;
	cr_expect_eq(done_count, sent_count);
	cr_expect_eq(p2p_link_due(p.room), 0);
}

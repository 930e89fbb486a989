/*
 * Which outside addresses are remembered: for how long, and how many.
 */
#include "base/auto.h"
#include "p2p/p2p_inside.h"

#include <criterion/criterion.h>

#define SEEN_MS  300000
#define BEGIN_MS INT64_C(1000)
#define MAX      256

static struct p2p    p;
static struct limits limits;

static void prepare(void)
{
	limits.p2p_seen = MAX;
	p.seen          = p2p_seen_new(&limits, 1);
	cr_assert_not_null(p.seen);
}

static void finish(void)
{
	p2p_seen_free(p.seen);
}

TestSuite(p2p_seen, .init = prepare, .fini = finish);

static struct p2p_endpoint number(int n)
{
	return (struct p2p_endpoint){ .is_set = true, .ip = { 203, 0, 113, 14 }, .port = (uint16_t)(1024 + n) };
}

static void note(int n, int64_t in_ms)
{
	struct p2p_endpoint e = number(n);

	p2p_note_seen(&p, &e, BEGIN_MS + in_ms);
}

static bool was_seen(int n, int64_t in_ms)
{
	struct p2p_endpoint e = number(n);

	return p2p_was_seen(&p, &e, BEGIN_MS + in_ms);
}

Test(p2p_seen, an_address_is_remembered_for_three_hundred_seconds)
{
	note(0, 0);
	cr_expect(was_seen(0, SEEN_MS - 1));
	cr_expect_not(was_seen(0, SEEN_MS));
}

Test(p2p_seen, what_comes_again_is_remembered_from_then_on)
{
	note(0, 0);
	note(1, 1);
	note(0, 1000);
	cr_expect(was_seen(0, SEEN_MS + 999));
	cr_expect_not(was_seen(1, SEEN_MS + 999));
	cr_expect_not(was_seen(0, SEEN_MS + 1000));
}

Test(p2p_seen, another_port_and_another_address_are_others)
{
	struct p2p_endpoint e = number(0);

	note(0, 0);
	cr_expect_not(was_seen(1, 0));
	e.ip[3]++;
	cr_expect_not(p2p_was_seen(&p, &e, BEGIN_MS));
}

Test(p2p_seen, when_there_are_too_many_the_oldest_go)
{
	for (int i = 0; i < MAX; i++)
		note(i, i);
	cr_expect(was_seen(0, MAX));
	note(0, MAX); /* is not the oldest any more */
	note(MAX, MAX);
	cr_expect(was_seen(0, MAX));
	cr_expect_not(was_seen(1, MAX));
	for (int i = 2; i <= MAX; i++)
		cr_expect(was_seen(i, MAX), "%d", i);
}

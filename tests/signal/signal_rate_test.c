/*
 * How often an address, a /48 and all of TLS may connect.
 */
#include "signal/signal_rate.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct limits       limits;
static struct signal_rate *r;

static void start(void)
{
	limits_default(&limits);
	r = signal_rate_new(&limits, 1);
	cr_assert_not_null(r);
}

static void stop(void)
{
	signal_rate_free(r);
}

TestSuite(signal_rate, .init = start, .fini = stop);

static struct addr address(const char *text)
{
	struct addr a;

	cr_assert_eq(addr_parse(&a, text, strlen(text), false), ERR_OK, "%s", text);
	return a;
}

/* How many may come at this moment, of at most so many who want to. */
static int take(const char *text, bool is_tls, int want, int64_t now_ms)
{
	struct addr a     = text ? address(text) : (struct addr){ 0 };
	int         taken = 0;

	for (int i = 0; i < want; i++)
		taken += signal_rate_take(r, text ? &a : NULL, is_tls, now_ms);
	return taken;
}

Test(signal_rate, sixty_of_an_address_at_once_and_twenty_a_second)
{
	cr_expect_eq(take("192.0.2.1", false, 60, 1000), 60);
	cr_expect_eq(take("192.0.2.1", false, 1, 1000), 0, "one past it");
	cr_expect_eq(take("192.0.2.2", false, 1, 1000), 1);
	cr_expect_eq(take("192.0.2.1", false, 21, 2000), 20);
}

Test(signal_rate, a_48_has_eight_times_that)
{
	char text[64];

	for (int i = 0; i < 8; i++) {
		snprintf(text, sizeof(text), "2001:db8:0:%x::1", (unsigned)i);
		cr_expect_eq(take(text, false, 61, 1000), 60);
	}
	cr_expect_eq(take("2001:db8:0:ff::1", false, 1, 1000), 0, "one past it");
	cr_expect_eq(take("2001:db8:1::1", false, 1, 1000), 1);
	cr_expect_eq(take("2001:db8:0:fe::1", false, 60, 1500), 60);
}

Test(signal_rate, fifty_handshakes_a_second_in_all_and_the_address_comes_first)
{
	cr_expect_eq(take("192.0.2.1", false, 60, 1000), 60);
	cr_expect_eq(take("192.0.2.1", true, 50, 1000), 0, "these take nothing of what is for all");
	cr_expect_eq(take("192.0.2.2", true, 25, 1000), 25);
	cr_expect_eq(take("192.0.2.3", true, 26, 1000), 25);
	cr_expect_eq(take(NULL, true, 1, 1000), 0);
	cr_expect_eq(take("192.0.2.3", false, 1, 1000), 1);
	cr_expect_eq(take("192.0.2.4", true, 51, 2000), 50);
}

Test(signal_rate, who_is_exempt_has_no_rate_of_his_own)
{
	cr_expect_eq(take(NULL, false, 10000, 1000), 10000);
	cr_expect_eq(take(NULL, true, 51, 1000), 50);
}

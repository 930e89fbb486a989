/*
 * What the relay asks of net/tcp for its connections; that they get it is tested there, the rest in relay_*_test.c.
 */
#include "signal/signal_serve.h"

#include <criterion/criterion.h>

Test(signal_serve, connections_are_kept_alive_and_the_kernel_holds_little_for_them)
{
	static char          empty[] = "";
	struct conf          conf    = { .signal_token = empty, .signal_token_previous = empty };
	struct loop         *loop    = loop_new();
	struct signal_relay *r;

	limits_default(&conf.limits);
	cr_assert_eq(signal_new(&r, loop, &conf, "token"), ERR_OK);
	for (int is_tls = 0; is_tls < 2; is_tls++) {
		const struct tcp_listen *on = signal_listen(r, is_tls);

		cr_expect_eq(on->is_tls, is_tls);
		cr_expect_eq(on->sndbuf_bytes, 32768);
		cr_expect_eq(on->stall_ms, 120000);
		cr_expect_eq(on->keepalive_idle_s, 30);
		cr_expect_eq(on->keepalive_interval_s, 5);
		cr_expect_eq(on->keepalive_probes, 9);
	}
	signal_free(r);
	loop_free(loop);
}

/*
 * What a start tells people who try it: only what is there.
 */
#include "support/dial.h"
#include "support/server.h"

#include <criterion/criterion.h>

static struct server *s;

static void stop(void)
{
	server_finish(s);
}

TestSuite(greeting, .fini = stop, .timeout = 120);

/* Its last line is there, and so are those before it. */
static void start(const char *const *sets)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	s = server_prepare(sets);
	server_launch(s);
	while (!server_log_contains(s, "  - stop it:")) {
		cr_assert(server_is_running(s));
		cr_assert_lt(real_now_ms(), deadline_ms);
		real_sleep_ms(5);
	}
}

Test(greeting, it_says_where_everything_is)
{
	start(NULL);
	cr_expect(server_log_contains(s, "point a mod at ws://127.0.0.1:"));
	cr_expect(server_log_contains(s, "curl http://127.0.0.1:"));
	cr_expect(server_log_contains(s, "/v1/lobbies\n"));
	cr_expect(server_log_contains(s, "curl --unix-socket "));
}

Test(greeting, what_is_off_is_not_offered)
{
	start((const char *[]){ "http.enable=no", "tunnel.enable=no", NULL });
	cr_expect(server_log_contains(s, "coopd is running"));
	cr_expect_not(server_log_contains(s, "ws://"));
	cr_expect_not(server_log_contains(s, "curl http://"));
	cr_expect(server_log_contains(s, "curl --unix-socket "));
}

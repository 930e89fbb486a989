/*
 * Starts in production: what must be set, and that a start without it ends by saying so.
 */
#include "support/server.h"

#include <criterion/criterion.h>

static void expect_no_start(const char *set, const char *said)
{
	struct server *s = server_prepare((const char *[]){ "server.production=yes", set, NULL });

	server_launch(s);
	cr_expect_eq(server_await_exit(s, SERVER_READY_MS), 1, "%s", set);
	cr_expect(server_log_contains(s, said), "%s", set);
	cr_expect(server_log_contains(s, "openssl rand -hex 32"), "%s", set);
	server_finish(s);
}

Test(production, no_start_without_its_secrets)
{
	expect_no_start("turn.secret=", "COOP_TURN_SECRET");
	expect_no_start("signal.token= ", "COOP_SIGNALING_TOKEN");
}

Test(production, without_lobbies_and_signaling_no_secrets_are_needed)
{
	struct server *s = server_start((const char *[]){ "server.production=yes", "lobby.enable=no",
	                                                  "signal.enable=no", "turn.secret=", "signal.token=", NULL });

	server_finish(s);
}

#include "support/await.h"

#include "support/dial.h"

#include <criterion/criterion.h>

#include <stdlib.h>

#define LOOK_EVERY_MS 5

void await_log(const struct server *s, const char *text)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (!server_log_contains(s, text) && real_now_ms() < deadline_ms)
		real_sleep_ms(LOOK_EVERY_MS);
	cr_assert(server_log_contains(s, text), "the log does not say: %s", text);
}

void await_fds(const struct server *s, int count)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (server_fd_count(s) != count && real_now_ms() < deadline_ms)
		real_sleep_ms(LOOK_EVERY_MS);
	cr_assert_eq(server_fd_count(s), count, "%d descriptors, not %d", server_fd_count(s), count);
}

void use_plain_server(void)
{
	const char *plain = getenv("COOPD_PLAIN_BIN");

	cr_assert_not_null(plain, "COOPD_PLAIN_BIN must name the server that people run");
	setenv("COOPD_BIN", plain, 1);
}

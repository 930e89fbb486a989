/*
 * What the server promises is on the disk when it says so, and what is on the disk already is said without touching it:
 * traces of the whole server's calls, from the log of the database to the socket.
 */
#include "base/auto.h"
#include "support/faulty_server.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

/* Every call on the disk takes a moment, so that an answer that does not wait for the last one shows. */
#define CALL_MS 20

/* Long enough for a friend's place to be written at CALL_MS per call. */
static const char *const patient[] = { "limits.tunnel_keep_wait_ms=10000", NULL };

/* Of the part of the trace before the answer's first byte: a write to the log, and behind the last one a sync. */
static void expect_synced_before(const char *answer, const char *trace)
{
	const char *answered = strstr(trace, answer);
	const char *written = NULL, *synced = NULL;

	for (const char *at = trace; at < answered; at = strchr(at, '\n') + 1) {
		if (strncmp(at, FAULTY_LOG_WRITTEN, strlen(FAULTY_LOG_WRITTEN)) == 0)
			written = at;
		if (strncmp(at, FAULTY_LOG_SYNCED, strlen(FAULTY_LOG_SYNCED)) == 0)
			synced = at;
	}
	cr_expect(written && synced && written < synced, "before %s:\n%s", answer, trace);
}

Test(durable_answers, a_code_is_synced_before_its_player_is_told)
{
	struct faulty_server f;

	faulty_prepare(&f, NULL, NULL);
	faulty_start(&f);
	f.disk->delay_ms = CALL_MS;
	faulty_mark(&f);
	struct ws_client     *host  = host_open(f.server->tunnel_port, "A", NULL);
	AUTO(auto_free) char *trace = faulty_await_trace(&f, FAULTY_HOST_OPENED);

	expect_synced_before(FAULTY_HOST_OPENED, trace);
	ws_client_free(host);
	faulty_let_go(&f);
	server_finish(f.server);
}

Test(durable_answers, a_place_is_synced_before_friend_and_host_are_told)
{
	struct faulty_server f;
	uint32_t             code;

	faulty_prepare(&f, NULL, patient);
	faulty_start(&f);
	struct ws_client *host = host_open(f.server->tunnel_port, "A", &code);

	f.disk->delay_ms = CALL_MS;
	faulty_mark(&f);
	struct ws_client *friend = friend_join(f.server->tunnel_port, code, "visit", "B");

	host_expect_friend(host, 1, "B");
	AUTO(auto_free) char *told   = faulty_await_trace(&f, FAULTY_FRIEND_IS);
	AUTO(auto_free) char *joined = faulty_await_trace(&f, FAULTY_JOINED);

	expect_synced_before(FAULTY_FRIEND_IS, told);
	expect_synced_before(FAULTY_JOINED, joined);
	ws_client_free(friend);
	ws_client_free(host);
	faulty_let_go(&f);
	server_finish(f.server);
}

Test(durable_answers, while_the_disk_does_nothing_a_new_player_waits_and_what_is_kept_is_said_at_once)
{
	struct faulty_server f;
	uint32_t             code, again;
	struct pattern       opened;

	faulty_prepare(&f, NULL, NULL);
	faulty_start(&f);
	int               port   = f.server->tunnel_port;
	struct ws_client *host   = host_open(port, "A", &code);
	struct ws_client *friend = friend_join(port, code, "visit", "B");

	ws_client_free(host_open(port, "known", NULL));
	faulty_hold_disk(&f);
	faulty_mark(&f);

	/* A known host with a game and one without; a friend whose token the game knows. */
	ws_client_free(host);
	host = host_open(port, "A", &again);
	cr_expect_eq(again, code);
	host_expect_friend(host, 1, "B");
	struct ws_client *other = host_open(port, "known", NULL);

	ws_client_free(friend);
	friend = friend_join_state(port, code, "visit", "B", STATE_LOST);

	/* A new one hears nothing, for as long as it takes. */
	struct ws_client *fresh = ask_open(port, NULL, "new");

	ws_expect_nothing(fresh, 300);
	AUTO(auto_free) char *trace = faulty_trace(&f);

	cr_expect_null(strstr(trace, "sync "), "something was synced:\n%s", trace);

	faulty_let_go(&f);
	msg_host_opened(&opened, "new");
	ws_expect_pattern(fresh, &opened);
	ws_client_free(fresh);
	ws_client_free(other);
	ws_client_free(friend);
	ws_client_free(host);
	server_finish(f.server);
}

Test(durable_answers, a_known_player_is_told_without_a_sync_on_a_good_disk_too)
{
	struct faulty_server f;

	faulty_prepare(&f, NULL, NULL);
	faulty_start(&f);
	ws_client_free(host_open(f.server->tunnel_port, "A", NULL));
	faulty_mark(&f);
	struct ws_client     *host  = host_open(f.server->tunnel_port, "A", NULL);
	AUTO(auto_free) char *trace = faulty_await_trace(&f, FAULTY_HOST_OPENED);

	*strstr(trace, FAULTY_HOST_OPENED) = '\0';
	cr_expect_null(strstr(trace, "sync "), "before the answer:\n%s", trace);
	ws_client_free(host);
	server_finish(f.server);
}

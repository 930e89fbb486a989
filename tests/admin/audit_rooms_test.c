/*
 * Every action on rooms, boards and lobbies is in the audit trail, with how it ended.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/lobby_client.h"
#include "support/rooms_client.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TITLE "NPWR00860_00"
#define BOARD "boards/" TITLE "/7"

static struct server *s;

static void start(void)
{
	s = server_start(NULL);
}

static void stop(void)
{
	server_finish(s);
	s = NULL;
}

TestSuite(audit_rooms, .init = start, .fini = stop, .timeout = 120);

/* The target is the path; it is in the trail once, with this result. */
static void expect_audited(const char *method, const char *target, const char *body, const char *action,
                           const char *result)
{
	char path[200];

	snprintf(path, sizeof(path), "/admin/v1/%s", target);
	AUTO(rest_freep) struct http_result r = admin_ask(s, method, path, body);

	cr_expect_eq(r.status == 200, strcmp(result, "ok") == 0, "%s %s: %d", method, path, r.status);
	cr_expect_eq(admin_audited(s, action, target, result), 1, "%s %s %s", action, target, result);
}

Test(audit_rooms, every_action_is_in_the_trail)
{
	struct gamer *alice, *bob;
	uint64_t      room = gamer_meet(s, TITLE, &alice, &bob);
	char          target[100];

	gamer_score(alice, 7, 0, 1, NOTHING);
	snprintf(target, sizeof(target), "rooms/%" PRIu64 "/members/2", room);
	expect_audited("DELETE", target, NULL, "room.kick", "ok");
	snprintf(target, sizeof(target), "rooms/%" PRIu64, room);
	expect_audited("DELETE", target, NULL, "room.close", "ok");
	snprintf(target, sizeof(target), "rooms/players/%" PRIu32, bob->user_id);
	expect_audited("DELETE", target, NULL, "room.disconnect", "ok");
	expect_audited("DELETE", BOARD "/scores/alice", NULL, "score.remove", "ok");
	expect_audited("POST", BOARD "/csv", "name,score,comment,recorded_at\nx,1,,\n", "board.import", "ok");
	expect_audited("DELETE", BOARD, NULL, "board.reset", "ok");
	gamer_free(alice);
	gamer_free(bob);
}

Test(audit_rooms, a_removed_lobby_is_in_the_trail)
{
	struct master_host h;
	char               target[60];

	master_open(&h, s, "203.0.113.7", "");
	snprintf(target, sizeof(target), "lobbies/%s", h.id);
	expect_audited("DELETE", target, NULL, "lobby.remove", "ok");
}

Test(audit_rooms, so_is_what_was_not_possible)
{
	expect_audited("DELETE", "rooms/9", NULL, "room.close", "not_found");
	expect_audited("DELETE", "lobbies/0011223344556677", NULL, "lobby.remove", "not_found");
	expect_audited("DELETE", BOARD, NULL, "board.reset", "not_found");
	expect_audited("POST", BOARD "/csv", "x", "board.import", "invalid");
}

/* A dry run is none. */
Test(audit_rooms, a_dry_run_is_not)
{
	AUTO(rest_freep) struct http_result r = admin_ask(s, "DELETE", "/admin/v1/rooms/9?dry_run=true", NULL);

	cr_expect_eq(r.status, 404);
	cr_expect_eq(admin_audited(s, "room.close", NULL, NULL), 0);
}

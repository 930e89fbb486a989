/*
 * Lobbies while memory runs out: one that cannot be kept whole leaves nothing behind, and has a place once there is memory.
 */
#include "base/auto.h"
#include "lobby/lobby_state.h"
#include "lobby/lobby_wire.h"
#include "support/scarce.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define PIECES_MAX 100

Test(lobby_scarce, a_lobby_is_kept_whole_or_not_at_all)
{
	struct limits         limits;
	struct lobby_state    state;
	struct lobby_announce a = {
		.name = "Night shift", .game = "0.9.0n", .has_identity = true, .players_max = 4, .listed = true
	};
	struct lobby_newcomer c = { .announce = &a, .ip = "2001:db8::7", .made_ms = 1700000000000, .has_wide = true };
	struct lobby         *l = NULL, *pushed = NULL;
	enum lobby_refusal    r       = LOBBY_WELCOME;
	int                   refused = 0;

	limits_default(&limits);
	cr_assert_eq(lobby_state_init(&state, &limits, 1), ERR_OK);
	memset(c.session, 1, sizeof(c.session));
	memset(c.id, 2, sizeof(c.id));
	memset(c.addr, 3, sizeof(c.addr));
	memset(c.addr_wide, 4, sizeof(c.addr_wide));
	for (int n = 0; n < PIECES_MAX; n++) {
		scarce_after(n);
		r = lobby_announce(&l, &pushed, &state, &c, 1000);
		if (!scarce_end())
			break;
		refused++;
		cr_expect_neq(r, LOBBY_WELCOME, "piece %d", n);
		cr_expect_null(l);
		cr_expect_null(pushed);
		cr_expect_null(lobby_of_id(&state, c.id), "piece %d", n);
		cr_expect_eq(state.count, 0, "piece %d", n);
	}
	cr_expect_geq(refused, 6, "itself, by session, by id, two shares of two pieces each");
	cr_assert_eq(r, LOBBY_WELCOME);
	lobby_admit(&state, l);
	cr_expect_eq(lobby_of_id(&state, c.id), l);
	lobby_state_fini(&state);
}

Test(lobby_scarce, a_row_of_the_list_is_whole_or_there_is_none)
{
	struct lobby_row row = {
		.name = "Night shift", .world = "", .version = "", .game = "0.9.0n", .players = 1, .players_max = 4
	};
	size_t len = 0;

	for (int n = 0; n < 2; n++) {
		scarce_after(n);
		AUTO(auto_free) char *none = lobby_row_text(&len, &row);

		cr_expect(scarce_end());
		cr_expect_null(none, "piece %d", n);
	}

	AUTO(auto_free) char *text = lobby_row_text(&len, &row);

	cr_assert_not_null(text);
	cr_expect_eq(strlen(text), len);
	cr_expect(strstr(text, "\"links\":{"));
}

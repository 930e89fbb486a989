/*
 * Games while memory runs out: whatever piece is refused, there is no half of a game or of a place, and the next one who
 * asks gets it whole. And two questions that others ask about games.
 */
#include "support/scarce.h"
#include "support/world.h"

#include <criterion/criterion.h>
#include <string.h>

#define CODE       100000
#define PIECES_MAX 100

Test(tunnel_scarce, a_game_is_made_whole_or_not_at_all)
{
	int refused = 0;

	for (int n = 0; n < PIECES_MAX; n++) {
		struct world *w = world_new();

		scarce_after(n);
		world_open(w, "host", 1);
		bool was_refused = scarce_end();
		bool is_open     = strstr(said(w), "OPENED");

		cr_expect_eq(is_open, !was_refused, "piece %d", n);
		cr_expect_eq(w->state.game_count, is_open, "piece %d", n);
		world_open(w, "again", 1);
		cr_expect_not_null(strstr(said(w), "again: OPENED"), "piece %d", n);
		cr_expect_eq(w->state.game_count, 1);
		world_free(w);
		if (!was_refused)
			break;
		refused++;
	}
	cr_expect_gt(refused, 3, "his code, the game, its number, its address");
}

Test(tunnel_scarce, a_friend_has_a_place_or_none)
{
	struct world *w       = world_new();
	int           refused = 0;

	world_open(w, "host", 1);
	said(w);
	for (int n = 0; n < PIECES_MAX; n++) {
		scarce_after(n);
		world_join(w, "ann", CODE, 10, 1);
		if (!scarce_end())
			break;
		refused++;
		cr_expect_null(strstr(said(w), "JOINED"), "piece %d", n);
		cr_expect_eq(tunnel_find_game(&w->state, CODE)->friend_count, 0, "piece %d", n);
	}
	cr_expect_gt(refused, 0);
	cr_expect_not_null(strstr(said(w), "ann: JOINED"));
	world_free(w);
}

Test(tunnel_scarce, who_has_a_place_in_a_game)
{
	struct world *w                         = world_new();
	uint8_t       digest[CODE_DIGEST_BYTES] = { 0 };

	world_open(w, "host", 1);
	world_join(w, "ann", CODE, 10, 1);
	const struct tunnel_game *g = tunnel_find_game(&w->state, CODE);

	cr_expect_eq(tunnel_place_of(&w->state, CODE, g->entry->digest), TUNNEL_PLACE_HAS, "the host");
	memcpy(digest, g->friends[0]->id, TUNNEL_ID_BYTES);
	cr_expect_eq(tunnel_place_of(&w->state, CODE, digest), TUNNEL_PLACE_HAS, "the friend");
	digest[0] ^= 1;
	cr_expect_eq(tunnel_place_of(&w->state, CODE, digest), TUNNEL_PLACE_NONE);
	cr_expect_eq(tunnel_place_of(&w->state, CODE + 1, digest), TUNNEL_PLACE_NO_GAME);
	world_open_v1(w, "old", 0, false);
	const struct tunnel_conn *old = world_find(w, "old");
	cr_assert_not_null(old->game);
	cr_expect_eq(tunnel_place_of(&w->state, old->game->code, digest), TUNNEL_PLACE_NO_GAME,
	             "nobody is known there");
	world_free(w);
}

Test(tunnel_scarce, who_is_banned_while_his_code_is_kept_gets_none)
{
	struct world *w = world_new();

	w->sick = true;
	world_open(w, "host", 1);
	said(w);
	struct code_entry *entry = world_find(w, "host")->entry;

	cr_assert_not_null(entry->waiting);
	cr_expect_eq(tunnel_on_ban_opening(entry, NULL), 1, "would end");
	cr_expect_not_null(entry->waiting, "and nothing was done");
	cr_expect_eq(tunnel_on_ban_opening(entry, &w->acts), 1);
	world_do(w);
	cr_expect_not_null(strstr(said(w), "close host"));
	cr_expect_eq(tunnel_on_ban_opening(entry, &w->acts), 0, "nobody waits any more");
	world_kept_player(w, 1, ERR_OK);
	cr_expect_null(strstr(said(w), "OPENED"));
	world_free(w);
}

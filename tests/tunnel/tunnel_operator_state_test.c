/*
 * What operators do to games and codes, as the state decides it; and what goes through a game, counted.
 */
#include "support/world.h"
#include "tunnel/tunnel_state.h"

#include <criterion/criterion.h>

#define CODE 100000

static struct world *playing(void)
{
	struct world *w = world_new();

	world_open(w, "host", 1);
	world_join(w, "ann", CODE, 10, 1);
	world_join(w, "bob", CODE, 11, 2);
	said(w);
	return w;
}

static enum err kick(struct world *w, uint16_t number)
{
	enum err e = tunnel_on_kick(&w->state, CODE, number, &w->acts);

	world_do(w);
	return e;
}

static enum err may_free(struct world *w, uint8_t player)
{
	uint8_t  id[TUNNEL_ID_BYTES] = { player };
	uint32_t code;

	return tunnel_on_free_code(&w->state, id, &code);
}

static void freed(struct world *w, uint8_t player, enum err result)
{
	uint8_t id[TUNNEL_ID_BYTES] = { player };

	tunnel_on_code_freed(&w->state, id, result, w->now_ms, w->now_ms, &w->acts);
	world_do(w);
}

static enum err give(struct world *w, struct tunnel_give *g, const uint8_t *digest, uint32_t wanted)
{
	*g = (struct tunnel_give){ .digest = digest, .wanted = wanted };
	return tunnel_on_give_code(&w->state, g);
}

static enum err given(struct world *w, const struct tunnel_give *g, enum err result)
{
	enum err e = tunnel_on_code_given(&w->state, g, result, w->now_ms, w->now_ms, &w->acts);

	world_do(w);
	return e;
}

/* --- Games --- */

Test(tunnel_operator, a_closed_game_ends_for_all_and_its_code_stays)
{
	struct world *w = playing();

	cr_expect_eq(tunnel_on_close_game(&w->state, CODE + 1, &w->acts), ERR_NOT_FOUND);
	cr_expect_eq(tunnel_on_close_game(&w->state, CODE, &w->acts), ERR_OK);
	world_do(w);
	cr_expect_str_eq(said(w), "close host; ann: STATE 4; close ann; bob: STATE 4; close bob; forget game 100000");
	cr_expect_eq(tunnel_on_close_game(&w->state, CODE, &w->acts), ERR_NOT_FOUND);
	world_open(w, "host", 1);
	cr_expect_str_eq(said(w), "touch 1; keep game 100000; host: OPENED 100000");
	world_free(w);
}

Test(tunnel_operator, a_kicked_friend_is_told_and_his_token_counts_no_more)
{
	struct world *w = playing();

	cr_expect_eq(kick(w, 3), ERR_NOT_FOUND);
	cr_expect_eq(kick(w, 1), ERR_OK);
	cr_expect_str_eq(said(w), "ann: STATE 4; close ann; host: drop 1; host: FRIEND_GONE 1; forget friend 100000/1");
	cr_expect_eq(kick(w, 1), ERR_NOT_FOUND);
	world_join(w, "ann", CODE, 10, 1);
	cr_expect_eq(tunnel_find_game(&w->state, CODE)->friends[1]->number, 3, "another friend: %s", said(w));
	world_free(w);
}

Test(tunnel_operator, a_place_that_is_not_committed_is_no_place_yet)
{
	struct world *w = playing();

	w->sick = true;
	world_join(w, "cid", CODE, 12, 3);
	said(w);
	cr_expect_eq(kick(w, 3), ERR_NOT_FOUND);
	world_kept_friend(w, CODE, 3);
	said(w);
	cr_expect_eq(kick(w, 3), ERR_OK);
	world_free(w);
}

Test(tunnel_operator, a_host_who_is_away_hears_of_a_kick_when_he_is_back)
{
	struct world *w = playing();

	world_close(w, "host");
	world_close(w, "ann");
	said(w);
	cr_expect_eq(kick(w, 1), ERR_OK);
	cr_expect_str_eq(said(w), "forget friend 100000/1");
	world_open(w, "host", 1);
	cr_expect_str_eq(said(w), "touch 1; host: OPENED 100000; host: FRIEND_GONE 1; host: FRIEND_IS 2 player 11");
	world_free(w);
}

/* --- Freeing a code --- */

Test(tunnel_operator, a_freed_code_ends_the_game_and_is_anybodys)
{
	struct world *w = playing();

	cr_expect_eq(may_free(w, 2), ERR_NOT_FOUND);
	cr_expect_eq(may_free(w, 1), ERR_OK);
	cr_expect_eq(may_free(w, 1), ERR_BUSY, "one at a time");
	cr_expect_str_eq(said(w), "", "nothing before it is kept");
	freed(w, 1, ERR_OK);
	cr_expect_str_eq(said(w), "close host; ann: STATE 4; close ann; bob: STATE 4; close bob; forget game 100000");
	world_open(w, "other", 2);
	cr_expect_str_eq(said(w), "keep player 2; keep game 100000; other: OPENED 100000");
	world_free(w);
}

/* A touch would write the row again that is about to go. */
Test(tunnel_operator, nothing_touches_a_code_that_is_about_to_be_freed)
{
	struct world *w = world_new();

	world_open(w, "host", 1);
	said(w);
	cr_expect_eq(may_free(w, 1), ERR_OK);
	world_join(w, "ann", CODE, 10, 1);
	cr_expect_str_eq(said(w), "keep friend 100000/1; host: FRIEND_IS 1 player 10; ann: JOINED 2");
	world_open(w, "again", 1);
	cr_expect_str_eq(said(w), "", "he waits for the answer");
	freed(w, 1, ERR_OK);
	cr_expect_str_eq(said(w), "close host; ann: STATE 4; close ann; forget game 100000; close again");
	world_free(w);
}

Test(tunnel_operator, a_code_that_could_not_be_freed_stays_his)
{
	struct world *w = playing();

	cr_expect_eq(may_free(w, 1), ERR_OK);
	world_open(w, "again", 1);
	said(w);
	freed(w, 1, ERR_STORE);
	cr_expect_str_eq(said(w), "close host; again: OPENED 100000; again: FRIEND_IS 1 player 10; again: FRIEND_IS 2 "
	                          "player 11");
	cr_expect_eq(may_free(w, 1), ERR_OK);
	world_free(w);
}

Test(tunnel_operator, a_code_that_is_being_drawn_or_changed_is_not_freed)
{
	struct world *w = world_new();

	w->sick = true;
	world_open(w, "host", 1);
	cr_expect_eq(may_free(w, 1), ERR_BUSY);
	world_kept_player(w, 1, ERR_OK);
	cr_expect_eq(world_new_code(w, 1), 100001);
	cr_expect_eq(may_free(w, 1), ERR_BUSY);
	world_free(w);
}

/* --- Giving a code --- */

Test(tunnel_operator, a_given_code_ends_the_game_under_the_old_one)
{
	struct world      *w                       = playing();
	uint8_t            one[CODE_DIGEST_BYTES]  = { 1, [30] = 9 };
	uint8_t            like[CODE_DIGEST_BYTES] = { 1, [30] = 9, [31] = 1 };
	struct tunnel_give g;

	cr_expect_eq(give(w, &g, like, 222222), ERR_NOT_FOUND, "another key with the same beginning");
	cr_expect_eq(give(w, &g, one, 222222), ERR_OK);
	cr_expect(g.from == CODE && g.to == 222222);
	cr_expect_str_eq(said(w), "");
	cr_expect_eq(given(w, &g, ERR_OK), ERR_OK);
	cr_expect_str_eq(said(w), "close host; ann: STATE 4; close ann; bob: STATE 4; close bob; forget game 100000");
	world_open(w, "host", 1);
	cr_expect_str_eq(said(w), "touch 1; keep game 222222; host: OPENED 222222");
	cr_expect_eq(give(w, &g, one, 222222), ERR_OK, "his own");
	cr_expect(g.from == g.to);
	cr_expect_eq(give(w, &g, one, CODE), ERR_OK, "the old one is free");
	cr_expect_eq(given(w, &g, ERR_BUSY), ERR_BUSY);
	cr_expect_eq(tunnel_find_game(&w->state, 222222)->code, 222222);
	world_free(w);
}

Test(tunnel_operator, a_taken_code_is_given_to_nobody)
{
	struct world *w                      = playing();
	uint8_t       one[CODE_DIGEST_BYTES] = { 1, [30] = 9 };
	uint8_t new[CODE_DIGEST_BYTES]       = { 7, [30] = 9 };
	struct tunnel_give g, first;

	world_open(w, "other", 2);
	said(w);
	cr_expect_eq(give(w, &g, one, 100001), ERR_EXISTS);
	cr_expect_eq(give(w, &g, new, 100001), ERR_EXISTS);
	cr_expect_eq(give(w, &g, new, 100002), ERR_OK);
	cr_expect(g.from == 0 && g.to == 100002);
	first = g;
	cr_expect_eq(give(w, &g, one, 100002), ERR_EXISTS, "already while it is being written");
	cr_expect_eq(give(w, &g, new, 100003), ERR_BUSY);
	world_open(w, "new", 7);
	cr_expect_str_eq(said(w), "", "he waits");
	cr_expect_eq(given(w, &first, ERR_BUSY), ERR_BUSY);
	cr_expect_eq(give(w, &g, one, 100002), ERR_OK, "free again");
	world_free(w);
}

Test(tunnel_operator, a_first_code_is_there_for_who_waits)
{
	struct world *w                = world_new();
	uint8_t new[CODE_DIGEST_BYTES] = { 7, [30] = 9 };
	struct tunnel_give g;

	cr_expect_eq(give(w, &g, new, 0), ERR_OK);
	cr_expect(g.from == 0 && g.to == CODE);
	world_open(w, "new", 7);
	cr_expect_eq(given(w, &g, ERR_OK), ERR_OK);
	cr_expect_str_eq(said(w), "keep game 100000; new: OPENED 100000");
	world_free(w);
}

Test(tunnel_operator, trying_changes_nothing)
{
	struct world      *w                      = playing();
	uint8_t            one[CODE_DIGEST_BYTES] = { 1, [30] = 9 }, new[CODE_DIGEST_BYTES] = { 7, [30] = 9 };
	struct tunnel_give g = { .digest = one };
	uint32_t           code;

	cr_expect_eq(tunnel_may_give_code(&w->state, &g), ERR_OK);
	cr_expect(g.from == CODE && g.to == 0);
	g = (struct tunnel_give){ .digest = new, .wanted = CODE };
	cr_expect_eq(tunnel_may_give_code(&w->state, &g), ERR_EXISTS);
	cr_expect_eq(tunnel_may_free_code(&w->state, one, &code), ERR_OK);
	cr_expect_eq(tunnel_may_free_code(&w->state, new, &code), ERR_NOT_FOUND);
	cr_expect_eq(code_free_count(&w->state.codes), CODE_COUNT - 1);
	cr_expect_eq(may_free(w, 1), ERR_OK, "nothing was begun");
	world_free(w);
}

/* --- Counting --- */

static void send_up(struct world *w, const char *name, size_t len, bool sent)
{
	struct tunnel_route r = tunnel_route_up(&w->state, world_find(w, name), len, w->now_ms);

	tunnel_on_routed(&r, TUNNEL_UP, len, sent && r.to);
}

static void send_down(struct world *w, uint16_t number, size_t len)
{
	struct tunnel_route r = tunnel_route_down(&w->state, world_find(w, "host"), number, len, w->now_ms);

	tunnel_on_routed(&r, TUNNEL_DOWN, len, r.to != NULL);
}

static struct tunnel_sum sum_of(struct world *w)
{
	struct tunnel_sum sum;

	tunnel_game_sum(&sum, tunnel_find_game(&w->state, CODE), w->now_ms);
	return sum;
}

Test(tunnel_operator, every_datagram_is_counted_once_with_its_reason)
{
	struct world     *w = playing();
	struct tunnel_sum sum;

	send_up(w, "ann", 100, true);
	send_up(w, "ann", 50, false);
	send_up(w, "bob", 1501, true);
	send_down(w, 1, 10);
	send_down(w, 9, 10);
	send_down(w, 2, 4094);
	world_close(w, "bob");
	send_down(w, 2, 10);
	tunnel_on_lost(world_find(w, "host"), 5);
	tunnel_on_lost(world_find(w, "ann"), 7);
	world_close(w, "host");
	send_up(w, "ann", 1, true);
	sum = sum_of(w);
	cr_expect(sum.flow[TUNNEL_UP].datagrams == 1 && sum.flow[TUNNEL_UP].bytes == 100);
	cr_expect(sum.flow[TUNNEL_DOWN].datagrams == 1 && sum.flow[TUNNEL_DOWN].bytes == 10);
	cr_expect_eq(sum.dropped[TUNNEL_UP][TUNNEL_DROP_SLOW], 6);
	cr_expect_eq(sum.dropped[TUNNEL_UP][TUNNEL_DROP_SIZE], 1);
	cr_expect_eq(sum.dropped[TUNNEL_UP][TUNNEL_DROP_AWAY], 1);
	cr_expect_eq(sum.dropped[TUNNEL_DOWN][TUNNEL_DROP_UNKNOWN], 1);
	cr_expect_eq(sum.dropped[TUNNEL_DOWN][TUNNEL_DROP_SIZE], 1);
	cr_expect_eq(sum.dropped[TUNNEL_DOWN][TUNNEL_DROP_AWAY], 1);
	cr_expect_eq(sum.dropped[TUNNEL_DOWN][TUNNEL_DROP_SLOW], 7);
	kick(w, 1);
	kick(w, 2);
	cr_expect_eq(sum_of(w).flow[TUNNEL_UP].bytes, 100, "also of those who are gone");
	cr_expect_eq(sum_of(w).dropped[TUNNEL_DOWN][TUNNEL_DROP_SLOW], 7);
	world_free(w);
}

Test(tunnel_operator, a_rate_is_that_since_the_tick_before_the_last)
{
	struct world *w = playing();

	world_pass(w, 5000, NULL);
	world_pass(w, 5000, NULL);
	cr_expect_eq(sum_of(w).rate[TUNNEL_UP], 0);
	for (int i = 0; i < 50; i++)
		send_up(w, "ann", 1000, true);
	cr_expect_eq(sum_of(w).rate[TUNNEL_UP], 50000 * 1000 / 5000);
	cr_expect_eq(sum_of(w).rate[TUNNEL_DOWN], 0);
	world_pass(w, 5000, NULL);
	cr_expect_eq(sum_of(w).rate[TUNNEL_UP], 50000 * 1000 / 5000);
	world_pass(w, 5000, NULL);
	cr_expect_eq(sum_of(w).rate[TUNNEL_UP], 0);
	world_free(w);
}

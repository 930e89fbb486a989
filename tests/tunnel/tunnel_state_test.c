/*
 * Hosts, friends and games: what is said to whom, event by event.
 */
#include "tunnel/tunnel_state.h"

#include "base/auto.h"
#include "support/world.h"

#include <criterion/criterion.h>
#include <string.h>

#define CODE 100000 /* the first one drawn in a world */

static const char *const nobody[] = { NULL };

/* A host of player 1 with the code CODE; what was said about it is forgotten. */
static struct world *hosted(void)
{
	struct world *w = world_new();

	world_open(w, "host", 1);
	said(w);
	return w;
}

/* The same with the friend "ann", player 10, number 1, token 1. */
static struct world *playing(void)
{
	struct world *w = hosted();

	world_join(w, "ann", CODE, 10, 1);
	said(w);
	return w;
}

/* Opening */

Test(tunnel_state, a_new_player_gets_his_code_only_after_it_is_kept)
{
	struct world *w = world_new();

	w->sick = true;
	world_open(w, "host", 1);
	cr_expect_str_eq(said(w), "keep player 1");
	world_kept_player(w, 1, ERR_OK);
	cr_expect_str_eq(said(w), "keep game 100000; host: OPENED 100000");
	world_free(w);
}

Test(tunnel_state, a_known_player_is_answered_from_memory)
{
	struct world *w = hosted();

	world_close(w, "host");
	w->sick = true;
	world_open(w, "host", 1);
	cr_expect_str_eq(said(w), "touch 1; host: OPENED 100000");
	world_free(w);
}

Test(tunnel_state, two_requests_for_one_new_player_end_in_one_code_for_the_newer)
{
	struct world *w = world_new();

	w->sick = true;
	world_open(w, "old", 1);
	world_open(w, "new", 1);
	cr_expect_str_eq(said(w), "keep player 1; close old");
	world_kept_player(w, 1, ERR_OK);
	cr_expect_str_eq(said(w), "keep game 100000; new: OPENED 100000");
	world_free(w);
}

Test(tunnel_state, a_code_that_cannot_be_kept_is_given_to_nobody_after_a_failed_commit)
{
	struct world *w = world_new();

	w->sick = true;
	world_open(w, "host", 1);
	world_kept_player(w, 1, ERR_BUSY);
	cr_expect_str_eq(said(w), "keep player 1; close host");
	world_open(w, "host", 1);
	cr_expect_eq(world_find(w, "host")->entry->code, CODE, "never written: free again");
	world_kept_player(w, 1, ERR_STORE);
	world_open(w, "host", 1);
	cr_expect_eq(world_find(w, "host")->entry->code, CODE + 1, "perhaps written: not given again");
	world_free(w);
}

Test(tunnel_state, a_host_who_left_before_his_code_was_kept_has_it_the_next_time)
{
	struct world *w = world_new();

	w->sick = true;
	world_open(w, "host", 1);
	world_close(w, "host");
	world_kept_player(w, 1, ERR_OK);
	cr_expect_str_eq(said(w), "keep player 1");
	world_open(w, "again", 1);
	cr_expect_str_eq(said(w), "touch 1; keep game 100000; again: OPENED 100000");
	world_free(w);
}

Test(tunnel_state, an_address_without_new_players_left_gets_a_fault_but_known_players_do_not)
{
	struct world *w = hosted();

	w->new_full = true;
	world_open(w, "stranger", 2);
	cr_expect_str_eq(said(w), "stranger: FAULT 1; close stranger");
	world_open(w, "again", 1);
	cr_expect_str_eq(said(w), "touch 1; close host; again: OPENED 100000");
	world_free(w);
}

Test(tunnel_state, another_key_with_the_same_id_is_refused)
{
	struct world      *w                         = hosted();
	uint8_t            digest[CODE_DIGEST_BYTES] = { 1, [31] = 99 };
	struct tunnel_open open                      = { .digest = digest, .may_be_new = true, .now_ms = w->now_ms };

	tunnel_on_open(&w->state, world_conn(w, "thief"), &open, &w->acts);
	cr_assert_eq(w->acts.count, 2);
	cr_expect_eq(w->acts.list[0].msg.fault, 1);
	cr_expect_eq(w->acts.list[1].what, TUNNEL_ACT_CLOSE);
	world_free(w);
}

Test(tunnel_state, the_fifth_game_of_an_address_is_refused_and_has_used_a_code)
{
	struct world *w = world_new();

	for (uint8_t player = 1; player <= 4; player++)
		world_open(w, "host", player);
	said(w);
	world_open(w, "fifth", 5);
	cr_expect_str_eq(said(w), "keep player 5; fifth: FAULT 1; close fifth");
	cr_expect_eq(w->state.codes.taken_count, 5);
	w->addr = 2;
	world_open(w, "elsewhere", 5);
	cr_expect_str_eq(said(w), "touch 5; keep game 100004; elsewhere: OPENED 100004");
	world_free(w);
}

Test(tunnel_state, a_game_counts_for_the_address_that_made_it_until_it_ends)
{
	struct world *w = world_new();

	for (uint8_t player = 1; player <= 4; player++)
		world_open(w, "host", player);
	world_close(w, "host"); /* the last one, player 4 */
	w->addr = 2;
	world_open(w, "moved", 4);
	w->addr = 1;
	world_open(w, "fifth", 5);
	said(w);
	world_pass(w, 1000, nobody);
	world_open(w, "fifth", 5);
	cr_expect_str_eq(said(w), "touch 5; fifth: FAULT 1; close fifth");
	world_close(w, "moved");
	world_pass(w, 45001, nobody);
	world_open(w, "fifth", 5);
	cr_expect_str_eq(said(w), "forget game 100003; touch 5; keep game 100004; fifth: OPENED 100004");
	world_free(w);
}

Test(tunnel_state, all_games_taken_is_a_fault)
{
	struct world *w = world_new();

	w->limits.tunnel_games = 2;
	tunnel_state_fini(&w->state);
	tunnel_state_init(&w->state, &w->limits, 1);
	world_open(w, "a", 1);
	world_open(w, "b", 2);
	said(w);
	world_open(w, "c", 3);
	cr_expect_str_eq(said(w), "keep player 3; c: FAULT 1; close c");
	world_free(w);
}

Test(tunnel_state, the_newest_connection_of_a_key_takes_the_game_over_and_friends_notice_nothing)
{
	struct world *w = playing();

	world_open(w, "newer", 1);
	cr_expect_str_eq(said(w), "touch 1; close host; newer: OPENED 100000; newer: FRIEND_IS 1 player 10");
	world_close(w, "host");
	cr_expect_str_eq(said(w), "", "the old connection's end means nothing");
	world_free(w);
}

/* States */

Test(tunnel_state, states_of_the_host_reach_friends_when_they_change)
{
	struct world *w = playing();

	world_state(w, "host", TUNNEL_READY);
	cr_expect_str_eq(said(w), "", "it was ready already");
	world_state(w, "host", TUNNEL_RESTARTING);
	cr_expect_str_eq(said(w), "ann: STATE 1");
	for (unsigned state = 0; state < 256; state++)
		if (state != TUNNEL_RESTARTING && state != TUNNEL_READY)
			world_state(w, "host", (uint8_t)state);
	world_state(w, "ann", TUNNEL_READY);
	cr_expect_str_eq(said(w), "", "nobody else says states, and no others are said");
	world_state(w, "host", TUNNEL_READY);
	cr_expect_str_eq(said(w), "ann: STATE 2");
	world_free(w);
}

Test(tunnel_state, a_lost_host_who_comes_back_stays_lost_until_he_says_a_state)
{
	struct world *w = playing();

	world_close(w, "host");
	cr_expect_str_eq(said(w), "ann: STATE 3");
	world_join(w, "bob", CODE, 11, 2);
	cr_expect_str_eq(said(w), "keep friend 100000/2; bob: JOINED 3");
	world_open(w, "host", 1);
	cr_expect_str_eq(said(w), "touch 1; host: OPENED 100000; host: FRIEND_IS 1 player 10; "
	                          "host: FRIEND_IS 2 player 11");
	world_join(w, "cid", CODE, 12, 3);
	cr_expect_str_eq(said(w), "keep friend 100000/3; host: FRIEND_IS 3 player 12; cid: JOINED 3");
	world_state(w, "host", TUNNEL_READY);
	cr_expect_str_eq(said(w), "ann: STATE 2; bob: STATE 2; cid: STATE 2");
	world_free(w);
}

Test(tunnel_state, states_said_too_often_are_held_and_the_last_one_is_taken_up_later)
{
	struct world *w = playing();

	for (int i = 0; i < 10; i++) {
		world_state(w, "host", TUNNEL_RESTARTING);
		world_state(w, "host", TUNNEL_READY);
	}
	said(w);
	world_state(w, "host", TUNNEL_RESTARTING);
	cr_expect_str_eq(said(w), "", "the 21st within 10 s");
	world_pass(w, 9999, nobody);
	cr_expect_str_eq(said(w), "");
	world_pass(w, 1, nobody);
	cr_expect_str_eq(said(w), "ann: STATE 1");
	world_free(w);
}

/* Joining */

Test(tunnel_state, a_new_friend_is_announced_and_joined_only_after_his_place_is_kept)
{
	struct world *w = hosted();

	w->sick = true;
	world_join(w, "ann", CODE, 10, 1);
	cr_expect_str_eq(said(w), "touch 1; keep friend 100000/1");
	world_kept_friend(w, CODE, 1);
	cr_expect_str_eq(said(w), "host: FRIEND_IS 1 player 10; ann: JOINED 2");
	world_kept_friend(w, CODE, 1);
	cr_expect_str_eq(said(w), "", "a second answer means nothing");
	world_free(w);
}

Test(tunnel_state, while_a_place_is_not_kept_the_friend_is_nobody_to_the_game)
{
	struct world *w = hosted();

	w->sick = true;
	world_join(w, "ann", CODE, 10, 1);
	said(w);
	world_state(w, "host", TUNNEL_RESTARTING);
	cr_expect_str_eq(said(w), "", "JOINED has to come first, and carries the state");
	world_open(w, "newer", 1);
	cr_expect_str_eq(said(w), "touch 1; close host; newer: OPENED 100000");
	world_kept_friend(w, CODE, 1);
	cr_expect_str_eq(said(w), "newer: FRIEND_IS 1 player 10; ann: JOINED 1");
	world_free(w);
}

Test(tunnel_state, joining_what_is_not_there_is_a_fault)
{
	struct world *w = hosted();

	world_join(w, "ann", CODE + 1, 10, 1);
	cr_expect_str_eq(said(w), "ann: FAULT 3; close ann");
	world_join_v1(w, "bob", CODE & 0xffff, 1);
	cr_expect_str_eq(said(w), "bob: FAULT 3; close bob");
	world_open_v1(w, "old-host", 0, false);
	said(w);
	world_join(w, "cid", TUNNEL_CODE_V1_MIN, 10, 1);
	cr_expect_str_eq(said(w), "cid: FAULT 3; close cid", "versions are never crossed");
	world_free(w);
}

Test(tunnel_state, eight_friends_fit_absent_ones_included_and_a_ninth_does_not)
{
	static const char *const names[] = { "", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8" };
	struct world            *w       = hosted();

	for (uint8_t i = 1; i <= 8; i++) {
		w->addr = i;
		world_join(w, names[i], CODE, (uint8_t)(100 + i), i);
	}
	cr_expect(strstr(said(w), "f8: JOINED 2"));
	world_close(w, "f3");
	w->addr = 9;
	world_join(w, "ninth", CODE, 109, 9);
	cr_expect_str_eq(said(w), "ninth: FAULT 4; close ninth");
	world_join(w, "f3", CODE, 103, 3);
	cr_expect_str_eq(said(w), "f3: JOINED 2", "a known token has its place");
	world_free(w);
}

Test(tunnel_state, a_player_has_two_seats_in_a_game_and_an_address_as_many_as_set)
{
	struct world *w = hosted();

	w->limits.tunnel_seats_per_address = 3;
	world_join(w, "a", CODE, 10, 1);
	world_join(w, "b", CODE, 10, 2);
	said(w);
	world_join(w, "c", CODE, 10, 3);
	cr_expect_str_eq(said(w), "c: FAULT 4; close c");
	world_join(w, "d", CODE, 11, 4);
	said(w);
	world_join(w, "e", CODE, 12, 5);
	cr_expect_str_eq(said(w), "e: FAULT 4; close e");
	w->addr = 2;
	world_join(w, "f", CODE, 12, 6);
	cr_expect_str_eq(said(w), "keep friend 100000/4; host: FRIEND_IS 4 player 12; f: JOINED 2");
	world_free(w);
}

Test(tunnel_state, a_known_token_gets_its_number_back_and_the_host_is_told_nothing)
{
	struct world *w = playing();

	world_join(w, "ann2", CODE, 99, 1);
	cr_expect_str_eq(said(w), "close ann; ann2: JOINED 2", "whatever key came this time");
	world_close(w, "ann2");
	world_join(w, "ann3", CODE, 10, 1);
	cr_expect_str_eq(said(w), "ann3: JOINED 2");
	cr_expect_eq(world_find(w, "ann3")->friend->number, 1);
	cr_expect_eq(world_find(w, "ann3")->friend->id[0], 10, "the id told first stays");
	world_free(w);
}

Test(tunnel_state, a_token_of_zeros_is_a_token_and_none_is_not)
{
	struct world *w = world_new();

	world_open_v1(w, "host", 0, false);
	world_join_v1(w, "a", TUNNEL_CODE_V1_MIN, 0);
	world_join_v1(w, "b", TUNNEL_CODE_V1_MIN, 0);
	cr_expect_eq(world_find(w, "a")->friend->number, 1);
	cr_expect_eq(world_find(w, "b")->friend->number, 2, "without a token everybody is new");
	world_free(w);
}

Test(tunnel_state, numbers_count_up_wrap_to_1_and_skip_those_in_use)
{
	struct world *w = playing();

	tunnel_find_game(&w->state, CODE)->next_number = UINT16_MAX;
	world_join(w, "b", CODE, 11, 2);
	world_join(w, "c", CODE, 12, 3);
	cr_expect_eq(world_find(w, "b")->friend->number, UINT16_MAX);
	cr_expect_eq(world_find(w, "c")->friend->number, 2, "0 is no number, 1 is ann's");
	world_free(w);
}

/* Waits, at the limit and one past */

static const char *const ann_silent[]  = { "ann", NULL };
static const char *const host_silent[] = { "host", NULL };

Test(tunnel_state, a_lost_friend_keeps_his_place_for_20_seconds)
{
	struct world *w = playing();

	world_close(w, "ann");
	cr_expect_str_eq(said(w), "");
	world_pass(w, 19999, nobody);
	cr_expect_str_eq(said(w), "");
	world_pass(w, 1, nobody);
	cr_expect_str_eq(said(w), "host: drop 1; host: FRIEND_GONE 1; forget friend 100000/1");
	world_join(w, "ann", CODE, 10, 1);
	cr_expect_str_eq(said(w), "keep friend 100000/2; host: FRIEND_IS 2 player 10; ann: JOINED 2");
	world_free(w);
}

Test(tunnel_state, a_silent_friend_is_dropped_after_60_seconds)
{
	struct world *w = playing();

	world_pass(w, 59999, ann_silent);
	cr_expect_str_eq(said(w), "");
	world_pass(w, 1, ann_silent);
	cr_expect_str_eq(said(w), "close ann; host: drop 1; host: FRIEND_GONE 1; forget friend 100000/1");
	world_free(w);
}

Test(tunnel_state, candidates_are_no_sign_of_life)
{
	static const uint8_t paths[10] = { 1 };
	struct world        *w         = playing();

	world_pass(w, 59999, ann_silent);
	tunnel_on_paths_up(&w->state, world_find(w, "ann"), paths, sizeof(paths), w->now_ms, &w->acts);
	world_pass(w, 1, ann_silent);
	cr_expect(strstr(said(w), "close ann"));
	world_free(w);
}

Test(tunnel_state, a_silent_host_counts_as_lost_after_45_seconds)
{
	struct world *w = playing();

	world_pass(w, 44999, host_silent);
	cr_expect_str_eq(said(w), "");
	world_pass(w, 1, host_silent);
	cr_expect_str_eq(said(w), "close host; ann: STATE 3");
	world_close(w, "host");
	cr_expect_str_eq(said(w), "");
	world_free(w);
}

Test(tunnel_state, connected_friends_wait_300_seconds_for_their_host)
{
	struct world *w = playing();

	world_close(w, "host");
	said(w);
	world_pass(w, 300000, nobody);
	cr_expect_str_eq(said(w), "", "more than 300 s");
	world_pass(w, 1, nobody);
	cr_expect_str_eq(said(w), "ann: STATE 4; close ann; forget game 100000");
	cr_expect_null(tunnel_find_game(&w->state, CODE));
	world_open(w, "host", 1);
	cr_expect_str_eq(said(w), "touch 1; keep game 100000; host: OPENED 100000", "a new game under the old code");
	world_free(w);
}

Test(tunnel_state, a_game_without_connected_friends_waits_45_seconds)
{
	struct world *w = hosted();

	world_close(w, "host");
	world_pass(w, 45000, nobody);
	cr_expect_not_null(tunnel_find_game(&w->state, CODE));
	world_pass(w, 1, nobody);
	cr_expect_null(tunnel_find_game(&w->state, CODE));
	cr_expect_str_eq(said(w), "forget game 100000");
	world_free(w);
}

Test(tunnel_state, which_wait_applies_is_decided_at_each_look)
{
	struct world *w = playing();

	world_close(w, "host");
	world_pass(w, 100000, nobody);
	said(w);
	world_close(w, "ann");
	world_pass(w, 1, nobody);
	cr_expect_str_eq(said(w), "forget game 100000", "the last waiting friend left after 45 s");
	world_open(w, "host", 1);
	world_close(w, "host");
	world_pass(w, 44000, nobody);
	world_join(w, "late", CODE, 12, 3);
	world_pass(w, 200000, nobody);
	cr_expect_not_null(tunnel_find_game(&w->state, CODE), "a friend within the 45 s makes it 300 s");
	world_free(w);
}

Test(tunnel_state, friends_dropped_while_the_host_was_away_are_told_before_those_who_play)
{
	struct world *w = playing();

	world_join(w, "bob", CODE, 11, 2);
	world_close(w, "host");
	world_close(w, "ann");
	world_pass(w, 20000, nobody);
	said(w);
	world_open(w, "host", 1);
	cr_expect_str_eq(said(w), "touch 1; host: OPENED 100000; host: FRIEND_GONE 1; host: FRIEND_IS 2 player 11");
	world_open(w, "again", 1);
	cr_expect_str_eq(said(w), "touch 1; close host; again: OPENED 100000; again: FRIEND_IS 2 player 11",
	                 "told once");
	world_free(w);
}

Test(tunnel_state, many_games_are_looked_at_in_several_helpings)
{
	struct world *w = world_new();

	w->limits.tunnel_games_per_address = 100;
	for (uint8_t player = 1; player <= 50; player++)
		world_open(w, "host", player);
	for (size_t i = 0; i < w->conn_count; i++)
		tunnel_on_closed(&w->state, &w->conns[i], w->now_ms, &w->acts);
	world_pass(w, 45001, nobody);
	cr_expect_eq(w->state.game_count, 0);
	world_free(w);
}

/* Candidates */

Test(tunnel_state, candidates_are_cut_and_a_friends_last_ones_are_repeated_to_a_returning_host)
{
	static const uint8_t paths[100] = { 1 };
	struct world        *w          = playing();

	tunnel_on_paths_up(&w->state, world_find(w, "ann"), paths, 100, w->now_ms, &w->acts);
	tunnel_on_paths_down(&w->state, world_find(w, "host"), 1, paths, 100, w->now_ms, &w->acts);
	tunnel_on_paths_down(&w->state, world_find(w, "host"), 2, paths, 100, w->now_ms, &w->acts);
	world_pass(w, 1, nobody);
	cr_expect_str_eq(said(w), "host: PATHS 1 of 63; ann: PATHS of 61");
	world_close(w, "host");
	tunnel_on_paths_up(&w->state, world_find(w, "ann"), paths, 15, w->now_ms, &w->acts);
	world_open(w, "host", 1);
	cr_expect_str_eq(said(w), "ann: STATE 3; touch 1; host: OPENED 100000; host: FRIEND_IS 1 player 10; "
	                          "host: PATHS 1 of 15");
	world_free(w);
}

Test(tunnel_state, the_21st_candidates_within_10_seconds_are_ignored)
{
	static const uint8_t paths[10] = { 1 };
	struct world        *w         = playing();
	struct tunnel_conn  *ann       = world_find(w, "ann");

	for (int i = 0; i < 20; i++)
		cr_expect(tunnel_on_paths_up(&w->state, ann, paths, sizeof(paths), w->now_ms, &w->acts));
	cr_expect_not(tunnel_on_paths_up(&w->state, ann, paths, sizeof(paths), w->now_ms + 9999, &w->acts));
	cr_expect(tunnel_on_paths_up(&w->state, ann, paths, sizeof(paths), w->now_ms + 10000, &w->acts));
	cr_expect_eq(w->acts.count, 21);
	world_free(w);
}

/* Protocol 1 */

Test(tunnel_state, protocol_1_gives_the_old_code_when_free_and_else_the_lowest)
{
	struct world *w = world_new();

	w->limits.tunnel_games_per_address = 100;
	world_open_v1(w, "a", 64150, false);
	world_open_v1(w, "b", 64150, false);
	world_open_v1(w, "c", 0, false);
	world_open_v1(w, "d", 123456, false);
	cr_expect_str_eq(said(w), "keep game 64150; a: OPENED 64150; keep game 64101; b: OPENED 64101; keep game "
	                          "64102; c: OPENED 64102; keep game 64103; d: OPENED 64103");
	for (int i = 4; i < 64; i++) {
		w->conn_count = 4; /* their connections are not looked at again */
		world_open_v1(w, "e", 0, false);
	}
	said(w);
	world_open_v1(w, "f", 0, false);
	cr_expect_str_eq(said(w), "f: FAULT 1; close f", "all 64 are taken");
	world_free(w);
}

Test(tunnel_state, a_protocol_1_host_comes_back_by_code_and_secret_when_his_connection_is_gone)
{
	struct world *w = world_new();

	world_open_v1(w, "host", 0, false);
	world_join_v1(w, "ann", TUNNEL_CODE_V1_MIN, 1);
	said(w);
	world_open_v1(w, "early", TUNNEL_CODE_V1_MIN, true);
	cr_expect_str_eq(said(w), "keep game 64102; early: OPENED 64102",
	                 "the old connection is still there: no takeover");
	world_close(w, "host");
	cr_expect_str_eq(said(w), "", "friends are told nothing");
	world_join_v1(w, "bob", TUNNEL_CODE_V1_MIN, 2);
	cr_expect_str_eq(said(w), "bob: FAULT 3; close bob", "nobody joins while the host is away");
	world_open_v1(w, "wrong", TUNNEL_CODE_V1_MIN, false);
	cr_expect_str_eq(said(w), "keep game 64103; wrong: OPENED 64103");
	world_open_v1(w, "host", TUNNEL_CODE_V1_MIN, true);
	cr_expect_str_eq(said(w), "host: OPENED 64101", "and no FRIEND_IS");
	world_free(w);
}

Test(tunnel_state, a_protocol_1_game_ends_after_45_seconds_and_friends_hear_it)
{
	struct world *w = world_new();

	world_open_v1(w, "host", 0, false);
	world_join_v1(w, "ann", TUNNEL_CODE_V1_MIN, 1);
	world_close(w, "host");
	said(w);
	world_pass(w, 45000, nobody);
	cr_expect_str_eq(said(w), "");
	world_pass(w, 1, nobody);
	cr_expect_str_eq(said(w), "ann: STATE 4; close ann; forget game 64101");
	world_free(w);
}

/* After a start */

Test(tunnel_state, what_was_kept_comes_back_lost_with_its_friends_and_numbers)
{
	struct world           *w                                = world_new();
	uint8_t                 digest[CODE_DIGEST_BYTES]        = { 1, [30] = 9 };
	uint8_t                 addr[TUNNEL_ADDR_BYTES]          = { 1 };
	uint8_t                 token[TUNNEL_TOKEN_DIGEST_BYTES] = { 7 };
	uint8_t                 id[TUNNEL_ID_BYTES]              = { 10 };
	struct tunnel_kept_game kept = { .code = 555555, .version = 2, .next_number = 9, .id = digest, .addr = addr };
	struct tunnel_kept_friend friend = { .code = 555555, .number = 5, .token = token, .id = id, .addr = addr };

	cr_expect_eq(tunnel_load_game(&w->state, &kept, w->now_ms), ERR_NOT_FOUND, "a game without its player");
	cr_assert_eq(code_load(&w->state.codes, digest, 555555, true), ERR_OK);
	cr_assert_eq(tunnel_load_game(&w->state, &kept, w->now_ms), ERR_OK);
	cr_assert_eq(tunnel_load_friend(&w->state, &friend, w->now_ms), ERR_OK);
	cr_expect_eq(tunnel_load_friend(&w->state, &friend, w->now_ms), ERR_EXISTS);
	friend.code = 555556;
	cr_expect_eq(tunnel_load_friend(&w->state, &friend, w->now_ms), ERR_NOT_FOUND);

	world_join(w, "ann", 555555, 10, 7);
	cr_expect_str_eq(said(w), "ann: JOINED 3", "the friend comes back before the host");
	world_join(w, "bob", 555555, 11, 8);
	cr_expect_str_eq(said(w), "keep friend 555555/9; bob: JOINED 3");
	world_open(w, "host", 1);
	cr_expect_str_eq(said(w), "touch 1; host: OPENED 555555; host: FRIEND_IS 5 player 10; "
	                          "host: FRIEND_IS 9 player 11");
	world_free(w);
}

Test(tunnel_state, a_swept_player_is_forgotten_but_not_one_who_plays)
{
	struct world *w           = hosted();
	uint8_t       digests[64] = { 1, [32] = 2 };

	world_open(w, "other", 2);
	world_close(w, "other");
	world_pass(w, 45001, nobody);
	said(w);
	tunnel_on_players_removed(&w->state, digests, 2, &w->acts);
	world_pass(w, 1, nobody);
	cr_expect_str_eq(said(w), "touch 1", "his row is written again");
	cr_expect_not_null(code_find(&w->state.codes, digests));
	cr_expect_null(code_find(&w->state.codes, digests + 32));
	world_free(w);
}

/* Another code */

Test(tunnel_state, a_new_code_ends_the_game_under_the_old_one_when_it_is_kept)
{
	struct world *w = world_new();

	world_open(w, "host", 1);
	world_join(w, "ann", 100000, 10, 1);
	world_join(w, "bob", 100000, 11, 2);
	world_close(w, "bob");
	said(w);
	cr_expect_eq(world_new_code(w, 1), 100001);
	cr_expect_str_eq(said(w), "", "nothing before it is kept");
	cr_expect_eq(world_new_code(w, 1), 0, "one at a time");
	cr_expect_eq(world_kept_new_code(w, 1, 100001, ERR_OK), ERR_OK);
	cr_expect_str_eq(said(w), "close host; ann: STATE 4; close ann; forget game 100000");
	world_close(w, "host");
	world_close(w, "ann");
	said(w);
	world_open(w, "host", 1);
	cr_expect_str_eq(said(w), "touch 1; keep game 100001; host: OPENED 100001");
	world_open(w, "other", 2);
	cr_expect_str_eq(said(w), "keep player 2; keep game 100000; other: OPENED 100000", "the old one is free again");
	world_free(w);
}

Test(tunnel_state, who_has_no_code_gets_no_other)
{
	struct world *w                        = world_new();
	uint8_t       like1[CODE_DIGEST_BYTES] = { 1, [30] = 9, [31] = 1 };
	uint32_t      from, to;

	cr_expect_eq(world_new_code(w, 1), 0);
	w->sick = true;
	world_open(w, "host", 1);
	cr_expect_eq(world_new_code(w, 1), 0, "nor who is about to get his first");
	world_kept_player(w, 1, ERR_OK);
	cr_expect_eq(tunnel_on_new_code(&w->state, like1, 0, &from, &to), ERR_NOT_FOUND, "nor another key");
	cr_expect_eq(world_new_code(w, 1), 100001);
	world_free(w);
}

Test(tunnel_state, a_new_code_that_is_not_kept_changes_nothing)
{
	struct world *w = world_new();

	world_open(w, "host", 1);
	said(w);
	cr_expect_eq(world_new_code(w, 1), 100001);
	cr_expect_eq(world_kept_new_code(w, 1, 100001, ERR_BUSY), ERR_BUSY);
	cr_expect_eq(world_new_code(w, 1), 100001, "it is free again");
	cr_expect_eq(world_kept_new_code(w, 1, 100001, ERR_STORE), ERR_STORE);
	cr_expect_eq(world_new_code(w, 1), 100002, "nobody knows whose it is");
	cr_expect_eq(world_kept_new_code(w, 1, 100001, ERR_OK), ERR_NOT_FOUND, "an answer to another question");
	cr_expect_str_eq(said(w), "");
	world_free(w);
}

Test(tunnel_state, a_player_who_is_swept_meanwhile_leaves_no_code_behind)
{
	struct world *w           = world_new();
	uint8_t       digests[32] = { 1 };

	world_open(w, "host", 1);
	world_close(w, "host");
	world_pass(w, 45001, nobody);
	cr_expect_eq(world_new_code(w, 1), 100001);
	tunnel_on_players_removed(&w->state, digests, 1, &w->acts);
	cr_expect_eq(world_kept_new_code(w, 1, 100001, ERR_OK), ERR_NOT_FOUND);
	cr_expect_eq(code_free_count(&w->state.codes), CODE_COUNT);
	world_free(w);
}

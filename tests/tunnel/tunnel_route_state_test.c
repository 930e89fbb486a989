/*
 * Where datagrams go, and the budget of a game shared fairly.
 */
#include "support/world.h"
#include "tunnel/tunnel_state.h"

#include <criterion/criterion.h>

#define CODE 100000

static struct world *playing(size_t friends)
{
	static const char *const names[] = { "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8" };
	struct world            *w       = world_new();

	world_open(w, "host", 1);
	for (size_t i = 0; i < friends; i++)
		world_join(w, names[i], CODE, (uint8_t)(10 + i), (uint8_t)(1 + i));
	said(w);
	return w;
}

static struct tunnel_route up(struct world *w, const char *friend, size_t len)
{
	return tunnel_route_up(&w->state, world_find(w, friend), len, w->now_ms);
}

static struct tunnel_route down(struct world *w, uint16_t number, size_t len)
{
	return tunnel_route_down(&w->state, world_find(w, "host"), number, len, w->now_ms);
}

Test(tunnel_route, a_friends_datagram_goes_to_the_host_with_his_number_and_back)
{
	struct world *w = playing(2);

	cr_expect_eq(up(w, "f2", 100).to, world_find(w, "host"));
	cr_expect_eq(up(w, "f2", 100).number, 2);
	cr_expect_eq(down(w, 1, 100).to, world_find(w, "f1"));
	cr_expect_eq(up(w, "f1", 0).to, world_find(w, "host"), "an empty datagram is a datagram");
	world_free(w);
}

Test(tunnel_route, only_friends_send_up_and_only_hosts_send_down)
{
	struct world *w         = playing(1);
	struct tunnel_conn *new = world_conn(w, "new");

	cr_expect_null(tunnel_route_up(&w->state, new, 10, w->now_ms).to);
	cr_expect_null(tunnel_route_down(&w->state, new, 1, 10, w->now_ms).to);
	cr_expect_null(tunnel_route_up(&w->state, world_find(w, "host"), 10, w->now_ms).to);
	cr_expect_null(tunnel_route_down(&w->state, world_find(w, "f1"), 1, 10, w->now_ms).to);
	world_free(w);
}

Test(tunnel_route, too_long_datagrams_are_dropped_and_cost_nothing)
{
	struct world *w = playing(1);

	cr_expect_not_null(up(w, "f1", 1500).to);
	cr_expect_eq(up(w, "f1", 1501).why, M_TUNNEL_DROPPED_SIZE);
	cr_expect_not_null(down(w, 1, 4093).to);
	cr_expect_eq(down(w, 1, 4094).why, M_TUNNEL_DROPPED_SIZE);
	cr_expect_eq(tunnel_find_game(&w->state, CODE)->budget[TUNNEL_UP].bytes, 2000000 - 1500);
	world_free(w);
}

Test(tunnel_route, nobody_there_uses_no_budget_but_an_absent_friend_does)
{
	struct world             *w = playing(1);
	const struct tunnel_game *g = tunnel_find_game(&w->state, CODE);

	cr_expect_eq(down(w, 7, 1000).why, M_TUNNEL_DROPPED_UNKNOWN);
	cr_expect_eq(g->budget[TUNNEL_DOWN].bytes, 2000000);
	world_close(w, "f1");
	cr_expect_eq(down(w, 1, 1000).why, M_TUNNEL_DROPPED_AWAY);
	cr_expect_eq(g->budget[TUNNEL_DOWN].bytes, 1999000);
	world_join(w, "f1", CODE, 10, 1);
	world_close(w, "host");
	cr_expect_eq(up(w, "f1", 1000).why, M_TUNNEL_DROPPED_AWAY);
	cr_expect_eq(g->budget[TUNNEL_UP].bytes, 2000000);
	world_free(w);
}

static int send_until_dropped(struct world *w, const char *friend, size_t len, enum metric *why)
{
	for (int sent = 0;; sent++) {
		struct tunnel_route r = up(w, friend, len);

		cr_assert_lt(sent, 100000);
		if (!r.to) {
			*why = r.why;
			return sent;
		}
	}
}

Test(tunnel_route, a_game_may_send_two_million_bytes_at_once_and_as_many_in_a_second)
{
	struct world *w = playing(1);
	enum metric   why;

	cr_expect_eq(send_until_dropped(w, "f1", 1000, &why), 2000);
	cr_expect_eq(why, M_TUNNEL_DROPPED_BUDGET);
	w->now_ms += 1;
	cr_expect_eq(send_until_dropped(w, "f1", 1000, &why), 2);
	w->now_ms += 1000;
	cr_expect_eq(send_until_dropped(w, "f1", 1000, &why), 1000 + 1000, "a second fills it");
	w->now_ms += 3600000;
	cr_expect_eq(send_until_dropped(w, "f1", 1000, &why), 2000, "an hour fills it no further");
	world_free(w);
}

Test(tunnel_route, the_two_directions_and_two_games_have_budgets_of_their_own)
{
	struct world *w = playing(1);
	enum metric   why;

	world_open(w, "other", 2);
	world_join(w, "x", CODE + 1, 20, 1);
	send_until_dropped(w, "f1", 1000, &why);
	cr_expect_not_null(down(w, 1, 1000).to);
	cr_expect_not_null(up(w, "x", 1000).to);
	world_free(w);
}

Test(tunnel_route, a_small_datagram_counts_as_64_bytes)
{
	struct world *w = playing(1);
	enum metric   why;

	cr_expect_eq(send_until_dropped(w, "f1", 1, &why), 2000000 / 64);
	w->now_ms += 1;
	cr_expect_eq(send_until_dropped(w, "f1", 0, &why), 2000 / 64);
	world_free(w);
}

/* One friend sends all he can, 100 times a frame; the other 60 datagrams a second. */
static void flood(size_t flood_len)
{
	struct world *w       = playing(2);
	int           arrived = 0;

	for (int tick = 0; tick < 600; tick++) { /* ten seconds */
		for (int i = 0; i < 1000; i++)
			up(w, "f1", flood_len);
		arrived += up(w, "f2", 200).to != NULL;
		w->now_ms += tick % 3 == 2 ? 16 : 17;
	}
	cr_expect_eq(arrived, 600, "beside a flood of %zu bytes", flood_len);
	world_free(w);
}

Test(tunnel_route, a_flooding_friend_leaves_the_others_their_share)
{
	flood(0);
	flood(1);
	flood(1500);
}

Test(tunnel_route, below_half_a_friend_has_his_equal_share_only)
{
	struct world *w = playing(4);
	enum metric   why;

	cr_expect_eq(send_until_dropped(w, "f1", 1000, &why), 1000 + 250);
	cr_expect_eq(why, M_TUNNEL_DROPPED_SHARE);
	cr_expect_eq(send_until_dropped(w, "f2", 1000, &why), 250);
	w->now_ms += 1000;
	cr_expect_eq(tunnel_find_game(&w->state, CODE)->budget[TUNNEL_UP].bytes, 500000);
	world_free(w);
}

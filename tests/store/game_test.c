/*
 * Live games and friends: what is put comes back.
 */
#include "store/game.h"

#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <string.h>

#define ROWS_MAX 16

struct games {
	struct game_row   games[ROWS_MAX];
	struct friend_row friends[ROWS_MAX];
	size_t            game_count, friend_count;
};

static enum err add_game(const struct game_row *row, void *arg)
{
	struct games *g = arg;

	g->games[g->game_count++] = *row;
	return ERR_OK;
}

static enum err add_friend(const struct friend_row *row, void *arg)
{
	struct games *g = arg;

	g->friends[g->friend_count++] = *row;
	return ERR_OK;
}

static struct games load(struct db *db)
{
	struct games g = { 0 };

	cr_assert_eq(game_each(db, add_game, &g), ERR_OK);
	cr_assert_eq(friend_each(db, add_friend, &g), ERR_OK);
	return g;
}

static const struct game_row new_game = {
	.code        = 123456,
	.version     = 2,
	.player      = { 1, 2, 3, 4, 5, 6, 7, 8 },
	.addr        = { 0xaa },
	.next_number = 3,
	.made_ms     = 1700000000000,
};

static const struct game_row old_game = {
	.code        = 64101,
	.version     = 1,
	.secret      = { 9, 9, 9 },
	.addr        = { 0xbb },
	.next_number = 65535,
	.made_ms     = 1700000000001,
};

static struct friend_row friend_of(uint32_t code, uint16_t number, int64_t joined_ms)
{
	return (struct friend_row){
		.code      = code,
		.number    = number,
		.token     = { (uint8_t)number, 0xcc },
		.player    = { 8, 7, 6, 5, 4, 3, 2, 1 },
		.addr      = { 0xdd },
		.joined_ms = joined_ms,
	};
}

static void expect_same_game(const struct game_row *a, const struct game_row *b)
{
	cr_expect_eq(a->code, b->code);
	cr_expect_eq(a->version, b->version);
	cr_expect_arr_eq(a->player, b->player, sizeof(a->player));
	cr_expect_arr_eq(a->secret, b->secret, sizeof(a->secret));
	cr_expect_arr_eq(a->addr, b->addr, sizeof(a->addr));
	cr_expect_eq(a->next_number, b->next_number);
	cr_expect_eq(a->made_ms, b->made_ms);
}

Test(game, both_versions_come_back_as_they_were)
{
	struct db *db = data_open_db();

	cr_assert_eq(game_put(db, &new_game), ERR_OK);
	cr_assert_eq(game_put(db, &old_game), ERR_OK);

	struct games g = load(db);
	cr_assert_eq(g.game_count, 2);
	expect_same_game(&g.games[0], &old_game);
	expect_same_game(&g.games[1], &new_game);
	db_close(db);
}

Test(game, putting_it_again_updates_it_and_keeps_its_friends)
{
	struct db      *db       = data_open_db();
	struct game_row game     = new_game;
	struct friend_row friend = friend_of(123456, 1, 5);

	cr_assert_eq(game_put(db, &game), ERR_OK);
	cr_assert_eq(friend_put(db, &friend), ERR_OK);
	game.next_number = 9;
	memset(game.addr, 0xee, sizeof(game.addr));
	cr_assert_eq(game_put(db, &game), ERR_OK);

	struct games g = load(db);
	cr_assert_eq(g.game_count, 1);
	expect_same_game(&g.games[0], &game);
	cr_expect_eq(g.friend_count, 1);
	db_close(db);
}

Test(game, another_game_under_the_code_replaces_it_with_its_friends)
{
	struct db      *db       = data_open_db();
	struct game_row game     = new_game;
	struct friend_row friend = friend_of(123456, 1, 5);

	cr_assert_eq(game_put(db, &game), ERR_OK);
	cr_assert_eq(friend_put(db, &friend), ERR_OK);
	game.made_ms++;
	cr_assert_eq(game_put(db, &game), ERR_OK);

	struct games g = load(db);
	cr_assert_eq(g.game_count, 1);
	cr_expect_eq(g.games[0].made_ms, game.made_ms);
	cr_expect_eq(g.friend_count, 0);
	db_close(db);
}

Test(game, removing_it_removes_its_friends_and_nobody_elses)
{
	struct db        *db    = data_open_db();
	struct friend_row mine  = friend_of(123456, 1, 5);
	struct friend_row other = friend_of(64101, 1, 5);

	game_put(db, &new_game);
	game_put(db, &old_game);
	friend_put(db, &mine);
	friend_put(db, &other);
	cr_expect_eq(game_remove(db, 123456), ERR_OK);
	cr_expect_eq(game_remove(db, 123456), ERR_OK, "a second time is fine");

	struct games g = load(db);
	cr_expect_eq(g.game_count, 1);
	cr_assert_eq(g.friend_count, 1);
	cr_expect_eq(g.friends[0].code, 64101);
	db_close(db);
}

Test(game, friends_come_back_in_the_order_they_joined)
{
	struct db        *db        = data_open_db();
	struct friend_row friends[] = { friend_of(123456, 7, 30), friend_of(123456, 2, 10), friend_of(123456, 5, 20),
		                        friend_of(123456, 4, 20) };
	static const int  order[]   = { 2, 4, 5, 7 };

	game_put(db, &new_game);
	for (size_t i = 0; i < COUNT_OF(friends); i++)
		cr_assert_eq(friend_put(db, &friends[i]), ERR_OK);

	struct games g = load(db);
	cr_assert_eq(g.friend_count, COUNT_OF(order));
	for (size_t i = 0; i < COUNT_OF(order); i++)
		cr_expect_eq(g.friends[i].number, order[i]);
	cr_expect_arr_eq(g.friends[0].token, friends[1].token, GAME_TOKEN_BYTES);
	cr_expect_arr_eq(g.friends[0].player, friends[1].player, PLAYER_ID_BYTES);
	cr_expect_arr_eq(g.friends[0].addr, friends[1].addr, PLAYER_ADDR_BYTES);
	db_close(db);
}

Test(game, a_friend_of_the_same_number_is_replaced)
{
	struct db        *db    = data_open_db();
	struct friend_row first = friend_of(123456, 1, 5), second = friend_of(123456, 1, 6);

	second.token[5] = 0x55;
	game_put(db, &new_game);
	cr_assert_eq(friend_put(db, &first), ERR_OK);
	cr_assert_eq(friend_put(db, &second), ERR_OK);

	struct games g = load(db);
	cr_assert_eq(g.friend_count, 1);
	cr_expect_eq(g.friends[0].token[5], 0x55);
	cr_expect_eq(g.friends[0].joined_ms, 6);

	cr_expect_eq(friend_remove(db, 123456, 1), ERR_OK);
	cr_expect_eq(friend_remove(db, 123456, 1), ERR_OK, "a second time is fine");
	cr_expect_eq(load(db).friend_count, 0);
	db_close(db);
}

Test(game, a_friend_needs_a_game)
{
	struct db *db            = data_open_db();
	struct friend_row friend = friend_of(123456, 1, 5);

	cr_expect_eq(friend_put(db, &friend), ERR_NOT_FOUND);
	db_close(db);
}

/* Protocol 1 friends have no id, whatever stands in the struct. */
Test(game, a_friend_of_a_version_1_game_has_no_player)
{
	struct db *db            = data_open_db();
	struct friend_row friend = friend_of(64101, 1, 5);
	static const uint8_t none[PLAYER_ID_BYTES];

	game_put(db, &old_game);
	cr_assert_eq(friend_put(db, &friend), ERR_OK);
	cr_expect_arr_eq(load(db).friends[0].player, none, PLAYER_ID_BYTES);
	cr_expect_eq(data_ask(db, "SELECT player IS NULL FROM live_friends"), 1);
	db_close(db);
}

static enum err stop_at_first(const struct game_row *row, void *arg)
{
	size_t *calls = arg;

	(void)row;
	(*calls)++;
	return ERR_LIMIT;
}

Test(game, each_stops_at_the_first_error_and_can_be_asked_again)
{
	struct db *db    = data_open_db();
	size_t     calls = 0;

	game_put(db, &new_game);
	game_put(db, &old_game);
	cr_expect_eq(game_each(db, stop_at_first, &calls), ERR_LIMIT);
	cr_expect_eq(calls, 1);
	cr_expect_eq(load(db).game_count, 2);
	db_close(db);
}

Test(game, a_row_that_cannot_be_is_refused)
{
	struct db      *db    = data_open_db();
	struct game_row wrong = new_game;

	wrong.code = 64101; /* a protocol 1 code */
	cr_expect_eq(game_put(db, &wrong), ERR_INTERNAL);
	wrong.code = 99999;
	cr_expect_eq(game_put(db, &wrong), ERR_INTERNAL);
	db_close(db);
}

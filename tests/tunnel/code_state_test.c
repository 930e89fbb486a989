/*
 * The directory of players and the drawing of codes.
 */
#include "tunnel/code_state.h"

#include <criterion/criterion.h>
#include <string.h>

static struct code_state codes; /* 112 KiB: not for the stack */

static void digest_of(uint8_t out[CODE_DIGEST_BYTES], uint32_t n)
{
	memset(out, 0, CODE_DIGEST_BYTES);
	memcpy(out, &n, sizeof(n));
}

static struct code_entry *draw(uint32_t player, uint32_t random)
{
	uint8_t            digest[CODE_DIGEST_BYTES];
	struct code_entry *e = NULL;

	digest_of(digest, player);
	cr_assert_eq(code_draw(&e, &codes, digest, random), ERR_OK);
	return e;
}

static enum err load(uint32_t player, uint32_t code)
{
	uint8_t digest[CODE_DIGEST_BYTES];

	digest_of(digest, player);
	return code_load(&codes, digest, code, false);
}

Test(code_state, the_smallest_and_largest_random_number_draw_the_first_and_last_free_code)
{
	code_init(&codes, 1);
	cr_expect_eq(draw(1, 0)->code, TUNNEL_CODE_MIN);
	cr_expect_eq(draw(2, UINT32_MAX)->code, TUNNEL_CODE_MAX);
	cr_expect_eq(draw(3, 0)->code, TUNNEL_CODE_MIN + 1, "a taken code is not drawn");
	cr_expect_eq(code_free_count(&codes), CODE_COUNT - 3);
	code_fini(&codes);
}

Test(code_state, a_drawn_code_is_pending_and_found_by_the_players_id)
{
	code_init(&codes, 1);
	struct code_entry *e = draw(7, 12345);
	uint8_t            digest[CODE_DIGEST_BYTES];

	digest_of(digest, 7);
	cr_expect(e->pending);
	cr_expect_eq(code_find(&codes, digest), e);
	cr_expect_eq(code_draw(&e, &codes, digest, 0), ERR_EXISTS, "a player has one code");
	code_fini(&codes);
}

Test(code_state, a_removed_players_code_is_free_again_unless_it_is_to_be_kept)
{
	code_init(&codes, 1);
	code_remove(&codes, draw(1, 0), false);
	cr_expect_eq(draw(2, 0)->code, TUNNEL_CODE_MIN);

	uint8_t digest[CODE_DIGEST_BYTES];

	digest_of(digest, 2);
	code_remove(&codes, code_find(&codes, digest), true);
	cr_expect_eq(draw(3, 0)->code, TUNNEL_CODE_MIN + 1);
	code_fini(&codes);
}

Test(code_state, loading_refuses_what_does_not_fit)
{
	code_init(&codes, 1);
	cr_expect_eq(load(1, TUNNEL_CODE_MIN - 1), ERR_MALFORMED);
	cr_expect_eq(load(1, TUNNEL_CODE_MAX + 1), ERR_MALFORMED);
	cr_expect_eq(load(1, TUNNEL_CODE_MAX), ERR_OK);
	cr_expect_eq(load(2, TUNNEL_CODE_MAX), ERR_EXISTS, "two players, one code");
	cr_expect_eq(load(1, TUNNEL_CODE_MIN), ERR_EXISTS, "one player, two codes");
	cr_expect_eq(code_free_count(&codes), CODE_COUNT - 1);
	code_fini(&codes);
}

/* Stands for "drawing costs the same however full": a search that tried one code after another would not end in time. */
Test(code_state, every_code_can_be_drawn_and_then_none, .timeout = 60)
{
	static uint8_t     seen[CODE_COUNT];
	uint32_t           random = 2463534242u;
	struct code_entry *e      = NULL;
	uint8_t            digest[CODE_DIGEST_BYTES];

	code_init(&codes, 1);
	for (uint32_t i = 0; i < CODE_COUNT; i++) {
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		e = draw(i, random);
		cr_assert(e->code >= TUNNEL_CODE_MIN && e->code <= TUNNEL_CODE_MAX);
		cr_assert_eq(seen[e->code - TUNNEL_CODE_MIN]++, 0, "code %u was given twice", e->code);
	}
	cr_expect_eq(code_free_count(&codes), 0);
	digest_of(digest, CODE_COUNT);
	cr_expect_eq(code_draw(&e, &codes, digest, random), ERR_NO_ROOM);
	code_fini(&codes);
}

Test(code_state, a_player_gets_another_code_and_the_old_one_is_free)
{
	code_init(&codes, 1);
	struct code_entry *e = draw(1, 0);

	cr_expect_eq(code_redraw(&codes, e, 0), ERR_BUSY, "the first is not his yet");
	e->pending = false;
	e->joined  = true;
	cr_expect_eq(code_redraw(&codes, e, UINT32_MAX), ERR_OK);
	cr_expect_eq(e->next_code, TUNNEL_CODE_MAX);
	cr_expect_eq(code_free_count(&codes), CODE_COUNT - 2, "both are taken while it is undecided");
	cr_expect_eq(code_redraw(&codes, e, 0), ERR_BUSY);
	code_redrawn(&codes, e, true, false);
	cr_expect_eq(e->code, TUNNEL_CODE_MAX);
	cr_expect_not(e->joined);
	cr_expect_eq(draw(2, 0)->code, TUNNEL_CODE_MIN);
	code_fini(&codes);
}

/* Of one who was imported only the id is known. */
Test(code_state, the_first_key_with_an_imported_id_is_the_players)
{
	uint8_t open[CODE_DIGEST_BYTES] = { 1, 2, 3 }, key[CODE_DIGEST_BYTES] = { 1, 2, 3, [20] = 5 };
	uint8_t later[CODE_DIGEST_BYTES] = { 1, 2, 3, [31] = 6 }, else_id[CODE_DIGEST_BYTES] = { 1, 2, 4, [20] = 5 };

	code_init(&codes, 1);
	cr_assert_eq(code_load(&codes, open, 123456, true), ERR_OK);
	struct code_entry *e = code_find(&codes, key);
	cr_assert_not_null(e);
	cr_expect_not(code_is_whose_key(e, else_id));
	cr_expect(code_is_whose(e, key));
	cr_expect(code_is_whose(e, later), "looking alone decides nothing");
	cr_expect(code_is_whose_key(e, key));
	cr_expect_not(code_is_whose_key(e, later));
	cr_expect_not(code_is_whose(e, later));
	cr_expect(code_is_whose(e, open), "as the database has it for a moment longer");
	cr_expect_arr_eq(e->digest, key, sizeof(key));
	code_fini(&codes);
}

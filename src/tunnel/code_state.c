/*
 * The directory of players and their codes; the header explains the bitmap.
 */
#include "tunnel/code_state.h"

#include <assert.h>
#include <string.h>

static bool is_taken(const struct code_state *s, uint32_t index)
{
	return s->taken[index / 64] >> (index % 64) & 1;
}

static void set_taken(struct code_state *s, uint32_t index, bool taken)
{
	uint64_t bit = (uint64_t)1 << (index % 64);

	assert(is_taken(s, index) != taken);
	s->taken[index / 64] ^= bit;
	if (taken) {
		s->taken_in[index / CODE_BLOCK_CODES]++;
		s->taken_count++;
	} else {
		s->taken_in[index / CODE_BLOCK_CODES]--;
		s->taken_count--;
	}
}

/* Codes that exist in a block: the last one is not full. */
static uint32_t block_codes(uint32_t block)
{
	uint32_t left = CODE_COUNT - block * CODE_BLOCK_CODES;

	return left < CODE_BLOCK_CODES ? left : CODE_BLOCK_CODES;
}

/* In pairs, fours, bytes, then all bytes at once. Plain x86-64 has no instruction for it, and the compiler would make a call. */
static uint32_t count_bits(uint64_t v)
{
	v -= v >> 1 & 0x5555555555555555;
	v = (v & 0x3333333333333333) + (v >> 2 & 0x3333333333333333);
	v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return (uint32_t)(v * 0x0101010101010101 >> 56);
}

/* The index of the k-th free code, counted from 0; k is below code_free_count. */
static uint32_t kth_free(const struct code_state *s, uint32_t k)
{
	uint32_t block = 0;

	while (k >= block_codes(block) - s->taken_in[block]) {
		k -= block_codes(block) - s->taken_in[block];
		block++;
		assert(block < CODE_BLOCKS);
	}

	uint32_t word = block * (CODE_BLOCK_CODES / 64);

	for (;; word++) {
		uint32_t clear = 64 - count_bits(s->taken[word]);

		if (k < clear)
			break;
		k -= clear;
	}

	uint64_t open = ~s->taken[word];

	while (k-- > 0)
		open &= open - 1; /* drop the lowest free one */
	return word * 64 + (uint32_t)__builtin_ctzll(open);
}

void code_init(struct code_state *s, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	map_init(&s->by_id, TUNNEL_ID_BYTES, seed);
	pool_init(&s->entries, sizeof(struct code_entry), CODE_COUNT);
}

void code_fini(struct code_state *s)
{
	map_fini(&s->by_id);
	pool_fini(&s->entries);
}

struct code_entry *code_find(const struct code_state *s, const uint8_t *id)
{
	return map_get(&s->by_id, id);
}

static bool is_open(const uint8_t *digest)
{
	static const uint8_t unknown[CODE_DIGEST_BYTES - TUNNEL_ID_BYTES];

	return memcmp(digest + TUNNEL_ID_BYTES, unknown, sizeof(unknown)) == 0;
}

bool code_is_whose(const struct code_entry *e, const uint8_t digest[CODE_DIGEST_BYTES])
{
	size_t len = is_open(e->digest) || is_open(digest) ? TUNNEL_ID_BYTES : CODE_DIGEST_BYTES;

	return memcmp(e->digest, digest, len) == 0;
}

bool code_is_whose_key(struct code_entry *e, const uint8_t digest[CODE_DIGEST_BYTES])
{
	if (!code_is_whose(e, digest))
		return false;
	if (is_open(e->digest))
		memcpy(e->digest, digest, CODE_DIGEST_BYTES);
	return true;
}

static enum err add(struct code_entry **out, struct code_state *s, const uint8_t *digest, uint32_t code)
{
	struct code_entry *e = pool_take(&s->entries);

	if (!e)
		return ERR_NOMEM;

	enum err put = map_put(&s->by_id, digest, e);

	if (put != ERR_OK) {
		pool_give(&s->entries, e);
		return put;
	}
	memcpy(e->digest, digest, CODE_DIGEST_BYTES);
	e->code = code;
	set_taken(s, code - TUNNEL_CODE_MIN, true);
	*out = e;
	return ERR_OK;
}

enum err code_load(struct code_state *s, const uint8_t digest[CODE_DIGEST_BYTES], uint32_t code, bool joined)
{
	struct code_entry *e;

	if (code < TUNNEL_CODE_MIN || code > TUNNEL_CODE_MAX)
		return ERR_MALFORMED;
	if (is_taken(s, code - TUNNEL_CODE_MIN))
		return ERR_EXISTS;

	enum err added = add(&e, s, digest, code);

	if (added == ERR_OK)
		e->joined = joined;
	return added;
}

/* One of the free codes; 0: there is none. Scaling by the high half of a product spreads evenly enough: the error is under 900,000 in 2^32. */
static uint32_t any_free(const struct code_state *s, uint32_t random)
{
	uint32_t free_count = code_free_count(s);

	return free_count == 0 ? 0 : TUNNEL_CODE_MIN + kth_free(s, (uint32_t)((uint64_t)random * free_count >> 32));
}

enum err code_draw(struct code_entry **out, struct code_state *s, const uint8_t digest[CODE_DIGEST_BYTES],
                   uint32_t random)
{
	uint32_t code  = any_free(s, random);
	enum err added = code ? add(out, s, digest, code) : ERR_NO_ROOM;

	if (added == ERR_OK)
		(*out)->pending = true;
	return added;
}

enum err code_claim(struct code_entry **out, struct code_state *s, const uint8_t digest[CODE_DIGEST_BYTES],
                    uint32_t code)
{
	enum err loaded = code_load(s, digest, code, false);

	if (loaded != ERR_OK)
		return loaded;
	*out            = code_find(s, digest);
	(*out)->pending = true;
	return ERR_OK;
}

bool code_is_taken(const struct code_state *s, uint32_t code)
{
	return is_taken(s, code - TUNNEL_CODE_MIN);
}

enum err code_retake(struct code_state *s, struct code_entry *e, uint32_t code)
{
	if (code < TUNNEL_CODE_MIN || code > TUNNEL_CODE_MAX)
		return ERR_MALFORMED;
	if (e->pending || e->next_code)
		return ERR_BUSY;
	if (code_is_taken(s, code))
		return ERR_EXISTS;
	set_taken(s, code - TUNNEL_CODE_MIN, true);
	e->next_code = code;
	return ERR_OK;
}

enum err code_redraw(struct code_state *s, struct code_entry *e, uint32_t random)
{
	uint32_t code = any_free(s, random);

	if (e->pending || e->next_code)
		return ERR_BUSY;
	return code ? code_retake(s, e, code) : ERR_NO_ROOM;
}

void code_redrawn(struct code_state *s, struct code_entry *e, bool has, bool keep_code)
{
	uint32_t unused = has ? e->code : e->next_code;

	if (has) {
		e->code   = e->next_code;
		e->joined = false;
	}
	e->next_code = 0;
	if (!keep_code)
		set_taken(s, unused - TUNNEL_CODE_MIN, false);
}

void code_remove(struct code_state *s, struct code_entry *e, bool keep_code)
{
	if (e->next_code)
		code_redrawn(s, e, false, keep_code);
	map_remove(&s->by_id, e->digest);
	if (!keep_code)
		set_taken(s, e->code - TUNNEL_CODE_MIN, false);
	pool_give(&s->entries, e);
}

uint32_t code_free_count(const struct code_state *s)
{
	return CODE_COUNT - s->taken_count;
}

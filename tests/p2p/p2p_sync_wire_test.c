/*
 * The sync payload: the vectors both ways, every way to be malformed, and the limits.
 */
#include "p2p/p2p_sync_wire.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define USERS_SEEN_MAX 80

/* Users as they came; what they point to has to live as long as the test looks at it. */
struct got {
	size_t               count;
	struct p2p_sync_user users[USERS_SEEN_MAX];
};

static struct got     got;
static struct vectors all;
static uint8_t        built[P2P_SYNC_BYTES_MAX + 2];

static void forget(void)
{
	memset(&got, 0, sizeof(got));
}

static void take(void *arg, const struct p2p_sync_user *user)
{
	struct got *g = arg;

	cr_assert_lt(g->count, USERS_SEEN_MAX);
	g->users[g->count++] = *user;
}

/* In memory of exactly its size, and with exactly as much scratch, so that the sanitizer sees every byte too far. */
struct reading {
	uint8_t           *payload, *scratch;
	enum p2p_sync_says says;
};

static struct reading read_bytes(const void *payload, size_t len)
{
	struct reading r = { .payload = malloc(len ? len : 1), .scratch = malloc(len ? len : 1) };

	cr_assert(r.payload && r.scratch);
	if (len)
		memcpy(r.payload, payload, len);
	forget();
	r.says = p2p_sync_parse(r.payload, len, r.scratch, take, &got);
	return r;
}

static void reading_free(struct reading *r)
{
	free(r->payload);
	free(r->scratch);
}

static enum p2p_sync_says says_of(const void *payload, size_t len)
{
	struct reading r = read_bytes(payload, len);

	reading_free(&r);
	return r.says;
}

/* A payload put together piece by piece: the keys are there already. */
struct draft {
	struct wr w;
	uint8_t   bytes[P2P_SYNC_BYTES_MAX + 200];
};

static struct draft draft;

static void draft_begin(void)
{
	draft.w = wr_over(draft.bytes, sizeof(draft.bytes));
	for (unsigned i = 0; i < P2P_SYNC_KEYS_BYTES; i++)
		wr_u8(&draft.w, (uint8_t)i);
}

static void draft_sized(const void *data, size_t len)
{
	wr_be(&draft.w, len, 4);
	wr_bytes(&draft.w, data, len);
}

static void draft_user(const char *id, const char *base64)
{
	draft_sized(id, strlen(id));
	draft_sized(base64, strlen(base64));
}

/* A user whose list are these bytes. */
static void draft_list(const char *id, const void *list, size_t len)
{
	char text[BASE64_BYTES(1024)];

	cr_assert_leq(len, 1024);
	base64_encode(text, list, len);
	draft_user(id, text);
}

static enum p2p_sync_says draft_says(void)
{
	cr_assert(wr_ok(&draft.w));
	return says_of(draft.bytes, wr_len(&draft.w));
}

static struct p2p_sync_user user_with(const char *id, size_t addresses, const char *text)
{
	struct p2p_sync_user u = { .id = id, .id_len = strlen(id), .address_count = addresses };

	for (size_t i = 0; i < addresses && i < P2P_ADDRESSES_MAX; i++) {
		u.addresses[i].text = text;
		u.addresses[i].len  = strlen(text);
	}
	return u;
}

static void load(void)
{
	all = vectors_load("p2p.hex");
}

static void unload(void)
{
	vectors_free(&all);
}

TestSuite(p2p_sync_wire, .init = load, .fini = unload);

static void expect_text(const char *text, size_t len, const char *expected)
{
	cr_expect(len == strlen(expected) && memcmp(text, expected, len) == 0, "%.*s is not %s", (int)len, text,
	          expected);
}

Test(p2p_sync_wire, each_vector_parses_and_builds_back)
{
	static const char *const names[] = { "sync_nobody", "sync_two", "sync_ipv6" };

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct vector *v   = vectors_find(&all, names[i]);
		struct reading       r   = read_bytes(v->data, v->len);
		size_t               len = 0;

		cr_assert_eq(r.says, P2P_SYNC_FINE, "%s", v->name);
		cr_assert_eq(p2p_sync_build(built, sizeof(built), &len, v->data, got.users, got.count), P2P_SYNC_FINE);
		cr_expect(len == v->len && memcmp(built, v->data, len) == 0, "%s", v->name);
		reading_free(&r);
	}
}

Test(p2p_sync_wire, users_and_addresses_come_out_as_they_went_in)
{
	const struct vector *v = vectors_find(&all, "sync_two");
	struct reading       r = read_bytes(v->data, v->len);

	cr_assert_eq(got.count, 2);
	expect_text(got.users[0].id, got.users[0].id_len, "alice");
	cr_assert_eq(got.users[0].address_count, 2);
	expect_text(got.users[0].addresses[0].text, got.users[0].addresses[0].len, "203.0.113.14:61314");
	expect_text(got.users[0].addresses[1].text, got.users[0].addresses[1].len, "10.77.4.2:50000");
	expect_text(got.users[1].id, got.users[1].id_len, "bob");
	cr_assert_eq(got.users[1].address_count, 1);
	expect_text(got.users[1].addresses[0].text, got.users[1].addresses[0].len, "203.0.113.15:63769");
	reading_free(&r);

	v = vectors_find(&all, "sync_ipv6");
	r = read_bytes(v->data, v->len);
	cr_assert_eq(got.count, 2);
	expect_text(got.users[0].id, got.users[0].id_len, "zo\xc3\xab");
	expect_text(got.users[0].addresses[0].text, got.users[0].addresses[0].len, "[2001:db8::7]:61000");
	expect_text(got.users[1].id, got.users[1].id_len, "m4");
	cr_expect_eq(got.users[1].address_count, 0, "he is shown without an address");
	reading_free(&r);
}

Test(p2p_sync_wire, nobody_is_an_empty_list_and_fewer_bytes_are_no_keys)
{
	uint8_t keys[P2P_SYNC_KEYS_BYTES] = { 0 };

	for (size_t len = 0; len < sizeof(keys); len++)
		cr_expect_eq(says_of(keys, len), P2P_SYNC_SHORT_KEYS, "%zu", len);
	cr_expect_eq(says_of(keys, sizeof(keys)), P2P_SYNC_FINE);
	cr_expect_eq(got.count, 0);
}

Test(p2p_sync_wire, cut_anywhere_it_gives_nobody)
{
	static const char *const names[] = { "sync_two", "sync_ipv6" };

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct vector *v = vectors_find(&all, names[i]);
		size_t first           = i == 0 ? 117 : 92; /* where the second user begins: nothing is missing there */

		for (size_t len = P2P_SYNC_KEYS_BYTES + 1; len < v->len; len++) {
			if (len == first)
				continue;
			cr_expect_eq(says_of(v->data, len), P2P_SYNC_TRUNCATED, "%s of %zu", v->name, len);
			cr_expect_eq(got.count, 0, "%s of %zu: not even those before", v->name, len);
		}
		cr_expect_eq(says_of(v->data, first), P2P_SYNC_FINE);
		cr_expect_eq(got.count, 1);
	}
}

Test(p2p_sync_wire, a_size_beyond_the_end_does_no_harm)
{
	static const uint32_t sizes[] = { 6, 0x7fffffff, 0x80000000, 0xfffffffb, 0xfffffffc, 0xffffffff };

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		draft_begin();
		draft_user("before", "");
		wr_be(&draft.w, sizes[i], 4);
		wr_bytes(&draft.w, "alice", 5);
		cr_expect_eq(draft_says(), P2P_SYNC_TRUNCATED, "an id of %u", sizes[i]);
		cr_expect_eq(got.count, 0);

		draft_begin();
		draft_user("before", "");
		draft_sized("alice", 5);
		wr_be(&draft.w, sizes[i], 4);
		wr_bytes(&draft.w, "AAAA", 4);
		cr_expect_eq(draft_says(), P2P_SYNC_TRUNCATED, "a list of %u", sizes[i]);
		cr_expect_eq(got.count, 0);
	}
}

Test(p2p_sync_wire, ids_have_1_to_64_bytes_of_utf8)
{
	static const char *const bad[] = { "", "\xff", "zo\xc3", "\xc0\x80", "\xed\xa0\x80" };
	char                     id[P2P_USER_ID_BYTES + 2];

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		draft_begin();
		draft_user("before", "");
		draft_user(bad[i], "");
		cr_expect_eq(draft_says(), P2P_SYNC_BAD_USER_ID, "row %zu", i);
		cr_expect_eq(got.count, 0);
	}
	memset(id, 'x', sizeof(id));
	id[P2P_USER_ID_BYTES + 1] = '\0';
	draft_begin();
	draft_user(id, "");
	cr_expect_eq(draft_says(), P2P_SYNC_BAD_USER_ID);
	id[P2P_USER_ID_BYTES] = '\0';
	draft_begin();
	draft_user(id, "");
	cr_expect_eq(draft_says(), P2P_SYNC_FINE);
	cr_expect_eq(got.users[0].id_len, P2P_USER_ID_BYTES);
}

Test(p2p_sync_wire, base64_is_read_strictly)
{
	static const char *const bad[] = {
		"A",    "AA",   "AAA",  "AAAAA", "AAA*", "AA-A", "AA_A",     "AAAA\n",    "AAAA\nAAAA",
		" AAA", "AA=A", "A===", "====",  "AB==", "AAB=", "AA==AAAA", "AAAAAAA=A", "AAAA====",
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		draft_begin();
		draft_user("before", "");
		draft_user("alice", bad[i]);
		cr_expect_eq(draft_says(), P2P_SYNC_BAD_BASE64, "%s", bad[i]);
		cr_expect_eq(got.count, 0);
	}
}

Test(p2p_sync_wire, addresses_fit_into_their_list_and_are_not_empty)
{
	static const struct {
		const char        *why;
		size_t             len;
		const char        *list;
		enum p2p_sync_says says;
	} rows[] = {
		{ "one of one character", 5, "\0\0\0\1a", P2P_SYNC_FINE },
		{ "two", 10, "\0\0\0\1a\0\0\0\1b", P2P_SYNC_FINE },
		{ "no text at all", 4, "\0\0\0\0", P2P_SYNC_BAD_ADDRESS },
		{ "none behind one", 9, "\0\0\0\1a\0\0\0\0", P2P_SYNC_BAD_ADDRESS },
		{ "one character missing", 5, "\0\0\0\2a", P2P_SYNC_BAD_ADDRESS },
		{ "all missing", 5,
		  "\xff\xff\xff\xff"
		  "a",
		  P2P_SYNC_BAD_ADDRESS },
		{ "all missing behind one", 9, "\0\0\0\1a\xff\xff\xff\xff", P2P_SYNC_BAD_ADDRESS },
		{ "a negative one", 5, "\x80\0\0\0a", P2P_SYNC_BAD_ADDRESS },
		{ "a piece of a size", 1, "\0", P2P_SYNC_TRUNCATED },
		{ "a larger piece", 3, "\0\0\0", P2P_SYNC_TRUNCATED },
		{ "a piece behind one", 8, "\0\0\0\1a\0\0\0", P2P_SYNC_TRUNCATED },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		draft_begin();
		draft_user("before", "");
		draft_list("alice", rows[i].list, rows[i].len);
		cr_expect_eq(draft_says(), rows[i].says, "%s", rows[i].why);
		cr_expect_eq(got.count, rows[i].says == P2P_SYNC_FINE ? 2 : 0, "%s", rows[i].why);
	}
}

Test(p2p_sync_wire, the_text_of_an_address_is_not_judged_but_its_length_is)
{
	char    text[P2P_ADDRESS_TEXT_BYTES + 1];
	uint8_t list[sizeof(text) + 4] = { 0 };

	memset(text, '!', sizeof(text));
	for (size_t len = P2P_ADDRESS_TEXT_BYTES; len <= P2P_ADDRESS_TEXT_BYTES + 1; len++) {
		list[3] = (uint8_t)len;
		memcpy(list + 4, text, len);
		draft_begin();
		draft_list("alice", list, len + 4);
		cr_expect_eq(draft_says(), len == P2P_ADDRESS_TEXT_BYTES ? P2P_SYNC_FINE : P2P_SYNC_BAD_ADDRESS);
	}
}

Test(p2p_sync_wire, there_are_9_addresses_of_a_user_and_no_tenth)
{
	uint8_t list[5 * (P2P_ADDRESSES_MAX + 1)];

	for (size_t i = 0; i <= P2P_ADDRESSES_MAX; i++)
		memcpy(list + 5 * i, "\0\0\0\1a", 5);
	draft_begin();
	draft_list("alice", list, sizeof(list) - 5);
	cr_expect_eq(draft_says(), P2P_SYNC_FINE);
	cr_expect_eq(got.users[0].address_count, P2P_ADDRESSES_MAX);
	draft_begin();
	draft_user("before", "");
	draft_list("alice", list, sizeof(list));
	cr_expect_eq(draft_says(), P2P_SYNC_TOO_LARGE);
	cr_expect_eq(got.count, 0);
}

Test(p2p_sync_wire, there_are_64_users_and_no_65th)
{
	draft_begin();
	for (size_t i = 0; i < P2P_USERS_MAX; i++)
		draft_user("u", "AAAAAWE=");
	cr_expect_eq(draft_says(), P2P_SYNC_FINE);
	cr_expect_eq(got.count, P2P_USERS_MAX);
	draft_user("u", "AAAAAWE=");
	cr_expect_eq(draft_says(), P2P_SYNC_TOO_LARGE);
	cr_expect_eq(got.count, 0);
}

Test(p2p_sync_wire, a_payload_over_65535_bytes_is_not_looked_at)
{
	memset(draft.bytes, 0, sizeof(draft.bytes));
	cr_expect_eq(says_of(draft.bytes, P2P_SYNC_BYTES_MAX), P2P_SYNC_BAD_USER_ID);
	cr_expect_eq(says_of(draft.bytes, P2P_SYNC_BYTES_MAX + 1), P2P_SYNC_TOO_LARGE);
}

#define X_8        "xxxxxxxx"
#define X_64       X_8 X_8 X_8 X_8 X_8 X_8 X_8 X_8
#define TEXT_OF_65 X_64 "x"

Test(p2p_sync_wire, what_could_not_be_read_is_not_built)
{
	static const uint8_t keys[P2P_SYNC_KEYS_BYTES] = { 0 };
	const struct {
		const char          *why;
		struct p2p_sync_user user;
		enum p2p_sync_says   says;
	} rows[] = {
		{ "no id", user_with("", 0, NULL), P2P_SYNC_BAD_USER_ID },
		{ "not UTF-8", user_with("\xff", 0, NULL), P2P_SYNC_BAD_USER_ID },
		{ "an id of 65", user_with(TEXT_OF_65, 0, NULL), P2P_SYNC_BAD_USER_ID },
		{ "an id of 64", user_with(X_64, 0, NULL), P2P_SYNC_FINE },
		{ "an empty address", user_with("a", 1, ""), P2P_SYNC_BAD_ADDRESS },
		{ "an address of 65", user_with("a", 1, TEXT_OF_65), P2P_SYNC_BAD_ADDRESS },
		{ "an address of 64", user_with("a", 1, X_64), P2P_SYNC_FINE },
		{ "ten addresses", user_with("a", P2P_ADDRESSES_MAX + 1, "b"), P2P_SYNC_TOO_LARGE },
		{ "nine", user_with("a", P2P_ADDRESSES_MAX, "b"), P2P_SYNC_FINE },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t len = 4711;

		cr_expect_eq(p2p_sync_build(built, sizeof(built), &len, keys, &rows[i].user, 1), rows[i].says, "%s",
		             rows[i].why);
		cr_expect_eq(len == 4711, rows[i].says != P2P_SYNC_FINE, "%s", rows[i].why);
	}
}

Test(p2p_sync_wire, the_largest_room_fits_and_one_more_user_does_not)
{
	static const uint8_t keys[P2P_SYNC_KEYS_BYTES] = { 0 };
	struct p2p_sync_user users[P2P_USERS_MAX + 1];
	char                 text[P2P_ADDRESS_TEXT_BYTES + 1] = { 0 };
	size_t               len                              = 0;

	memset(text, 'x', P2P_ADDRESS_TEXT_BYTES);
	for (size_t i = 0; i < COUNT_OF(users); i++)
		users[i] = user_with(text, P2P_ADDRESSES_MAX, text);
	cr_assert_eq(p2p_sync_build(built, sizeof(built), &len, keys, users, P2P_USERS_MAX), P2P_SYNC_FINE);
	cr_expect_eq(len, 48 + 64 * (4 + 64 + 4 + 816));
	cr_expect_eq(says_of(built, len), P2P_SYNC_FINE);
	cr_expect_eq(got.count, P2P_USERS_MAX);

	size_t untouched = 4711;

	cr_expect_eq(p2p_sync_build(built, sizeof(built), &untouched, keys, users, P2P_USERS_MAX + 1),
	             P2P_SYNC_TOO_LARGE);
	cr_expect_eq(p2p_sync_build(built, len - 1, &untouched, keys, users, P2P_USERS_MAX), P2P_SYNC_TOO_LARGE);
	cr_expect_eq(untouched, 4711);
	cr_expect_eq(p2p_sync_build(built, len, &untouched, keys, users, P2P_USERS_MAX), P2P_SYNC_FINE);
	cr_expect_eq(untouched, len);
}

Test(p2p_sync_wire, nothing_is_written_behind_the_room_there_is)
{
	static const uint8_t       keys[P2P_SYNC_KEYS_BYTES] = { 0 };
	const struct p2p_sync_user u                         = user_with("alice", 2, "10.0.0.1:1");
	size_t                     whole = 0, len = 4711;

	cr_assert_eq(p2p_sync_build(built, sizeof(built), &whole, keys, &u, 1), P2P_SYNC_FINE);
	for (size_t cap = 0; cap < whole; cap++) {
		uint8_t *exact = malloc(cap ? cap : 1);

		cr_assert_not_null(exact);
		cr_expect_eq(p2p_sync_build(exact, cap, &len, keys, &u, 1), P2P_SYNC_TOO_LARGE, "%zu", cap);
		free(exact);
	}
	cr_expect_eq(len, 4711);
}

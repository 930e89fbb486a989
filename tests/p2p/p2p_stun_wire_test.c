/*
 * STUN: the vectors both ways, everything that gets no answer, and what errors say.
 */
#include "p2p/p2p_stun_wire.h"

#include "base/auto.h"
#include "base/gzip.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES     20
#define CHANGE_REQUEST 0x0003
#define FINGERPRINT    0x8028

static struct vectors      all;
static struct stun_request request;
static uint8_t             answer[STUN_ANSWER_BYTES_MAX];

/* As initialisers, which C11 does not take from constants. */
#define CLIENT                                   \
	{                                        \
		true, { 203, 0, 113, 14 }, 61314 \
	}
#define AP                                     \
	{                                      \
		true, { 203, 0, 113, 1 }, 3478 \
	}
#define BQ                                     \
	{                                      \
		true, { 203, 0, 113, 2 }, 3479 \
	}

static void load(void)
{
	all = vectors_load("stun.hex");
}

static void unload(void)
{
	vectors_free(&all);
}

TestSuite(p2p_stun_wire, .init = load, .fini = unload);

/* Memory of its exact size, so that a step too far is seen. */
static enum stun_says parse_bytes(const uint8_t *bytes, size_t len)
{
	uint8_t       *exact = malloc(len ? len : 1);
	enum stun_says says;

	cr_assert_not_null(exact);
	if (len > 0)
		memcpy(exact, bytes, len);
	says = stun_parse(&request, exact, len);
	free(exact);
	return says;
}

static enum stun_says parse(const char *name)
{
	const struct vector *v = vectors_find(&all, name);

	return parse_bytes(v->data, v->len);
}

static void expect_answer(const char *name, const struct stun_place *place)
{
	const struct vector *v   = vectors_find(&all, name);
	size_t               len = stun_build(answer, &request, place);

	cr_assert_eq(len, v->len, "%s has %zu bytes", name, len);
	cr_expect_arr_eq(answer, v->data, len, "%s", name);
}

static const struct stun_place at_ap  = { .source = CLIENT, .origin = AP, .other = BQ };
static const struct stun_place at_one = { .source = CLIENT, .origin = AP };
static const struct stun_place by_bq  = { .source = CLIENT, .origin = BQ, .other = BQ };

/* Answers */

Test(p2p_stun_wire, a_plain_request_gets_the_answer_of_the_document)
{
	cr_assert_eq(parse("plain"), STUN_REQUEST);
	cr_expect_not(request.is_old);
	cr_expect_not(request.has_change);
	expect_answer("plain_answer", &at_ap);
	expect_answer("plain_answer_one", &at_one);
}

Test(p2p_stun_wire, a_request_to_change_is_read_flag_by_flag)
{
	cr_assert_eq(parse("change_nothing"), STUN_REQUEST);
	cr_expect(request.has_change && !request.change_address && !request.change_port);
	cr_assert_eq(parse("change_port"), STUN_REQUEST);
	cr_expect(request.has_change && !request.change_address && request.change_port);
	cr_assert_eq(parse("change_address"), STUN_REQUEST);
	cr_expect(request.has_change && request.change_address && !request.change_port);
	cr_assert_eq(parse("change_both"), STUN_REQUEST);
	cr_expect(request.has_change && request.change_address && request.change_port);
	expect_answer("change_answer", &by_bq);

	request.unknown[request.unknown_count++] = CHANGE_REQUEST;
	expect_answer("change_refused", &at_one);
}

Test(p2p_stun_wire, who_marks_its_request_gets_a_marked_answer)
{
	cr_assert_eq(parse("marked"), STUN_REQUEST);
	cr_expect(request.has_fingerprint);
	expect_answer("marked_answer", &at_ap);
	request.unknown[request.unknown_count++] = CHANGE_REQUEST;
	expect_answer("marked_refused", &at_one);
}

Test(p2p_stun_wire, what_ice_adds_is_passed_over)
{
	cr_assert_eq(parse("of_rfc5769"), STUN_REQUEST);
	cr_expect(request.has_fingerprint);
	cr_expect_eq(request.unknown_count, 0);
}

Test(p2p_stun_wire, a_client_of_rfc_3489_gets_the_answer_of_its_time)
{
	cr_assert_eq(parse("old"), STUN_REQUEST);
	cr_expect(request.is_old);
	expect_answer("old_answer", &at_ap);
	expect_answer("old_answer_one", &at_one);
	request.has_fingerprint = true;
	expect_answer("old_answer", &at_ap);
}

Test(p2p_stun_wire, what_must_be_understood_and_is_not_is_listed)
{
	cr_assert_eq(parse("unknown_three"), STUN_REQUEST);
	cr_expect_eq(request.unknown_count, 3);
	expect_answer("unknown_answer", &at_ap);
	cr_assert_eq(parse("old_unknown"), STUN_REQUEST);
	expect_answer("old_unknown_answer", &at_ap);
}

/* What gets none */

Test(p2p_stun_wire, what_is_no_request_is_ignored)
{
	struct stun_request before;
	uint8_t             bytes[HEAD_BYTES];

	memset(&request, 0x5a, sizeof(request));
	before = request;
	cr_expect_eq(parse("indication"), STUN_IGNORED);
	cr_expect_eq(parse("answer"), STUN_IGNORED);
	cr_expect_eq(parse("error"), STUN_IGNORED);
	cr_expect_eq(parse("allocate"), STUN_IGNORED);
	memcpy(bytes, vectors_find(&all, "plain")->data, sizeof(bytes));
	for (unsigned type = 0; type < 0x400; type++) {
		bytes[0] = (uint8_t)(type >> 8);
		bytes[1] = (uint8_t)type;
		if (type != 1)
			cr_expect_eq(parse_bytes(bytes, sizeof(bytes)), STUN_IGNORED, "%04x", type);
	}
	cr_expect_arr_eq(&request, &before, sizeof(request), "and nothing is told of it");
}

Test(p2p_stun_wire, nothing_cut_short_is_a_request)
{
	for (size_t i = 0; i < all.count; i++)
		for (size_t len = 0; len < all.rows[i].len; len++)
			cr_expect_eq(parse_bytes(all.rows[i].data, len), STUN_MALFORMED, "%s, %zu bytes",
			             all.rows[i].name, len);
}

/* The same with a length that says so: only what ends between two attributes is whole then. */
Test(p2p_stun_wire, attributes_fit_exactly)
{
	const struct vector *v = vectors_find(&all, "unknown_three");
	uint8_t              bytes[VECTOR_BYTES_MAX + 1];

	memcpy(bytes, v->data, v->len);
	for (size_t len = HEAD_BYTES; len <= v->len; len++) {
		bool is_whole = len == HEAD_BYTES || len == HEAD_BYTES + 12 || len == HEAD_BYTES + 24 || len == v->len;

		bytes[3] = (uint8_t)(len - HEAD_BYTES);
		cr_expect_eq(parse_bytes(bytes, len), is_whole ? STUN_REQUEST : STUN_MALFORMED, "%zu", len);
	}
	memcpy(bytes, v->data, v->len);
	bytes[v->len] = 0;
	cr_expect_eq(parse_bytes(bytes, v->len + 1), STUN_MALFORMED, "a byte behind it");
	bytes[3] += 4;
	cr_expect_eq(parse_bytes(bytes, v->len), STUN_MALFORMED, "a length too large");
	bytes[3] -= 8;
	cr_expect_eq(parse_bytes(bytes, v->len), STUN_MALFORMED, "a length too small");
}

/* A request with these attributes, each given with its type, length and the bytes that it really has. */
struct made {
	uint8_t bytes[2048];
	size_t  len;
};

static void begin(struct made *m)
{
	memset(m, 0, sizeof(*m));
	memcpy(m->bytes, vectors_find(&all, "plain")->data, HEAD_BYTES);
	m->len = HEAD_BYTES;
}

static void add(struct made *m, unsigned type, size_t len, const void *value, size_t filling)
{
	uint8_t head[4] = { (uint8_t)(type >> 8), (uint8_t)type, (uint8_t)(len >> 8), (uint8_t)len };

	memcpy(m->bytes + m->len, head, 4);
	if (value)
		memcpy(m->bytes + m->len + 4, value, len);
	m->len += 4 + len + filling;
	m->bytes[2] = (uint8_t)((m->len - HEAD_BYTES) >> 8);
	m->bytes[3] = (uint8_t)(m->len - HEAD_BYTES);
}

/* The mark that stands here is right for the length that the message has now. */
static void mark(struct made *m, size_t at)
{
	uint32_t sum = gzip_crc(m->bytes, at) ^ 0x5354554e;

	for (size_t i = 0; i < 4; i++)
		m->bytes[at + 4 + i] = (uint8_t)(sum >> (24 - 8 * i));
}

static void add_mark(struct made *m)
{
	size_t at = m->len;

	add(m, FINGERPRINT, 4, NULL, 0);
	mark(m, at);
}

static enum stun_says parse_made(const struct made *m)
{
	return parse_bytes(m->bytes, m->len);
}

Test(p2p_stun_wire, a_request_has_20_to_1024_bytes)
{
	struct made m;

	begin(&m);
	cr_expect_eq(parse_made(&m), STUN_REQUEST);
	add(&m, 0x8022, STUN_REQUEST_BYTES_MAX - HEAD_BYTES - 4, NULL, 0);
	cr_expect_eq(m.len, STUN_REQUEST_BYTES_MAX);
	cr_expect_eq(parse_made(&m), STUN_REQUEST);
	begin(&m);
	add(&m, 0x8022, STUN_REQUEST_BYTES_MAX - HEAD_BYTES, NULL, 0);
	cr_expect_eq(m.len, STUN_REQUEST_BYTES_MAX + 4);
	cr_expect_eq(parse_made(&m), STUN_MALFORMED);
}

Test(p2p_stun_wire, values_are_filled_to_four_bytes_with_anything)
{
	for (size_t len = 0; len <= 8; len++) {
		size_t      filling = (4 - len % 4) % 4;
		struct made m;

		begin(&m);
		add(&m, 0x0006, len, "username", filling);
		memset(m.bytes + m.len - filling, 0xff, filling);
		add(&m, CHANGE_REQUEST, 4, "\0\0\0\2", 0);
		cr_expect_eq(parse_made(&m), STUN_REQUEST, "%zu", len);
		cr_expect(request.change_port, "%zu", len);
		if (filling == 0)
			continue;
		begin(&m);
		add(&m, 0x0006, len, "username", 0);
		cr_expect_eq(parse_made(&m), STUN_MALFORMED, "%zu, not filled", len);
	}
}

Test(p2p_stun_wire, a_value_longer_than_the_message_is_malformed)
{
	static const size_t lens[] = { 1, 4, 5, 0x7fff, 0xfffc, 0xffff };

	for (size_t i = 0; i < COUNT_OF(lens); i++) {
		struct made m;

		begin(&m);
		add(&m, 0x8022, 0, NULL, 0);
		m.bytes[HEAD_BYTES + 2] = (uint8_t)(lens[i] >> 8);
		m.bytes[HEAD_BYTES + 3] = (uint8_t)lens[i];
		cr_expect_eq(parse_made(&m), STUN_MALFORMED, "%zu", lens[i]);
	}
}

Test(p2p_stun_wire, a_request_to_change_has_four_bytes_and_the_first_counts)
{
	struct made m;

	for (size_t len = 0; len <= 12; len++) {
		begin(&m);
		add(&m, CHANGE_REQUEST, len, NULL, (4 - len % 4) % 4);
		cr_expect_eq(parse_made(&m), len == 4 ? STUN_REQUEST : STUN_MALFORMED, "%zu", len);
	}
	begin(&m);
	add(&m, CHANGE_REQUEST, 4, "\0\0\0\2", 0);
	add(&m, CHANGE_REQUEST, 4, "\0\0\0\4", 0);
	cr_assert_eq(parse_made(&m), STUN_REQUEST);
	cr_expect(request.change_port && !request.change_address);
	add(&m, CHANGE_REQUEST, 0, NULL, 0);
	cr_expect_eq(parse_made(&m), STUN_MALFORMED, "the second must be one, too");
	begin(&m);
	add(&m, CHANGE_REQUEST, 4, "\xff\xff\xff\xf9", 0);
	cr_assert_eq(parse_made(&m), STUN_REQUEST);
	cr_expect(!request.change_port && !request.change_address, "other bits mean nothing");
}

Test(p2p_stun_wire, a_wrong_mark_is_malformed)
{
	const struct vector *v = vectors_find(&all, "of_rfc5769");
	uint8_t              bytes[VECTOR_BYTES_MAX];
	struct made          m;

	memcpy(bytes, v->data, v->len);
	for (size_t at = 8; at < v->len; at++) {
		if (at == v->len - 8 || at == v->len - 7)
			continue; /* its type: then it is no mark */
		bytes[at] ^= 1;
		cr_expect_neq(parse_bytes(bytes, v->len), STUN_REQUEST, "byte %zu", at);
		bytes[at] ^= 1;
	}
	begin(&m);
	add_mark(&m);
	cr_expect_eq(parse_made(&m), STUN_REQUEST);
	add(&m, 0x8022, 0, NULL, 0);
	mark(&m, HEAD_BYTES);
	cr_expect_eq(parse_made(&m), STUN_MALFORMED, "it is the last attribute");
	begin(&m);
	add_mark(&m);
	add_mark(&m);
	mark(&m, HEAD_BYTES);
	mark(&m, HEAD_BYTES + 8);
	cr_expect_eq(parse_made(&m), STUN_MALFORMED, "and there is one");
	begin(&m);
	add(&m, FINGERPRINT, 8, NULL, 0);
	cr_expect_eq(parse_made(&m), STUN_MALFORMED, "of 4 bytes");
	begin(&m);
	add(&m, FINGERPRINT, 0, NULL, 0);
	cr_expect_eq(parse_made(&m), STUN_MALFORMED);
}

/* What is known, and what is not */

Test(p2p_stun_wire, types_below_8000_are_ignored_or_listed)
{
	static const unsigned known[] = { 0x0001, 0x0003, 0x0004, 0x0005, 0x0006, 0x0008, 0x0009,
		                          0x000a, 0x0014, 0x0015, 0x001c, 0x0020, 0x0024, 0x0025 };
	struct made           m;

	for (unsigned type = 0; type < 0x10000; type++) {
		bool is_known = type >= 0x8000;

		if (type == FINGERPRINT)
			continue;
		for (size_t i = 0; i < COUNT_OF(known); i++)
			is_known |= known[i] == type;
		begin(&m);
		add(&m, type, 4, NULL, 0);
		cr_assert_eq(stun_parse(&request, m.bytes, m.len), STUN_REQUEST, "%04x", type);
		cr_assert_eq(request.unknown_count, is_known ? 0 : 1, "%04x", type);
		cr_assert(is_known || request.unknown[0] == type);
	}
}

static size_t parse_unknown(unsigned count)
{
	struct made m;

	begin(&m);
	for (unsigned i = 0; i < count; i++)
		add(&m, 0x7000 + i, 0, NULL, 0);
	cr_assert_eq(parse_made(&m), STUN_REQUEST);
	return request.unknown_count;
}

Test(p2p_stun_wire, a_list_of_unknown_types_ends_at_32)
{
	cr_expect_eq(parse_unknown(STUN_UNKNOWN_MAX), STUN_UNKNOWN_MAX);
	cr_expect_eq(parse_unknown(STUN_UNKNOWN_MAX + 1), STUN_UNKNOWN_MAX);
	cr_expect_eq(request.unknown[STUN_UNKNOWN_MAX - 1], 0x7000 + STUN_UNKNOWN_MAX - 1);
	cr_expect_eq(stun_build(answer, &request, &at_ap), HEAD_BYTES + 28 + 4 + 2 * STUN_UNKNOWN_MAX);
	cr_expect_eq(parse_unknown(251), STUN_UNKNOWN_MAX, "as many as a request can have");
}

Test(p2p_stun_wire, a_type_is_listed_once)
{
	struct made m;

	begin(&m);
	for (unsigned i = 0; i < 100; i++)
		add(&m, 0x7000 + i % 2, 0, NULL, 0);
	cr_assert_eq(parse_made(&m), STUN_REQUEST);
	cr_expect_eq(request.unknown_count, 2);
}

Test(p2p_stun_wire, an_odd_list_is_filled_and_for_rfc_3489_its_last_is_told_twice)
{
	for (unsigned count = 1; count <= 4; count++) {
		size_t len, listed = count + count % 2;

		parse_unknown(count);
		len = stun_build(answer, &request, &at_ap);
		cr_assert_eq(len, HEAD_BYTES + 28 + 4 + 2 * listed, "%u", count);
		cr_expect_eq(answer[HEAD_BYTES + 28 + 3], 2 * count, "%u", count);
		cr_expect_eq(answer[3], len - HEAD_BYTES);
		cr_expect(count % 2 == 0 || (answer[len - 2] == 0 && answer[len - 1] == 0), "%u", count);

		request.is_old = true;
		cr_assert_eq(stun_build(answer, &request, &at_ap), len, "%u", count);
		cr_expect_eq(answer[HEAD_BYTES + 28 + 3], 2 * listed, "%u", count);
		cr_expect_eq(answer[len - 1], count - 1, "%u", count);
	}
}

Test(p2p_stun_wire, no_answer_is_longer_than_what_is_known_of_it)
{
	for (unsigned count = 0; count <= STUN_UNKNOWN_MAX; count++) {
		request               = (struct stun_request){ .has_fingerprint = true };
		request.unknown_count = count;
		cr_expect_leq(stun_build(answer, &request, &at_ap), HEAD_BYTES + 28 + 4 + 64 + 8);
	}
}

/* Over the request, as it is done: what is parsed points at nothing of it. */
Test(p2p_stun_wire, an_answer_may_be_written_over_its_request)
{
	const struct vector *v = vectors_find(&all, "marked");

	memcpy(answer, v->data, v->len);
	cr_assert_eq(stun_parse(&request, answer, v->len), STUN_REQUEST);
	expect_answer("marked_answer", &at_ap);
}

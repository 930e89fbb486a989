/*
 * Messages as bytes and structs: the vectors both ways, and every minimum length at the limit and one below.
 */
#include "tunnel/tunnel_wire.h"

#include "base/auto.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <string.h>

static enum tunnel_parse parse(struct tunnel_msg *out, const struct vector *v)
{
	uint8_t version = strstr(v->name, "_1") ? 1 : 2;

	return v->to_server ? tunnel_parse_client(out, v->data, v->len)
	                    : tunnel_parse_server(out, version, v->data, v->len);
}

Test(tunnel_wire, every_vector_parses_and_builds_back_to_the_same_bytes)
{
	struct vectors v = vectors_load("tunnel.hex");

	for (size_t i = 0; i < v.count; i++) {
		const struct vector *row = &v.rows[i];
		struct tunnel_msg    msg;
		uint8_t              buf[VECTOR_BYTES_MAX];
		struct wr            w = wr_over(buf, sizeof(buf));

		cr_expect_eq(parse(&msg, row), TUNNEL_PARSED, "%s", row->name);
		tunnel_build(&w, &msg);
		cr_expect(wr_len(&w) == row->len && memcmp(buf, row->data, row->len) == 0, "%s", row->name);
	}
	vectors_free(&v);
}

Test(tunnel_wire, fields_land_where_they_belong)
{
	struct vectors    v = vectors_load("tunnel.hex");
	struct tunnel_msg msg;

	parse(&msg, vectors_find(&v, "join"));
	cr_expect_eq(msg.code, 123456);
	cr_expect_eq(msg.version, 2);
	cr_expect(msg.has_token);
	cr_expect_eq(msg.token[0], 0xa0);
	cr_expect_eq(msg.token[7], 0xa7);
	parse(&msg, vectors_find(&v, "host_open"));
	cr_expect_eq(msg.key[15], 0x0f);
	parse(&msg, vectors_find(&v, "friend_is"));
	cr_expect_eq(msg.number, 1);
	cr_expect_eq(msg.id[0], 0x37);
	parse(&msg, vectors_find(&v, "host_open_1_again"));
	cr_expect_eq(msg.code, 64101);
	cr_expect_eq(msg.secret[7], 0xb7);
	parse(&msg, vectors_find(&v, "join_1_without_token"));
	cr_expect_not(msg.has_token);
	vectors_free(&v);
}

static const struct short_case {
	uint8_t           op, version;
	size_t            bytes_min;
	enum tunnel_parse below; /* what one byte less is */
} short_cases[] = {
	{ TUNNEL_HOST_OPEN, 2, 18, TUNNEL_BAD_VERSION }, { TUNNEL_HOST_OPEN, 1, 12, TUNNEL_BAD_VERSION },
	{ TUNNEL_JOIN, 2, 30, TUNNEL_BAD_VERSION },      { TUNNEL_JOIN, 1, 4, TUNNEL_BAD_VERSION },
	{ TUNNEL_VAULT_OPEN, 2, 18, TUNNEL_SHORT },      { TUNNEL_FROM_HOST, 0, 3, TUNNEL_SHORT },
	{ TUNNEL_FROM_FRIEND, 0, 1, TUNNEL_SHORT },      { TUNNEL_PATHS_FROM_FRIEND, 0, 10, TUNNEL_SHORT },
	{ TUNNEL_PATHS_FROM_HOST, 0, 4, TUNNEL_SHORT },  { TUNNEL_GAME_STATE, 0, 2, TUNNEL_SHORT },
};

Test(tunnel_wire, each_minimum_length_is_enough_and_one_byte_less_is_not)
{
	for (size_t i = 0; i < COUNT_OF(short_cases); i++) {
		const struct short_case *c         = &short_cases[i];
		uint8_t                  bytes[64] = { c->op, c->version };
		struct tunnel_msg        msg;

		cr_expect_eq(tunnel_parse_client(&msg, bytes, c->bytes_min), TUNNEL_PARSED, "opcode %u", c->op);
		cr_expect_eq(tunnel_parse_client(&msg, bytes, c->bytes_min + 7), TUNNEL_PARSED,
		             "opcode %u with bytes behind it", c->op);
		cr_expect_eq(tunnel_parse_client(&msg, bytes, c->bytes_min - 1), c->below, "opcode %u", c->op);
	}
}

Test(tunnel_wire, an_opening_of_one_byte_is_ignored_and_of_another_version_is_a_fault)
{
	static const uint8_t ops[] = { TUNNEL_HOST_OPEN, TUNNEL_JOIN };
	struct tunnel_msg    msg;

	for (size_t i = 0; i < COUNT_OF(ops); i++) {
		uint8_t bytes[64] = { ops[i], 3 };

		cr_expect_eq(tunnel_parse_client(&msg, bytes, 1), TUNNEL_SHORT);
		cr_expect_eq(tunnel_parse_client(&msg, bytes, 2), TUNNEL_BAD_VERSION);
		cr_expect_eq(tunnel_parse_client(&msg, bytes, sizeof(bytes)), TUNNEL_BAD_VERSION);
	}

	uint8_t vault[18] = { TUNNEL_VAULT_OPEN, 1 };

	cr_expect_eq(tunnel_parse_client(&msg, vault, sizeof(vault)), TUNNEL_BAD_VERSION);
}

Test(tunnel_wire, a_token_of_protocol_1_needs_all_its_bytes)
{
	uint8_t           bytes[12] = { TUNNEL_JOIN, 1, 0x65, 0xfa, 1, 2, 3, 4, 5, 6, 7, 8 };
	struct tunnel_msg msg;

	cr_expect_eq(tunnel_parse_client(&msg, bytes, 11), TUNNEL_PARSED);
	cr_expect_not(msg.has_token);
	cr_expect_eq(tunnel_parse_client(&msg, bytes, 12), TUNNEL_PARSED);
	cr_expect(msg.has_token);
}

Test(tunnel_wire, opcodes_that_a_client_may_not_send_are_unknown)
{
	static const uint8_t theirs[] = { 1, 3, 5, 8, 10, 12, 14, 16, 20 };

	for (unsigned op = 0; op < 256; op++) {
		uint8_t           bytes[64] = { (uint8_t)op, 2 };
		struct tunnel_msg msg;
		bool              known = memchr(theirs, (int)op, sizeof(theirs)) != NULL;

		cr_expect_eq(tunnel_parse_client(&msg, bytes, sizeof(bytes)), known ? TUNNEL_PARSED : TUNNEL_UNKNOWN,
		             "opcode %u", op);
	}
}

Test(tunnel_wire, a_message_that_does_not_fit_is_not_built)
{
	struct tunnel_msg msg = { .op = TUNNEL_HOST_OPENED, .version = 2 };
	uint8_t           buf[13];
	struct wr         w = wr_over(buf, 12);

	tunnel_build(&w, &msg);
	cr_expect_not(wr_ok(&w));
	w = wr_over(buf, 13);
	tunnel_build(&w, &msg);
	cr_expect_eq(wr_len(&w), 13);
}

/* A client of ours, and the fuzzer, read what a server says: nothing, too little, or what no server says. */
Test(tunnel_wire, what_no_server_says_is_refused)
{
	struct tunnel_msg msg;
	uint8_t           stranger = 0xee;

	for (uint8_t version = 1; version <= 2; version++) {
		cr_expect_eq(tunnel_parse_server(&msg, version, NULL, 0), TUNNEL_SHORT);
		cr_expect_eq(tunnel_parse_server(&msg, version, &stranger, 1), TUNNEL_UNKNOWN);
	}
}

Test(tunnel_wire, every_known_message_has_a_name_and_no_other)
{
	size_t known = 0;

	for (unsigned op = 0; op < 256; op++)
		known += strcmp(tunnel_op_name((uint8_t)op), "?") != 0;
	cr_expect_gt(known, 10);
	cr_expect_str_eq(tunnel_op_name(0xee), "?");
	cr_expect_str_neq(tunnel_op_name(TUNNEL_VAULT_OPEN), "?");
}

Test(tunnel_wire, a_message_that_is_none_is_not_written)
{
	uint8_t           bytes[100];
	struct wr         w   = wr_over(bytes, sizeof(bytes));
	struct tunnel_msg msg = { .op = 0xee, .version = 2 };

	tunnel_build(&w, &msg);
	cr_expect(w.failed);
}

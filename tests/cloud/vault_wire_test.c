/*
 * The vault's messages: the vectors both ways, and every length that is too short.
 */
#include "cloud/vault_wire.h"

#include "base/auto.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <string.h>

static struct vault_msg msg;

static enum vault_parse parse(const struct vector *v)
{
	return v->to_server ? vault_parse_client(&msg, v->data, v->len) : vault_parse_server(&msg, v->data, v->len);
}

Test(vault_wire, each_vector_parses_and_builds_back)
{
	struct vectors all = vectors_load("vault.hex");

	for (size_t i = 0; i < all.count; i++) {
		const struct vector *v = &all.rows[i];
		uint8_t              buf[VECTOR_BYTES_MAX];
		struct wr            w = wr_over(buf, sizeof(buf));

		cr_assert_eq(parse(v), VAULT_PARSED, "%s", v->name);
		vault_build(&w, &msg);
		cr_expect(wr_len(&w) == v->len && memcmp(buf, v->data, v->len) == 0, "%s", v->name);
	}
	vectors_free(&all);
}

Test(vault_wire, fields_come_out_as_they_went_in)
{
	static const uint8_t campaign[] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };
	struct vectors       all        = vectors_load("vault.hex");

	parse(vectors_find(&all, "put"));
	cr_expect_arr_eq(msg.campaign, campaign, sizeof(campaign));
	cr_expect_eq(msg.size, 200);
	parse(vectors_find(&all, "put_huge"));
	cr_expect_eq(msg.size, UINT32_MAX);
	parse(vectors_find(&all, "get_previous"));
	cr_expect_arr_eq(msg.campaign, campaign, sizeof(campaign));
	cr_expect_eq(msg.which, 1);
	parse(vectors_find(&all, "forget"));
	cr_expect_arr_eq(msg.campaign, campaign, sizeof(campaign));
	parse(vectors_find(&all, "part_up"));
	cr_expect_eq(msg.rest_len, 4);
	parse(vectors_find(&all, "part_up_empty"));
	cr_expect_eq(msg.rest_len, 0);
	parse(vectors_find(&all, "fault_bad_data"));
	cr_expect_eq(msg.fault, 12);
	parse(vectors_find(&all, "open"));
	cr_expect_eq(msg.version, VAULT_VERSION);
	cr_expect_eq(msg.key[15], 15);
	vectors_free(&all);
}

Test(vault_wire, what_is_shorter_than_its_layout_is_no_message)
{
	static const struct {
		uint8_t op;
		size_t  bytes_min;
	} rows[] = {
		{ VAULT_ECHO, 1 }, { VAULT_OPEN, 18 }, { VAULT_PUT, 13 }, { VAULT_PART, 1 },
		{ VAULT_END, 1 },  { VAULT_LIST, 1 },  { VAULT_GET, 10 }, { VAULT_FORGET, 9 },
	};
	uint8_t bytes[32] = { 0 };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bytes[0] = rows[i].op;
		for (size_t len = 1; len < rows[i].bytes_min; len++)
			cr_expect_eq(vault_parse_client(&msg, bytes, len), VAULT_SHORT, "%u of %zu", rows[i].op, len);
		cr_expect_eq(vault_parse_client(&msg, bytes, rows[i].bytes_min), VAULT_PARSED, "%u", rows[i].op);
		cr_expect_eq(vault_parse_client(&msg, bytes, sizeof(bytes)), VAULT_PARSED, "%u, more behind",
		             rows[i].op);
	}
	cr_expect_eq(vault_parse_client(&msg, bytes, 0), VAULT_UNKNOWN);
}

Test(vault_wire, no_other_opcode_is_a_clients)
{
	static const uint8_t known[]   = { 3, 20, 22, 24, 25, 27, 29, 33 };
	uint8_t              bytes[32] = { 0 };

	for (unsigned op = 0; op < 256; op++) {
		bytes[0]      = (uint8_t)op;
		bool known_op = memchr(known, (int)op, sizeof(known)) != NULL;

		cr_expect_eq(vault_parse_client(&msg, bytes, sizeof(bytes)), known_op ? VAULT_PARSED : VAULT_UNKNOWN,
		             "%u", op);
	}
}

Test(vault_wire, what_has_no_row_or_no_room_is_not_built)
{
	uint8_t   buf[12];
	struct wr w = wr_over(buf, sizeof(buf));

	vault_build(&w, &(struct vault_msg){ .op = (enum vault_op)31 });
	cr_expect_not(wr_ok(&w));
	w = wr_over(buf, sizeof(buf));
	vault_build(&w, &(struct vault_msg){ .op = VAULT_PUT });
	cr_expect_not(wr_ok(&w));
}

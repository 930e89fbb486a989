/*
 * The checkpoint container: the vectors in every way of cutting them, its limits, and what its text says.
 */
#include "cloud/container_wire.h"

#include "base/auto.h"
#include "base/bytes.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct container      c;
static struct container_text text;

/* Cut at every seed-th pseudo-random place; seed 1: byte by byte, 0: whole. */
static enum err read_cut(const uint8_t *bytes, size_t len, bool announced, unsigned seed)
{
	size_t at = 0;

	container_init(&c, announced ? len : 0);
	for (unsigned state = seed; at < len;) {
		state = state * 1103515245 + 12345;

		size_t take = seed == 0 ? len : seed == 1 ? 1 : state >> 16 & 7;

		if (take > len - at)
			take = len - at;
		container_add(&c, bytes + at, take);
		at += take;
	}
	return container_end(&text, &c);
}

static enum err read_whole(const void *bytes, size_t len)
{
	return read_cut(bytes, len, true, 0);
}

/* In out: a container of this text and so many bytes of savegame. Its length. */
static size_t build(uint8_t *out, size_t cap, uint32_t version, const void *progress, size_t text_len, const void *save,
                    size_t save_len)
{
	struct wr w = wr_over(out, cap);

	wr_bytes(&w, "CCSV", 4);
	wr_u32(&w, version);
	wr_u32(&w, (uint32_t)text_len);
	wr_bytes(&w, progress, text_len);
	wr_u32(&w, (uint32_t)save_len);
	wr_bytes(&w, save, save_len);
	cr_assert(wr_ok(&w));
	return wr_len(&w);
}

Test(container_wire, each_vector_has_one_verdict_however_it_is_cut)
{
	struct vectors v = vectors_load("container.hex");

	for (size_t i = 0; i < v.count; i++) {
		const struct vector *row  = &v.rows[i];
		enum err             want = strncmp(row->name, "ok_", 3) == 0 ? ERR_OK : ERR_CONTENT;

		for (unsigned seed = 0; seed < 40; seed++)
			for (int announced = 0; announced < 2; announced++)
				cr_expect_eq(read_cut(row->data, row->len, announced, seed), want, "%s, cut %u",
				             row->name, seed);
	}
	vectors_free(&v);
}

Test(container_wire, each_good_vector_is_built_again_from_its_parts)
{
	struct vectors v = vectors_load("container.hex");

	for (size_t i = 0; i < v.count; i++) {
		const struct vector *row = &v.rows[i];
		uint8_t              again[VECTOR_BYTES_MAX];

		if (read_whole(row->data, row->len) != ERR_OK)
			continue;
		size_t len = build(again, sizeof(again), row->data[4], c.head + 12, c.text_len,
		                   row->data + 16 + c.text_len, c.save_len);
		cr_expect(len == row->len && memcmp(again, row->data, len) == 0, "%s", row->name);
	}
	vectors_free(&v);
}

Test(container_wire, nothing_at_all_is_no_container)
{
	container_init(&c, 0);
	cr_expect_eq(container_end(&text, &c), ERR_CONTENT);
}

Test(container_wire, bytes_are_refused_as_soon_as_they_can_be_no_container)
{
	static const uint8_t front[12] = { 'C', 'C', 'S', 'V', 1, 0, 0, 0, 1, 0, 1, 0 };

	container_init(&c, 100000);
	cr_expect_eq(container_add(&c, "CC", 2), ERR_OK);
	cr_expect_eq(container_add(&c, "x", 1), ERR_CONTENT);
	cr_expect_eq(container_add(&c, "V", 1), ERR_CONTENT, "and stay so");

	container_init(&c, 100000);
	cr_expect_eq(container_add(&c, front, 11), ERR_OK);
	cr_expect_eq(container_add(&c, front + 11, 1), ERR_CONTENT, "a text of 65,537 bytes");
}

Test(container_wire, a_text_of_65536_bytes_passes_and_one_more_does_not)
{
	size_t         len;
	static uint8_t progress[CONTAINER_TEXT_MAX + 1], bytes[CONTAINER_TEXT_MAX + 100];

	memset(progress, 'x', sizeof(progress));
	memcpy(progress + CONTAINER_TEXT_MAX - 7, "\nname=z", 7);
	len = build(bytes, sizeof(bytes), 1, progress, CONTAINER_TEXT_MAX, "s", 1);
	cr_expect_eq(read_whole(bytes, len), ERR_OK);
	cr_expect_str_eq(text.name, "z");
	len = build(bytes, sizeof(bytes), 1, progress, CONTAINER_TEXT_MAX + 1, "s", 1);
	cr_expect_eq(read_whole(bytes, len), ERR_CONTENT);
}

static void parse(const char *progress)
{
	container_parse_text(&text, (const uint8_t *)progress, strlen(progress));
}

Test(container_wire, the_text_says_what_is_shown)
{
	static const uint8_t campaign[] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0xaa };

	parse("version=1\r\ncampaign=11223344556677Aa\r\nname=My = game\r\nlevel=Island\nstamp=1700000000\n"
	      "checkpoint=beach\nno separator\n=empty key\nhostname=Anna");
	cr_expect(text.has_campaign && memcmp(text.campaign, campaign, sizeof(campaign)) == 0);
	cr_expect_str_eq(text.name, "My = game", "only the first = separates");
	cr_expect_str_eq(text.level, "Island");
	cr_expect_str_eq(text.checkpoint, "beach");
	cr_expect_str_eq(text.hostname, "Anna", "the last line needs no end");
	cr_expect_eq(text.stamp, 1700000000);
}

Test(container_wire, of_a_repeated_key_the_last_counts)
{
	parse("campaign=1122334455667788\nstamp=5\nname=a\nname=b\nstamp=x\ncampaign=zz\n");
	cr_expect_str_eq(text.name, "b");
	cr_expect_eq(text.stamp, 0);
	cr_expect_not(text.has_campaign);
}

Test(container_wire, a_stamp_is_digits_and_anything_else_is_0)
{
	static const struct {
		const char *line;
		int64_t     stamp;
	} cases[] = {
		{ "stamp=1", 1 },
		{ "stamp=", 0 },
		{ "stamp=-1", 0 },
		{ "stamp=1x", 0 },
		{ "stamp= 1", 0 },
		{ "stamp=9223372036854775807", INT64_MAX },
		{ "stamp=9223372036854775808", INT64_MAX },
		{ "stamp=18446744073709551615", INT64_MAX },
		{ "stamp=99999999999999999999999999999", INT64_MAX },
		{ "stamp=99999999999999999999999999999x", 0 },
		{ "stamp=00000000000000000000000000001", 1 },
		{ "STAMP=1", 0 },
		{ "stamp =1", 0 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		parse(cases[i].line);
		cr_expect_eq(text.stamp, cases[i].stamp, "%s", cases[i].line);
	}
}

Test(container_wire, a_stamp_that_does_not_fit_is_far_ahead)
{
	struct vectors       v   = vectors_load("container.hex");
	const struct vector *row = vectors_find(&v, "ok_stamp_large");

	cr_expect_eq(read_whole(row->data, row->len), ERR_OK);
	cr_expect_eq(text.stamp, INT64_MAX);
	vectors_free(&v);
}

Test(container_wire, shown_texts_are_64_clean_characters)
{
	char line[400];

	memcpy(line, "name=", 6);
	for (size_t i = 0; i < 65; i++)
		strcat(line, i == 0 ? "\t" : "\xf0\x9f\x8e\xae");
	parse(line);
	cr_expect_eq(strlen(text.name), 1 + 63 * 4);
	cr_expect_eq(text.name[0], ' ');
	parse("level=M\xfc\xc2\x85\x7fx");
	cr_expect_str_eq(text.level, "M\xef\xbf\xbd  x");
}

Test(container_wire, members_are_ids_in_any_case_named_once)
{
	static const uint8_t a[] = { 0xaa, 0xbb, 0xcc, 0xdd, 0, 1, 2, 3 };

	parse("player=id:AABBccdd00010203\tAnna\tgun\nplayer=name:Bert\nplayer=id:aabbccdd00010203\n"
	      "player=id:aabbccdd0001020\nplayer=id:aabbccdd000102030\nplayer=id:aabbccdd0001020g\n"
	      "player=aabbccdd00010203\nplayer=id:0000000000000001\r\nplayer=\n");
	cr_assert_eq(text.member_count, 2);
	cr_expect_arr_eq(text.members[0], a, sizeof(a));
	cr_expect_eq(text.members[1][7], 1);
}

Test(container_wire, of_more_members_than_there_is_room_for_the_first_count)
{
	static char many[(CONTAINER_MEMBERS_MAX + 1) * 32];
	size_t      len = 0;

	for (unsigned i = 0; i <= CONTAINER_MEMBERS_MAX; i++)
		len += (size_t)snprintf(many + len, sizeof(many) - len, "player=id:%016x\n", i);
	parse(many);
	cr_expect_eq(text.member_count, CONTAINER_MEMBERS_MAX);
	cr_expect_eq(text.members[CONTAINER_MEMBERS_MAX - 1][7], 0xff);
}

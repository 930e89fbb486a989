/*
 * LISTING: its lines, what is shown of hostile texts, and where it is cut.
 */
#include "cloud/listing_wire.h"

#include <criterion/criterion.h>
#include <string.h>

static struct listing l;

static const uint8_t campaign[8] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };

static struct listing_line line_of(const char *name)
{
	return (struct listing_line){ .campaign   = campaign,
		                      .is_owner   = true,
		                      .stamp      = 5,
		                      .level      = "L",
		                      .checkpoint = "C",
		                      .name       = name,
		                      .hostname   = "H" };
}

static const char *text(void)
{
	static char out[VAULT_MESSAGE_BYTES];

	memcpy(out, l.message + 1, l.len - 1);
	out[l.len - 1] = '\0';
	return out;
}

Test(listing_wire, no_campaigns_are_no_text)
{
	listing_init(&l);
	cr_expect_eq(l.len, 1);
	cr_expect_eq(l.message[0], 28);
}

Test(listing_wire, lines_have_eight_fields_and_LF_between_them)
{
	struct listing_line a = line_of("A"), b = line_of("B");

	b.is_owner     = false;
	b.has_previous = true;
	b.stamp        = 1700000000;
	listing_init(&l);
	cr_expect(listing_add(&l, &a));
	cr_expect_str_eq(text(), "1122334455667788\town\t5\tL\tC\tA\tH\t0");
	cr_expect(listing_add(&l, &b));
	cr_expect_str_eq(text(), "1122334455667788\town\t5\tL\tC\tA\tH\t0\n"
	                         "1122334455667788\tmember\t1700000000\tL\tC\tB\tH\t1");
}

Test(listing_wire, control_characters_never_shift_a_field)
{
	struct listing_line a = line_of("a\tb\nc\rd\x7f\xc2\x85");

	listing_init(&l);
	cr_expect(listing_add(&l, &a));
	cr_expect_str_eq(text(), "1122334455667788\town\t5\tL\tC\ta b c d  \tH\t0");
}

Test(listing_wire, stamps_fit_into_32_bits)
{
	struct listing_line a = line_of("A"), b = line_of("B");

	a.stamp = -1;
	b.stamp = INT64_C(4294967296);
	listing_init(&l);
	cr_expect(listing_add(&l, &a));
	cr_expect(listing_add(&l, &b));
	cr_expect_str_eq(text(), "1122334455667788\town\t0\tL\tC\tA\tH\t0\n"
	                         "1122334455667788\town\t4294967295\tL\tC\tB\tH\t0");
}

Test(listing_wire, it_is_cut_at_the_end_of_a_line)
{
	struct listing_line a     = line_of("123456789012"); /* 43 bytes and LF: 1 + 1140 * 44 - 1 = 50,160 */
	struct listing_line exact = line_of("A");            /* 32 bytes and LF */
	size_t              lines = 0;

	listing_init(&l);
	while (listing_add(&l, &a))
		lines++;
	cr_expect_eq(lines, 1140);
	cr_expect_eq(l.len, 1 + 1140 * 44 - 1);
	cr_expect_neq(l.message[l.len - 1], '\n');
	cr_expect(l.is_cut);
	cr_expect_not(listing_add(&l, &exact), "nothing is added behind the cut, however short");
}

Test(listing_wire, a_message_of_exactly_50176_bytes_is_full)
{
	struct listing_line a = line_of("123456789012");
	char                fill[65];

	/* 1,138 lines make 50,072 bytes; 104 are left: LF, 31 bytes of fields, 72 of text. */
	for (int over = 0; over < 2; over++) {
		struct listing_line last = line_of(fill);

		memset(fill, 'x', 64);
		fill[64]   = '\0';
		last.level = over ? "1234567890" : "123456789";
		listing_init(&l);
		for (int i = 0; i < 1138; i++)
			cr_assert(listing_add(&l, &a));
		cr_assert_eq(l.len, 50072);
		cr_expect_eq(listing_add(&l, &last), !over);
		cr_expect_eq(l.len, over ? 50072 : 50176);
	}
}

Test(listing_wire, the_longest_texts_fit_a_line)
{
	char                wide[64 * 4 + 1] = "";
	struct listing_line a;

	for (int i = 0; i < 64; i++)
		strcat(wide, "\xf0\x9f\x8e\xae");
	a       = line_of(wide);
	a.level = a.checkpoint = a.hostname = wide;
	a.stamp                             = UINT32_MAX;
	a.is_owner                          = false;
	listing_init(&l);
	cr_expect(listing_add(&l, &a));
	cr_expect_eq(l.len, 1 + 16 + 1 + 6 + 1 + 10 + 4 * (1 + 256) + 1 + 1);
}

/*
 * The look at a request's head: where it ends, and what it says about the client.
 */
#include "net/ws_peek.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define LINE "GET /tunnel?x=1 HTTP/1.1\r\n"

static struct http_head fields;

/* Memory of its exact size, so that a look behind the end is seen. */
static enum err collect(const char *text, size_t len)
{
	char *copy = malloc(len ? len : 1);

	cr_assert_not_null(copy);
	memcpy(copy, text, len);
	enum err e = ws_peek_fields(&fields, copy, len, "X-Forwarded-For");
	free(copy);
	return e;
}

static size_t end_of(const char *text)
{
	return ws_peek_end(text, strlen(text));
}

Test(ws_peek, the_end_is_the_first_empty_line)
{
	cr_expect_eq(end_of("GET / HTTP/1.1\r\nA: b\r\n\r\nmore\r\n\r\n"), 24);
	cr_expect_eq(end_of("GET / HTTP/1.1\nA: b\n\nmore"), 21);
	cr_expect_eq(end_of("GET / HTTP/1.1\r\nA: b\r\n\r"), 0);
	cr_expect_eq(end_of("GET / HTTP/1.1\r\nA: b\r\n"), 0);
	cr_expect_eq(end_of("a\r\n \r\nb"), 0);
	cr_expect_eq(end_of(""), 0);
}

Test(ws_peek, all_lines_of_the_forwarding_field_are_joined_in_order)
{
	static const char text[] = LINE "X-Forwarded-For: 1.1.1.1, 2.2.2.2\r\nHost: a\r\nX-Forwarded: 9.9.9.9\r\n"
					"x-forwarded-for:\t3.3.3.3 \r\nX-Real-IP: 4.4.4.4\r\n\r\n";

	cr_assert_eq(collect(text, strlen(text)), ERR_OK);
	cr_expect(fields.has_forwarded);
	cr_expect_eq(fields.forwarded_len, 24);
	cr_expect_arr_eq(fields.forwarded, "1.1.1.1, 2.2.2.2,3.3.3.3", 24);
}

Test(ws_peek, a_head_without_the_field_has_none)
{
	static const char text[] = LINE "Host: a\r\nUpgrade: websocket\r\n\r\n";

	cr_assert_eq(collect(text, strlen(text)), ERR_OK);
	cr_expect_not(fields.has_forwarded);
}

Test(ws_peek, what_two_programs_may_read_differently_is_malformed)
{
	static const char *const texts[] = {
		"",
		"\r\n",
		LINE "no colon\r\n\r\n",
		LINE "A: b\r\n folded: c\r\n\r\n",
		LINE "A : b\r\n\r\n",
		LINE ": b\r\n\r\n",
		LINE "Host: a\r\nHost: b\r\n\r\n",
		LINE "Content-Length: 5\r\n\r\n",
		LINE "Transfer-Encoding: chunked\r\n\r\n",
		LINE "A: b\r\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		cr_expect_eq(collect(texts[i], strlen(texts[i])), ERR_MALFORMED, "%s", texts[i]);
	cr_expect_eq(collect(LINE "A: b\0c\r\n\r\n", sizeof(LINE) - 1 + 10), ERR_MALFORMED, "a zero byte");
}

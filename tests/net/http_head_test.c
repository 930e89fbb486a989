/*
 * Heads that can be read in two ways, and paths that look like others.
 */
#include "net/http_head.h"

#include "base/auto.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Reads "Name: value" lines, and says what the head is worth for this method. */
static enum err judged(struct http_head *h, const char *method, const char *lines)
{
	char  copy[8192];
	char *rest = copy;

	cr_assert(text_copy(copy, sizeof(copy), lines));
	http_head_init(h, "X-Forwarded-For");
	while (*rest) {
		char *line  = strsep(&rest, "\n");
		char *value = strchr(line, ':');

		cr_assert_not_null(value, "%s", line);
		*value = '\0';
		http_head_add(h, line, value + 1 + strspn(value + 1, " "));
		if (!rest)
			break;
	}
	return http_head_check(h, method, false, false);
}

Test(http_head, ordinary_heads_pass)
{
	static const struct {
		const char *method, *lines;
	} rows[] = {
		{ "GET", "Host: a" },
		{ "GET", "" },
		{ "HEAD", "Host: a\nAuthorization: Bearer x\nAccept: */*\nAccept: text/html" },
		{ "GET", "Host: a\nContent-Length: 0" },
		{ "HEAD", "Host: a\nContent-Length: 000" },
		{ "POST", "Host: a\nContent-Length: 5" },
		{ "DELETE", "Host: a" },
		{ "GET", "X-Odd.Name!#$%&'*+-^_`|~1: x" },
	};
	struct http_head h;

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(judged(&h, rows[i].method, rows[i].lines), ERR_OK, "%s %s", rows[i].method, rows[i].lines);
}

Test(http_head, ambiguous_heads_are_malformed)
{
	static const struct {
		const char *method, *lines;
	} rows[] = {
		{ "POST", "Content-Length: 5\nContent-Length: 5" },
		{ "POST", "Content-Length: 5\ncontent-length: 6" },
		{ "GET", "Content-Length: 0\nContent-Length: 0" },
		{ "GET", "Host: a\nHost: a" },
		{ "GET", "Host: a\nHOST: b" },
		{ "GET", "Authorization: x\nAuthorization: x" },
		{ "POST", "Content-Length: 5\nTransfer-Encoding: chunked" },
		{ "POST", "Transfer-Encoding: chunked" },
		{ "POST", "Transfer-Encoding: gzip, chunked" },
		{ "GET", "Transfer-Encoding: identity" },
		{ "GET", "Content-Length: 1" },
		{ "HEAD", "Content-Length: 1" },
		{ "GET", "Content-Length: x" },
		{ "POST", "Content-Length : 5" },
		{ "GET", "X y: z" },
		{ "GET", "X\t: z" },
		{ "GET", " X: z" },
		{ "GET", ": z" },
		{ "GET", "X(y): z" },
		{ "GET", "X\x80: z" },
		{ "GET", "X\x01: z" },
		{ "GET", "\"X\": z" },
	};
	struct http_head h;

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(judged(&h, rows[i].method, rows[i].lines), ERR_MALFORMED, "%s %s", rows[i].method,
		             rows[i].lines);
}

Test(http_head, chunks_are_taken_where_they_are_expected)
{
	static const struct {
		const char *method, *lines;
		enum err    e;
	} rows[] = {
		{ "PUT", "Transfer-Encoding: chunked", ERR_OK },
		{ "PUT", "Host: a\ntransfer-encoding: chunked", ERR_OK },
		{ "PUT", "Content-Length: 5", ERR_OK },
		{ "PUT", "Transfer-Encoding: Chunked", ERR_MALFORMED },
		{ "PUT", "Transfer-Encoding: chunked ", ERR_MALFORMED },
		{ "PUT", "Transfer-Encoding: xchunked", ERR_MALFORMED },
		{ "PUT", "Transfer-Encoding: gzip, chunked", ERR_MALFORMED },
		{ "PUT", "Transfer-Encoding: identity", ERR_MALFORMED },
		{ "PUT", "Transfer-Encoding:", ERR_MALFORMED },
		{ "PUT", "Transfer-Encoding: chunked\nTransfer-Encoding: chunked", ERR_MALFORMED },
		{ "PUT", "Transfer-Encoding: gzip\nTransfer-Encoding: chunked", ERR_MALFORMED },
		{ "PUT", "Transfer-Encoding: chunked\nContent-Length: 5", ERR_MALFORMED },
		{ "PUT", "Content-Length: 0\nTransfer-Encoding: chunked", ERR_MALFORMED },
		{ "GET", "Transfer-Encoding: chunked", ERR_MALFORMED },
	};
	struct http_head h;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		judged(&h, rows[i].method, rows[i].lines);
		cr_expect_eq(http_head_check(&h, rows[i].method, true, false), rows[i].e, "%s %s", rows[i].method,
		             rows[i].lines);
	}
}

Test(http_head, the_length_of_the_body_is_read)
{
	static const struct {
		const char *lines;
		int64_t     length;
		enum err    e;
	} rows[] = {
		{ "Host: a", 0, ERR_OK },
		{ "Content-Length: 0", 0, ERR_OK },
		{ "Content-Length: 17", 17, ERR_OK },
		{ "Content-Length: 9223372036854775807", INT64_MAX, ERR_OK },
		{ "Content-Length: 9223372036854775808", -1, ERR_MALFORMED },
		{ "Content-Length: -1", -1, ERR_MALFORMED },
		{ "Content-Length: +1", -1, ERR_MALFORMED },
		{ "Content-Length: 5, 5", -1, ERR_MALFORMED },
		{ "Content-Length: 0x10", -1, ERR_MALFORMED },
		{ "Content-Length:", -1, ERR_MALFORMED },
		{ "Transfer-Encoding: chunked", -1, ERR_MALFORMED },
	};
	struct http_head h;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect_eq(judged(&h, "PUT", rows[i].lines), rows[i].e, "%s", rows[i].lines);
		cr_expect_eq(h.length, rows[i].length, "%s", rows[i].lines);
	}
}

Test(http_head, only_a_length_or_a_coding_is_a_body)
{
	struct http_head h;

	judged(&h, "POST", "Host: a\nContent-Length: 0");
	cr_expect_not(h.has_body);
	judged(&h, "POST", "Content-Length: 10");
	cr_expect(h.has_body);
	judged(&h, "POST", "Transfer-Encoding: chunked");
	cr_expect(h.has_body);
}

Test(http_head, forwarding_lines_are_joined_in_their_order)
{
	struct http_head h;

	judged(&h, "GET", "Host: a");
	cr_expect_not(h.has_forwarded);

	judged(&h, "GET", "X-Forwarded-For: 1.1.1.1\nHost: a\nx-forwarded-for: 2.2.2.2, 3.3.3.3\nX-Real-IP: 4.4.4.4");
	cr_expect(h.has_forwarded);
	cr_expect_eq(h.forwarded_len, strlen("1.1.1.1,2.2.2.2, 3.3.3.3"));
	cr_expect_arr_eq(h.forwarded, "1.1.1.1,2.2.2.2, 3.3.3.3", h.forwarded_len);

	judged(&h, "GET", "X-Forwarded-For:\nX-Forwarded-For: 2.2.2.2\nX-Forwarded-For:");
	cr_expect_eq(h.forwarded_len, strlen(",2.2.2.2,"));
	cr_expect_arr_eq(h.forwarded, ",2.2.2.2,", h.forwarded_len);
}

Test(http_head, forwarding_lines_over_the_limit_never_fit_again)
{
	struct http_head h;
	char             long_value[HTTP_FORWARDED_BYTES_MAX + 2];

	memset(long_value, 'x', sizeof(long_value));
	long_value[HTTP_FORWARDED_BYTES_MAX] = '\0';
	http_head_init(&h, "Forwarded-By");
	http_head_add(&h, "Forwarded-By", long_value);
	cr_expect_eq(h.forwarded_len, HTTP_FORWARDED_BYTES_MAX);

	http_head_add(&h, "Forwarded-By", "");
	cr_expect_eq(h.forwarded_len, HTTP_FORWARDED_BYTES_MAX + 1, "the comma was one too many");
	http_head_add(&h, "Forwarded-By", "1.2.3.4");
	cr_expect_eq(h.forwarded_len, HTTP_FORWARDED_BYTES_MAX + 1);

	long_value[HTTP_FORWARDED_BYTES_MAX]     = 'x';
	long_value[HTTP_FORWARDED_BYTES_MAX + 1] = '\0';
	http_head_init(&h, "Forwarded-By");
	http_head_add(&h, "Forwarded-By", long_value);
	cr_expect_eq(h.forwarded_len, HTTP_FORWARDED_BYTES_MAX + 1);
	http_head_add(&h, "Forwarded-By", "1.2.3.4");
	cr_expect_eq(h.forwarded_len, HTTP_FORWARDED_BYTES_MAX + 1);
}

Test(http_head, odd_paths_are_not_plain)
{
	static const char *const plain[] = { "/", "/healthz", "/v1/a.b", "/a/b/", "/a..b", "/~x", "/a:b@c" };
	/* clang-format off */
	static const char *const odd[] = {
		"",      "*",        "healthz", "http://a/healthz", "a:1",      "/%68ealthz", "/a%2fb", "/a%00",
		"/a\\b", "//a",      "/a//b",   "/a//",             "/.",       "/..",        "/a/..",  "/a/../b",
		"/./a",  "/.hidden", "/a/.b",   "/...",
	};
	/* clang-format on */

	for (size_t i = 0; i < COUNT_OF(plain); i++)
		cr_expect(http_path_is_plain(plain[i]), "%s", plain[i]);
	for (size_t i = 0; i < COUNT_OF(odd); i++)
		cr_expect_not(http_path_is_plain(odd[i]), "%s", odd[i]);
}

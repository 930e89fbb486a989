#include "support/https_client.h"

#include "support/dial.h"
#include "support/http_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES_MAX 8192

struct tls_client https_open(int port, const char *from)
{
	struct tls_client c;

	cr_assert(tls_client_shake(&c, http_fixture_dial_port(port, from), NULL, 0));
	return c;
}

void https_say(struct tls_client *c, const char *text)
{
	cr_assert(tls_client_send(c, text, strlen(text)));
}

static void hear_head(struct tls_client *c, char *out)
{
	size_t len = 0;

	while (len < HEAD_BYTES_MAX - 1 && tls_client_read(c, out + len, 1, DIAL_PATIENCE_MS) == 1)
		if (++len >= 4 && memcmp(out + len - 4, "\r\n\r\n", 4) == 0)
			break;
	out[len] = '\0';
}

struct http_result https_hear(struct tls_client *c)
{
	struct http_result r = { .head = malloc(HEAD_BYTES_MAX) };
	char               length[32];

	cr_assert_not_null(r.head);
	hear_head(c, r.head);
	if (strncmp(r.head, "HTTP/1.", 7) == 0)
		r.status = (int)strtol(r.head + strcspn(r.head, " "), NULL, 10);
	r.body_len = strtoul(http_result_header(&r, "Content-Length", length, sizeof(length)), NULL, 10);
	r.body     = calloc(1, r.body_len + 1);
	cr_assert_not_null(r.body);
	cr_assert_eq(tls_client_read(c, r.body, r.body_len, DIAL_PATIENCE_MS), r.body_len);
	return r;
}

int https_get(struct tls_client *c, const char *path)
{
	char request[256];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);
	https_say(c, request);

	struct http_result r      = https_hear(c);
	int                status = r.status;

	http_result_free(&r);
	return status;
}

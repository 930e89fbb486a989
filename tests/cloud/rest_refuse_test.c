/*
 * What is refused, with which code, and that a stranger learns nothing from it. The whole server.
 */
#include "base/auto.h"
#include "support/dial.h"
#include "support/rest_client.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAMPAIGN "00112233445566aa"
#define BELOW    "/v1/campaigns/" CAMPAIGN
#define META     "Coop-Meta: {}\r\n"

#define ANSWER AUTO(rest_freep) struct http_result

static struct server *s;

static void start(void)
{
	s = server_start(NULL);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(rest_refuse, .init = start, .fini = stop);

/* Every route that wants a key. */
static const struct {
	const char *method, *path;
} keyed[] = {
	{ "GET", "/v1/campaigns" },
	{ "GET", BELOW },
	{ "DELETE", BELOW },
	{ "GET", BELOW "/checkpoint" },
	{ "PUT", BELOW "/checkpoint" },
	{ "POST", BELOW "/restore?version=1" },
	{ "PUT", BELOW "/members/0011223344556677" },
	{ "DELETE", BELOW "/members/0011223344556677" },
	{ "POST", "/v1/me/code" },
};

static bool is_put(size_t i)
{
	return strstr(keyed[i].path, "/checkpoint") && strcmp(keyed[i].method, "PUT") == 0;
}

static struct http_result ask(size_t i, const char *player, const char *fields)
{
	return rest_ask(s, player, keyed[i].method, keyed[i].path, fields, is_put(i) ? "x" : NULL, is_put(i) ? 1 : 0);
}

Test(rest_refuse, without_a_right_key_nothing_is_said)
{
	static const char *const fields[] = {
		"",
		"Authorization: Bearer\r\n",
		"Authorization: Bearer \r\n",
		"Authorization: Basic 00112233445566778899aabbccddeeff\r\n",
		"Authorization: 00112233445566778899aabbccddeeff\r\n",
		"Authorization: Bearer 00112233445566778899aabbccddeef\r\n",
		"Authorization: Bearer 00112233445566778899aabbccddeeff0\r\n",
		"Authorization: Bearer 00112233445566778899aabbccddeefg\r\n",
		"Authorization: Bearer 00112233445566778899aabbccddee ff\r\n",
	};
	char text[40];

	for (size_t i = 0; i < COUNT_OF(keyed); i++) {
		for (size_t k = 0; k < (i == 0 ? COUNT_OF(fields) : 2); k++) {
			ANSWER r = ask(i, NULL, fields[k]);
			rest_expect(&r, 401, "no_key");
			cr_expect_str_eq(http_result_header(&r, "WWW-Authenticate", text, sizeof(text)), "Bearer");
		}
	}
	ANSWER upper = rest_ask(s, NULL, "GET", "/v1/campaigns",
	                        "authorization: bearer 00112233445566778899AABBCCDDEEFF\r\n", NULL, 0);
	rest_expect(&upper, 200, NULL);
	ANSWER two = rest_ask(s, "A", "GET", "/v1/campaigns",
	                      "Authorization: Bearer 00112233445566778899aabbccddeeff\r\n", NULL, 0);
	rest_expect(&two, 400, "malformed");
}

/* An address of this machine that is not loopback; false when it has none. */
static bool own_address(char out[INET_ADDRSTRLEN])
{
	struct ifaddrs *all, *at;
	bool            found = false;

	if (getifaddrs(&all) != 0)
		return false;
	for (at = all; at && !found; at = at->ifa_next) {
		struct sockaddr_in in;

		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&in, at->ifa_addr, sizeof(in));
		found = ntohl(in.sin_addr.s_addr) >> 24 != 127 &&
		        inet_ntop(AF_INET, &in.sin_addr, out, INET_ADDRSTRLEN);
	}
	freeifaddrs(all);
	return found;
}

/* From this machine's other address: net/ takes it for somebody elsewhere. */
static struct http_result ask_from_afar(const char *address, const char *request)
{
	struct sockaddr_in to  = { .sin_family = AF_INET, .sin_port = htons((uint16_t)s->http_port) };
	struct http_result r   = { .head = calloc(1, 8192), .body = NULL };
	int                fd  = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t             len = 0;

	cr_assert_eq(inet_pton(AF_INET, address, &to.sin_addr), 1);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	cr_assert(dial_send(fd, request, strlen(request), DIAL_PATIENCE_MS));
	for (ssize_t got = 1; got > 0 && len<8000; len += got> 0 ? (size_t)got : 0)
		got = dial_read(fd, r.head + len, 8000 - len, real_now_ms() + DIAL_PATIENCE_MS);
	close(fd);
	sscanf(r.head, "HTTP/1.1 %d", &r.status);
	char *body = strstr(r.head, "\r\n\r\n");
	r.body     = strdup(body ? body + 4 : "");
	r.body_len = strlen(r.body);
	return r;
}

Test(rest_refuse, a_key_does_not_travel_in_the_clear)
{
	char address[INET_ADDRSTRLEN], head[600];

	if (!own_address(address))
		cr_skip_test("this machine has loopback only");
	server_stop(s);
	server_set(s, "http.listen=0.0.0.0:0");
	server_restart(s);
	for (size_t i = 0; i < COUNT_OF(keyed); i++) {
		rest_head(head, sizeof(head), i % 2 ? NULL : "A", keyed[i].method, keyed[i].path,
		          is_put(i) ? "Content-Length: 0\r\n" : "");
		ANSWER r = ask_from_afar(address, head);
		rest_expect(&r, 403, "tls_required");
	}
	rest_head(head, sizeof(head), NULL, "GET", "/v1/openapi.json", "");
	ANSWER open = ask_from_afar(address, head);
	cr_expect_eq(open.status, 200, "it has no secrets");

	server_set(s, "http.allow_plain_keys=yes");
	server_restart(s);
	rest_head(head, sizeof(head), "A", "GET", "/v1/campaigns", "");
	ANSWER allowed = ask_from_afar(address, head);
	rest_expect(&allowed, 200, NULL);
}

Test(rest_refuse, reading_says_the_same_of_what_is_not_there_and_what_is_others)
{
	ANSWER put = rest_put(s, "A", CAMPAIGN, "", META, "bytes", 5);

	rest_expect(&put, 201, NULL);
	for (size_t i = 1; i < COUNT_OF(keyed); i++) {
		char path[200];

		if (is_put(i) || strcmp(keyed[i].path, "/v1/me/code") == 0)
			continue;
		snprintf(path, sizeof(path), "/v1/campaigns/00112233445566bb%s", keyed[i].path + strlen(BELOW));
		ANSWER others = ask(i, "B", "");
		ANSWER none   = rest_ask(s, "B", keyed[i].method, path, "", NULL, 0);
		rest_expect(&others, 404, "not_found");
		rest_expect(&none, 404, "not_found");
		cr_expect_str_eq(others.body, none.body, "%s %s", keyed[i].method, keyed[i].path);
	}
	ANSWER stored = rest_put(s, "B", CAMPAIGN, "", META, "mine", 4);
	rest_expect(&stored, 403, "not_allowed");
	ANSWER still = rest_get(s, "A", BELOW "/checkpoint");
	cr_expect_str_eq(still.body, "bytes");
}

Test(rest_refuse, an_id_that_is_none_is_not_found)
{
	static const char *const ids[] = {
		"0",
		"00112233445566a",
		"00112233445566aaa",
		"00112233445566AA",
		"00112233445566ag",
		"..",
		"%2e%2e",
		"00112233445566aa%00",
		"00112233445566aa%2f",
		"..%2f..%2fetc%2fpasswd",
		"0x112233445566aa",
		"*",
		"{id}",
		"00112233445566aa.",
		".tmp",
		"-",
		"+0112233445566aa",
	};
	static const char *const below[] = { "", "/checkpoint", "/checkpoint/", "/members/0011223344556677" };
	char                     path[200];

	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		for (size_t k = 0; k < COUNT_OF(below); k++) {
			snprintf(path, sizeof(path), "/v1/campaigns/%s%s", ids[i], below[k]);
			ANSWER r = rest_ask(s, "A", k == 3 ? "PUT" : "GET", path, "", NULL, 0);
			cr_expect_eq(r.status, 404, "%s: %d %s", path, r.status, r.body);
		}
		snprintf(path, sizeof(path), BELOW "/members/%s", ids[i]);
		ANSWER r = rest_ask(s, "A", "PUT", path, "", NULL, 0);
		cr_expect_eq(r.status, 404, "%s: %d %s", path, r.status, r.body);
		ANSWER put = rest_put(s, "A", ids[i], "", META, "x", 1);
		cr_expect_eq(put.status, 404, "%s: %d %s", ids[i], put.status, put.body);
	}
}

Test(rest_refuse, what_does_not_parse_is_said_to_be_malformed)
{
	static const struct {
		const char *query, *fields;
	} rows[] = {
		{ "", "Coop-Meta: x\r\n" },
		{ "", "Coop-Meta: []\r\n" },
		{ "", "Coop-Meta: {\"name\":1}\r\n" },
		{ "", "Coop-Meta: {}\r\nCoop-Meta: {}\r\n" },
		{ "", META "If-Match: 1-0011223344556677\r\n" },
		{ "", META "If-Match: W/\"1-0011223344556677\"\r\n" },
		{ "", META "If-Match: *\r\nIf-Match: *\r\n" },
		{ "", META "If-None-Match: \"1-0011223344556677\"\r\n" },
		{ "", META "If-Match: *\r\nIf-None-Match: *\r\n" },
		{ "?keep=none", META },
		{ "?keep", META },
		{ "?keep=both&keep=both", META },
	};
	static const char *const versions[] = { "?version=",
		                                "?version",
		                                "?version=x",
		                                "?version=-1",
		                                "?version=0",
		                                "?version=1x",
		                                "?version=1.0",
		                                "?version=1&version=1",
		                                "?version=9223372036854775808" };
	char                     path[200];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		ANSWER r = rest_put(s, "A", CAMPAIGN, rows[i].query, rows[i].fields, "x", 1);
		cr_expect_eq(r.status, 400, "%s %s: %s", rows[i].query, rows[i].fields, r.body);
		rest_expect(&r, 400, "malformed");
	}
	for (size_t i = 0; i < COUNT_OF(versions); i++) {
		snprintf(path, sizeof(path), BELOW "/checkpoint%s", versions[i]);
		ANSWER r = rest_get(s, "A", path);
		rest_expect(&r, 400, "malformed");
	}
	ANSWER none = rest_get(s, "A", "/v1/campaigns");
	cr_expect_eq(rest_count(&none, "campaigns"), 0);
}

Test(rest_refuse, a_head_has_a_limit)
{
	size_t                len  = 1024 * 1024;
	AUTO(auto_free) char *huge = malloc(len + 200);
	int                   head = snprintf(huge, 200, "GET /v1/campaigns HTTP/1.1\r\nHost: a\r\nX: ");

	memset(huge + head, 'x', len);
	memcpy(huge + (size_t)head + len, "\r\n\r\n", 4);
	ANSWER r = http_exchange(s->http_port, huge, (size_t)head + len + 4, REST_PATIENCE_MS);
	cr_expect_eq(r.status, 431);

	/* 8 KiB of Coop-Meta fit into it; one more byte is no longer taken for JSON. */
	AUTO(auto_free) char *fields = malloc(9000);
	for (size_t more = 0; more < 2; more++) {
		snprintf(fields, 9000, "Coop-Meta: {%*s}\r\n", (int)(8190 + more), "");
		ANSWER put = rest_put(s, "A", CAMPAIGN, "", fields, "x", 1);
		rest_expect(&put, more ? 400 : 201, more ? "malformed" : NULL);
	}
}

Test(rest_refuse, a_method_that_is_not_taken_has_a_code_too)
{
	char   text[60];
	ANSWER r = rest_ask(s, "A", "POST", BELOW, "", NULL, 0);

	rest_expect(&r, 405, "method");
	cr_expect_str_eq(http_result_header(&r, "Allow", text, sizeof(text)), "GET, HEAD, DELETE");
	ANSWER body = rest_ask(s, "A", "POST", "/v1/me/code", "", "x", 1);
	rest_expect(&body, 413, "too_big");
	ANSWER unknown = rest_get(s, "A", "/v1/nothing");
	cr_expect_str_eq(unknown.body, "{\"error\":\"not found\"}", "unknown paths are nobody's");
}

Test(rest_refuse, a_web_page_may_look_and_not_touch)
{
	static const char origin[] = "Origin: https://evil.example\r\n";

	for (size_t i = 0; i < COUNT_OF(keyed); i++) {
		ANSWER r = ask(i, "A", origin);
		if (strcmp(keyed[i].method, "GET") != 0)
			rest_expect(&r, 403, "origin");
		else
			cr_expect_neq(r.status, 403);
	}
}

Test(rest_refuse, a_second_upload_must_wait)
{
	char   text[20];
	ANSWER one = rest_put(s, "A", CAMPAIGN, "", META, "x", 1);
	ANSWER two = rest_put(s, "A", CAMPAIGN, "", META, "x", 1);

	rest_expect(&one, 201, NULL);
	rest_expect(&two, 429, "too_soon");
	long wait = strtol(http_result_header(&two, "Retry-After", text, sizeof(text)), NULL, 10);
	cr_expect(wait >= 1 && wait <= 10, "%s", text);
	ANSWER other = rest_put(s, "B", "00112233445566bb", "", META, "x", 1);
	rest_expect(&other, 201, NULL);
	server_advance(s, wait * 1000);
	ANSWER three = rest_put(s, "A", CAMPAIGN, "", META, "x", 1);
	rest_expect(&three, 201, NULL);
	server_advance(s, 9000);
	ANSWER four = rest_put(s, "A", CAMPAIGN, "", META, "x", 1);
	rest_expect(&four, 429, "too_soon");
	server_advance(s, 1000);
	ANSWER five = rest_put(s, "A", CAMPAIGN, "", META, "x", 1);
	rest_expect(&five, 201, NULL);
}

Test(rest_refuse, a_code_is_only_for_who_has_one)
{
	ANSWER none = rest_ask(s, "nobody", "POST", "/v1/me/code", "", NULL, 0);

	rest_expect(&none, 404, "not_found");
}

Test(rest_refuse, a_disk_that_is_nearly_full_takes_nothing_and_gives_all)
{
	ANSWER before = rest_put(s, "A", CAMPAIGN, "", META, "bytes", 5);

	rest_expect(&before, 201, NULL);
	server_set(s, "limits.store_free_floor=17592186044416");
	server_restart(s);
	ANSWER put = rest_put(s, "A", CAMPAIGN, "", META, "more", 4);
	rest_expect(&put, 507, "no_space");
	ANSWER get = rest_get(s, "A", BELOW "/checkpoint");
	cr_expect_str_eq(get.body, "bytes");
	ANSWER member = rest_ask(s, "A", "PUT", BELOW "/members/0011223344556677", "", NULL, 0);
	rest_expect(&member, 204, NULL);
	ANSWER deleted = rest_ask(s, "A", "DELETE", BELOW, "", NULL, 0);
	rest_expect(&deleted, 204, NULL);
}

/* As a proxy on this machine passes it on: what comes from one address counts together. */
Test(rest_refuse, an_address_has_only_so_many_new_players)
{
	static const char here[]  = META "X-Forwarded-For: 203.0.113.9\r\n",
			  there[] = META "X-Forwarded-For: 203.0.113.10\r\n";

	server_set(s, "limits.tunnel_new_per_address=2");
	server_restart(s);
	ANSWER one   = rest_put(s, "A", "00000000000000a1", "", here, "x", 1);
	ANSWER two   = rest_put(s, "B", "00000000000000a2", "", here, "x", 1);
	ANSWER three = rest_put(s, "C", "00000000000000a3", "", here, "x", 1);
	ANSWER other = rest_put(s, "C", "00000000000000a3", "", there, "x", 1);
	rest_expect(&one, 201, NULL);
	rest_expect(&two, 201, NULL);
	rest_expect(&three, 429, "no_room");
	rest_expect(&other, 201, NULL);
}

/* Over in a moment: whoever is refused learns when to try again. */
Test(rest_refuse, too_many_bytes_under_way_say_when_to_try_again)
{
	char   head[800], text[20];
	size_t len = rest_head(head, sizeof(head), "A", "PUT", BELOW "/checkpoint",
	                       META "X-Forwarded-For: 203.0.113.9\r\nContent-Length: 1000\r\n");

	server_set(s, "limits.cloud_reserved_address=1024");
	server_restart(s);
	int fd = dial_tcp(s->http_port, 0);
	cr_assert(dial_send(fd, head, len, DIAL_PATIENCE_MS));
	server_await_metric(s, "coopd_cloud_reserved_bytes", "", 1000, DIAL_PATIENCE_MS);
	ANSWER most = rest_put(s, "B", "00000000000000bb", "", META "X-Forwarded-For: 203.0.113.9\r\n",
	                       "123456789012345678901234", 24);
	rest_expect(&most, 201, NULL);
	ANSWER beyond = rest_put(s, "C", "00000000000000cc", "", META "X-Forwarded-For: 203.0.113.9\r\n",
	                         "1234567890123456789012345", 25);
	rest_expect(&beyond, 429, "rate");
	cr_expect_str_eq(http_result_header(&beyond, "Retry-After", text, sizeof(text)), "10");
	close(fd);
}

Test(rest_refuse, an_address_has_only_so_many_transfers)
{
	char   head[800];
	int    fds[4];
	size_t len = rest_head(head, sizeof(head), "A", "PUT", BELOW "/checkpoint",
	                       META "X-Forwarded-For: 203.0.113.9\r\nContent-Length: 100\r\n");

	server_set(s, "limits.cloud_interval_ms=0");
	server_restart(s);
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = dial_tcp(s->http_port, 0);
		cr_assert(dial_send(fds[i], head, len, DIAL_PATIENCE_MS));
		server_await_metric(s, "coopd_http_transfers", "", (double)i + 1, DIAL_PATIENCE_MS);
	}
	ANSWER fifth = rest_put(s, "A", CAMPAIGN, "", META "X-Forwarded-For: 203.0.113.9\r\n", "x", 1);
	rest_expect(&fifth, 429, "rate");
	ANSWER other = rest_put(s, "B", "00000000000000bb", "", META "X-Forwarded-For: 203.0.113.10\r\n", "x", 1);
	rest_expect(&other, 201, NULL);
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		close(fds[i]);
}

/*
 * A campaign is revoked while it is stored and loaded, over WebSocket and over HTTP: each ends with a clear error, nothing of
 * it is left over, what it had before comes back whole, and others notice nothing.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/campaign_client.h"
#include "support/dial.h"
#include "support/tunnel_message.h"
#include "support/vault_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define AA     "00000000000000aa"
#define BB     "00000000000000bb"
#define ONE    "/admin/v1/campaigns/" AA
#define SAVE   ((size_t)8 * 1024 * 1024) /* more than sockets and queues hold */

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ "limits.cloud_interval_ms=0", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(cloud_admin_revoke, .init = start, .fini = stop, .timeout = 180);

static void end_all(int64_t uploads, int64_t downloads)
{
	ANSWER tried = admin_ask(s, "DELETE", ONE "?dry_run=1", NULL);
	rest_expect(&tried, 200, NULL);
	cr_expect_eq(rest_int(&tried, "uploads"), uploads, "%s", tried.body);
	cr_expect_eq(rest_int(&tried, "downloads"), downloads, "%s", tried.body);
	ANSWER seen = admin_get(s, ONE);
	cr_expect_eq(rest_int(&seen, "uploads"), uploads);
	cr_expect_eq(rest_int(&seen, "downloads"), downloads);
	ANSWER r = admin_ask(s, "DELETE", ONE, NULL);
	rest_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "uploads"), uploads, "%s", r.body);
	cr_expect_eq(rest_int(&r, "downloads"), downloads, "%s", r.body);
}

/* What it had is there again, and nothing else: version 1 of so many bytes. */
static void expect_back_whole(size_t len)
{
	campaign_await_nothing_left(s);
	ANSWER back = admin_ask(s, "POST", ONE "/unrevoke", "{}");
	rest_expect(&back, 200, NULL);
	ANSWER one = admin_get(s, ONE);
	cr_expect_eq(rest_int(&one, "checkpoints"), 1);
	cr_expect_eq(rest_int(&one, "uploads") + rest_int(&one, "downloads"), 0);
	ANSWER got = rest_get(s, "A", "/v1/campaigns/" AA "/checkpoint");
	cr_expect_eq(got.status, 200);
	cr_expect_eq(got.body_len, len);
	cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM blobs"),
	             campaign_ask(s, "SELECT count(DISTINCT sha256) FROM "
	                             "checkpoints"));
	campaign_check_sums(s);
}

static void await_tmp(int count)
{
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; real_now_ms() < until; real_sleep_ms(10)) {
		if (campaign_files(s, ".tmp") == count)
			return;
	}
	cr_expect_eq(campaign_files(s, ".tmp"), count);
}

/* --- Uploads over WebSocket --- */

Test(cloud_admin_revoke, while_it_is_stored_over_websocket)
{
	struct checkpoint first, next;
	struct ws_client *a     = vault_client(s->tunnel_port, "A", NULL);
	struct ws_client *other = vault_client(s->tunnel_port, "A", NULL);

	checkpoint_make(&first, AA, "name=x", 1000, 1);
	checkpoint_make(&next, AA, "name=y", 300000, 2);
	cr_assert_eq(vault_client_put(a, AA, &first), 0);
	cr_assert_eq(vault_client_begin(a, AA, next.len), 0);
	vault_client_parts(a, next.bytes, 200000, VAULT_CLIENT_PART);
	/* One of his other campaigns, meanwhile. */
	struct checkpoint mine;
	checkpoint_make(&mine, BB, "name=z", 100000, 3);
	cr_assert_eq(vault_client_begin(other, BB, mine.len), 0);
	vault_client_parts(other, mine.bytes, 50000, VAULT_CLIENT_PART);

	end_all(1, 0);
	cr_expect_eq(vault_client_fault(a), FAULT_BAD_DATA, "at once");
	await_tmp(1); /* the other campaign's */
	/* What still comes of it means nothing, and the connection goes on. */
	vault_client_parts(a, next.bytes + 200000, next.len - 200000, VAULT_CLIENT_PART);
	ws_client_send(a, "19");
	cr_expect_not_null(strstr(vault_client_list(other), ""), "answered");
	cr_expect_null(strstr(vault_client_list(a), AA));
	vault_client_parts(other, mine.bytes + 50000, mine.len - 50000, VAULT_CLIENT_PART);
	cr_expect_eq(vault_client_end(other), 0, "others notice nothing");
	expect_back_whole(first.len);
	cr_expect_eq(vault_client_put(a, AA, &next), 0);
	checkpoint_free(&first);
	checkpoint_free(&next);
	checkpoint_free(&mine);
	ws_client_free(a);
	ws_client_free(other);
}

/* The store has its end already: whichever was first, there is one answer and it is true. */
Test(cloud_admin_revoke, just_when_it_ends)
{
	struct checkpoint cp;
	int               stored = 0;

	checkpoint_make(&cp, AA, "name=y", 200000, 2);
	for (int round = 0; round < 8; round++) {
		struct ws_client *a = vault_client(s->tunnel_port, "A", NULL);

		campaign_put(s, "A", AA, "name=x\n", 100);
		cr_assert_eq(vault_client_begin(a, AA, cp.len), 0);
		vault_client_parts(a, cp.bytes, cp.len, VAULT_CLIENT_PART);
		ws_client_send(a, "19");
		ANSWER                 r = admin_ask(s, "DELETE", ONE, NULL);
		struct ws_client_event e = ws_client_receive(a, DIAL_PATIENCE_MS);
		rest_expect(&r, 200, NULL);
		cr_assert_eq(e.what, WS_MESSAGE);
		bool done = e.data[0] == 26;
		cr_expect(done || (e.data[0] == 7 && e.data[1] == FAULT_BAD_DATA), "%d %d", e.data[0], e.data[1]);
		ws_client_free(a);
		stored += done;
		cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM campaigns WHERE trashed_ms IS NULL"), 0);
		cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM checkpoints WHERE bytes > 200000"), stored);
	}
	campaign_await_nothing_left(s);
	checkpoint_free(&cp);
}

/* One that nobody has stored yet has no campaign; but when somebody else of its name was revoked, it is meant as well. */
Test(cloud_admin_revoke, an_upload_that_began_before_there_was_a_campaign)
{
	struct checkpoint cp;
	struct ws_client *a = vault_client(s->tunnel_port, "A", NULL);

	checkpoint_make(&cp, AA, "name=y", 100000, 2);
	cr_assert_eq(vault_client_begin(a, AA, cp.len), 0);
	vault_client_parts(a, cp.bytes, 50000, VAULT_CLIENT_PART);
	campaign_put(s, "A", AA, "name=x\n", 100);
	end_all(1, 0);
	cr_expect_eq(vault_client_fault(a), FAULT_BAD_DATA);
	campaign_await_nothing_left(s);
	/* Begun afterwards, it is a new one. */
	cr_expect_eq(vault_client_put(a, AA, &cp), 0);
	checkpoint_free(&cp);
	ws_client_free(a);
}

/* --- Uploads over HTTP --- */

static int begin_rest(const char *campaign, const char *bytes, size_t len, size_t first)
{
	char   head[700], path[80], fields[60], got[64];
	size_t head_len;
	int    fd = dial_tcp(s->http_port, 0);

	snprintf(path, sizeof(path), "/v1/campaigns/%s/checkpoint", campaign);
	snprintf(fields, sizeof(fields), "Content-Length: %zu\r\nExpect: 100-continue\r\n", len);
	head_len = rest_head(head, sizeof(head), "A", "PUT", path, fields);
	cr_assert(dial_send(fd, head, head_len, DIAL_PATIENCE_MS));
	cr_assert_gt(dial_read(fd, got, 25, real_now_ms() + DIAL_PATIENCE_MS), 0);
	cr_assert(dial_send(fd, bytes, first, DIAL_PATIENCE_MS));
	return fd;
}

static const char *rest_of(int fd, char *out, size_t cap)
{
	size_t  len = 0;
	ssize_t n;

	while (len < cap - 1 && (n = dial_read(fd, out + len, cap - 1 - len, real_now_ms() + DIAL_PATIENCE_MS)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(fd);
	return out;
}

Test(cloud_admin_revoke, while_it_is_stored_over_http)
{
	size_t                len, len_of_first;
	char                  answer[3000];
	AUTO(auto_free) char *first = rest_container(&len_of_first, AA, "name=x\n", 1000);
	AUTO(auto_free) char *bytes = rest_container(&len, AA, "name=y\n", 400000);
	AUTO(auto_free) char *mine  = rest_container(&len, BB, "name=z\n", 400000);

	ANSWER put = rest_put(s, "A", AA, "", "", first, len_of_first);
	rest_expect(&put, 201, NULL);
	int fd    = begin_rest(AA, bytes, len, 200000);
	int other = begin_rest(BB, mine, len, 200000);
	await_tmp(2);
	end_all(1, 0);
	/* What it held goes although its client is silent. */
	await_tmp(1);
	cr_assert(dial_send(fd, bytes + 200000, len - 200000, DIAL_PATIENCE_MS));
	rest_of(fd, answer, sizeof(answer));
	cr_expect(strncmp(answer, "HTTP/1.1 410", 12) == 0 && strstr(answer, "\"gone\""), "%s", answer);
	cr_assert(dial_send(other, mine + 200000, len - 200000, DIAL_PATIENCE_MS));
	rest_of(other, answer, sizeof(answer));
	cr_expect(strncmp(answer, "HTTP/1.1 201", 12) == 0, "%s", answer);
	expect_back_whole(len_of_first);
}

/* In chunks, and never another byte: the client learns it when its time is up, and nothing waited for that. */
Test(cloud_admin_revoke, while_a_silent_client_stores_chunks)
{
	char   head[700];
	size_t len = rest_head(head, sizeof(head), "A", "PUT", "/v1/campaigns/" AA "/checkpoint",
	                       "Coop-Meta: {}\r\nTransfer-Encoding: chunked\r\n");
	int    fd  = dial_tcp(s->http_port, 0);

	campaign_put(s, "A", AA, "name=x\n", 1000);
	cr_assert(dial_send(fd, head, len, DIAL_PATIENCE_MS));
	cr_assert(dial_send(fd, "5\r\nhello\r\n", 10, DIAL_PATIENCE_MS));
	await_tmp(1);
	end_all(1, 0);
	campaign_await_nothing_left(s);
	dial_abort(fd);
}

/* --- Downloads --- */

/* Reads until the end; the bytes of the body that came. */
static size_t drain(int fd)
{
	static char buf[65536];
	size_t      len = 0;
	ssize_t     n;

	while ((n = dial_read(fd, buf, sizeof(buf), real_now_ms() + DIAL_PATIENCE_MS)) > 0)
		len += (size_t)n;
	cr_expect_neq(n, DIAL_LATE, "it has to end");
	close(fd);
	return len;
}

static int begin_download(const char *campaign)
{
	char   head[700], path[80];
	size_t len;
	int    fd = dial_tcp(s->http_port, 4096);

	snprintf(path, sizeof(path), "/v1/campaigns/%s/checkpoint", campaign);
	len = rest_head(head, sizeof(head), "A", "GET", path, "");
	cr_assert(dial_send(fd, head, len, DIAL_PATIENCE_MS));
	cr_assert_gt(dial_read(fd, head, 100, real_now_ms() + DIAL_PATIENCE_MS), 0);
	return fd;
}

Test(cloud_admin_revoke, while_it_is_loaded_over_http)
{
	size_t                len;
	AUTO(auto_free) char *bytes = rest_container(&len, AA, "name=x\n", SAVE);
	AUTO(auto_free) char *mine  = rest_container(&len, BB, "name=z\n", SAVE);

	ANSWER put   = rest_put(s, "A", AA, "", "", bytes, len);
	ANSWER other = rest_put(s, "A", BB, "", "", mine, len);
	rest_expect(&put, 201, NULL);
	rest_expect(&other, 201, NULL);
	int fd  = begin_download(AA);
	int his = begin_download(BB);
	end_all(0, 1);
	cr_expect_lt(drain(fd), len, "it broke off");
	cr_expect_geq(drain(his), len, "others notice nothing");
	expect_back_whole(len);
}

static void open_vault(struct ws_client *c, const char *key)
{
	uint8_t                open[18] = { 20, 2 };
	struct ws_client_event e;

	key_of(open + 2, key);
	cr_assert(ws_client_send_bytes(c, open, sizeof(open)));
	e = ws_client_receive(c, DIAL_PATIENCE_MS);
	cr_assert(e.what == WS_MESSAGE && e.data[0] == 21);
}

Test(cloud_admin_revoke, while_it_is_loaded_over_websocket)
{
	struct ws_client_options slow = { .rcvbuf_bytes = 4096 };
	struct checkpoint        cp;
	struct ws_client        *a      = vault_client(s->tunnel_port, "A", NULL);
	struct ws_client        *reader = ws_client_open(s->tunnel_port, &slow);
	struct ws_client_event   e;
	size_t                   got = 0;

	checkpoint_make(&cp, AA, "name=x", SAVE, 1);
	cr_assert_eq(vault_client_put(a, AA, &cp), 0);
	open_vault(reader, "A");
	ws_client_send(reader, "1d 00 00 00 00 00 00 00 aa 00");
	e = ws_client_receive(reader, DIAL_PATIENCE_MS);
	cr_assert(e.what == WS_MESSAGE && e.data[0] == 30);
	end_all(0, 1);
	while ((e = ws_client_receive(reader, DIAL_PATIENCE_MS)).what == WS_MESSAGE) {
		cr_assert_eq(e.data[0], 24, "no END");
		got += e.len - 1;
	}
	cr_expect(e.what == WS_CLOSED || e.what == WS_END, "%d", e.what);
	cr_expect_lt(got, cp.len);
	cr_expect_eq(server_metric(s, "coopd_vault_closed_total", "revoked"), 1);
	cr_expect_str_eq(vault_client_list(a), "", "the other connection goes on");
	expect_back_whole(cp.len);
	checkpoint_free(&cp);
	ws_client_free(reader);
	ws_client_free(a);
}

/* --- All at once --- */

Test(cloud_admin_revoke, all_ways_at_once)
{
	struct checkpoint     cp;
	struct ws_client     *a = vault_client(s->tunnel_port, "A", NULL);
	size_t                len;
	char                  answer[3000];
	AUTO(auto_free) char *bytes = rest_container(&len, AA, "name=x\n", SAVE);

	ANSWER put = rest_put(s, "A", AA, "", "", bytes, len);
	rest_expect(&put, 201, NULL);
	int down = begin_download(AA);
	int up   = begin_rest(AA, bytes, len, 500000);
	checkpoint_make(&cp, AA, "name=y", 300000, 2);
	cr_assert_eq(vault_client_begin(a, AA, cp.len), 0);
	vault_client_parts(a, cp.bytes, 100000, VAULT_CLIENT_PART);
	await_tmp(2);
	end_all(2, 1);
	cr_expect_eq(vault_client_fault(a), FAULT_BAD_DATA);
	cr_expect_lt(drain(down), len);
	cr_assert(dial_send(up, bytes + 500000, len - 500000, DIAL_PATIENCE_MS));
	rest_of(up, answer, sizeof(answer));
	cr_expect(strncmp(answer, "HTTP/1.1 410", 12) == 0, "%s", answer);
	expect_back_whole(len);
	checkpoint_free(&cp);
	ws_client_free(a);
}

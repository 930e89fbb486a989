/*
 * Quotas: many uploads at once, bodies that lie about their length, and what the operator sets. The whole server.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "support/admin_client.h"
#include "support/dial.h"
#include "support/tunnel_message.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UPLOADS 64
#define ROOM    10
#define META    "Coop-Meta: {}\r\n"
#define MIB     ((size_t)1024 * 1024)

#define ANSWER AUTO(rest_freep) struct http_result

static struct server *s;

static void stop(void)
{
	server_finish(s);
}

TestSuite(rest_quota, .fini = stop);

/* --- Many at once --- */

struct crowd {
	const char *player, *bytes;
	size_t      len;
	bool        chunked;
	atomic_int  next, stored, refused, other;
	int         refusal; /* the status of one that finds no room */
	char        wrong[300];
};

static struct http_result put_chunked(const char *player, const char *campaign, const char *bytes, size_t len)
{
	char                  head[800], path[80];
	size_t                chunks_len, head_len;
	AUTO(auto_free) char *chunks = rest_chunks(&chunks_len, bytes, len, 65536);
	AUTO(auto_free) char *all    = malloc(chunks_len + sizeof(head));

	snprintf(path, sizeof(path), "/v1/campaigns/%s/checkpoint", campaign);
	head_len = rest_head(head, sizeof(head), player, "PUT", path, META "Transfer-Encoding: chunked\r\n");
	memcpy(all, head, head_len);
	memcpy(all + head_len, chunks, chunks_len);
	return http_exchange(s->http_port, all, head_len + chunks_len, REST_PATIENCE_MS);
}

static void *upload(void *arg)
{
	struct crowd *c = arg;
	char          campaign[17];

	snprintf(campaign, sizeof(campaign), "%016x", (unsigned)atomic_fetch_add(&c->next, 1));
	ANSWER r = c->chunked ? put_chunked(c->player, campaign, c->bytes, c->len)
	                      : rest_put(s, c->player, campaign, "", META, c->bytes, c->len);
	if (r.status == 201) {
		atomic_fetch_add(&c->stored, 1);
	} else if (r.status == c->refusal) {
		atomic_fetch_add(&c->refused, 1);
	} else {
		atomic_fetch_add(&c->other, 1);
		snprintf(c->wrong, sizeof(c->wrong), "%d %.200s", r.status, r.body);
	}
	return NULL;
}

static void upload_all(struct crowd *c)
{
	pthread_t threads[UPLOADS];

	for (size_t i = 0; i < UPLOADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, upload, c), 0);
	for (size_t i = 0; i < UPLOADS; i++)
		pthread_join(threads[i], NULL);
}

Test(rest_quota, as_many_as_fit_are_stored)
{
	static const char *const sets[] = { "limits.cloud_interval_ms=0", "limits.cloud_campaigns=1000",
		                            "limits.cloud_player_bytes=1000000", NULL };
	struct crowd             c      = { .player = "A", .len = 100000, .refusal = 507 };
	AUTO(auto_free) char    *bytes  = rest_bytes(c.len, 1);

	s       = server_start(sets);
	c.bytes = bytes;
	upload_all(&c);
	cr_expect_eq(c.stored, ROOM);
	cr_expect_eq(c.refused, UPLOADS - ROOM);
	cr_expect_eq(c.other, 0, "%s", c.wrong);
	ANSWER list = rest_get(s, "A", "/v1/campaigns");
	cr_expect_eq(rest_count(&list, "campaigns"), ROOM);
	cr_expect_eq(rest_int(&list, "quota.bytes.used"), 1000000);
	cr_expect_eq(rest_int(&list, "quota.bytes.max"), 1000000);
}

Test(rest_quota, as_many_campaigns_as_allowed_are_made)
{
	static const char *const sets[] = { "limits.cloud_interval_ms=0", NULL };
	struct crowd             c      = { .player = "A", .len = 1000, .refusal = 507 };
	AUTO(auto_free) char    *bytes  = rest_bytes(c.len, 1);

	s       = server_start(sets);
	c.bytes = bytes;
	upload_all(&c);
	cr_expect_eq(c.stored, ROOM);
	cr_expect_eq(c.refused, UPLOADS - ROOM);
	cr_expect_eq(c.other, 0, "%s", c.wrong);
	ANSWER list = rest_get(s, "A", "/v1/campaigns");
	cr_expect_eq(rest_int(&list, "quota.campaigns.used"), ROOM);
}

/* Each is exactly the step by which room is taken for bodies of unknown length. */
Test(rest_quota, chunks_find_no_more_room)
{
	static const char *const sets[] = { "limits.cloud_interval_ms=0", "limits.cloud_campaigns=1000",
		                            "limits.cloud_player_bytes=10485760", NULL };
	struct crowd             c      = { .player = "A", .len = MIB, .chunked = true, .refusal = 507 };
	AUTO(auto_free) char    *bytes  = rest_bytes(c.len, 1);

	s       = server_start(sets);
	c.bytes = bytes;
	upload_all(&c);
	cr_expect_eq(c.stored, ROOM);
	/* Whoever is refused with more on its way than is worth reading finds the connection gone. */
	cr_expect_eq(c.refused + c.other, UPLOADS - ROOM);
	ANSWER list = rest_get(s, "A", "/v1/campaigns");
	cr_expect_eq(rest_int(&list, "quota.bytes.used"), (int64_t)(ROOM * MIB));
}

/* --- Lengths --- */

Test(rest_quota, a_checkpoint_has_a_largest_size)
{
	static const char *const sets[] = { "limits.cloud_interval_ms=0", "limits.cloud_checkpoint=100000", NULL };
	AUTO(auto_free) char    *bytes  = rest_bytes(100001, 1);

	s             = server_start(sets);
	ANSWER most   = rest_put(s, "A", "00000000000000aa", "", META, bytes, 100000);
	ANSWER beyond = rest_put(s, "A", "00000000000000aa", "", META, bytes, 100001);
	rest_expect(&most, 201, NULL);
	rest_expect(&beyond, 413, "too_big");
	cr_expect_eq(rest_int(&beyond, "error.quota.checkpoint_max"), 100000);
	ANSWER chunks_most   = put_chunked("A", "00000000000000aa", bytes, 100000);
	ANSWER chunks_beyond = put_chunked("A", "00000000000000aa", bytes, 100001);
	rest_expect(&chunks_most, 201, NULL);
	rest_expect(&chunks_beyond, 413, "too_big");
}

/* Asks for the quota until all that was reserved is free again: as much as the player may hold fits. */
static void expect_all_is_free(const char *bytes, size_t max)
{
	int64_t until  = real_now_ms() + DIAL_PATIENCE_MS;
	int     status = 0;

	while (status != 201 && real_now_ms() < until) {
		ANSWER r = rest_put(s, "A", "00000000000000ff", "", META, bytes, max);
		status   = r.status;
	}
	cr_expect_eq(status, 201, "something is still reserved");
}

Test(rest_quota, a_length_that_lies_gets_nothing)
{
	static const char *const sets[] = { "limits.cloud_interval_ms=0", "limits.cloud_player_bytes=100000", NULL };
	AUTO(auto_free) char    *bytes  = rest_bytes(100000, 1);
	char                     request[1200];
	size_t                   len;

	s = server_start(sets);
	/* Less than announced: nothing is stored, and the room is given back. */
	len    = rest_head(request, sizeof(request), "A", "PUT", "/v1/campaigns/00000000000000aa/checkpoint",
	                   META "Content-Length: 100000\r\n");
	int fd = dial_tcp(s->http_port, 0);
	cr_assert(dial_send(fd, request, len, DIAL_PATIENCE_MS));
	cr_assert(dial_send(fd, bytes, 50000, DIAL_PATIENCE_MS));
	close(fd);

	/* More than announced: what is beyond is no part of it. */
	len = rest_head(request, sizeof(request), "B", "PUT", "/v1/campaigns/00000000000000bb/checkpoint",
	                META "Content-Length: 10\r\n");
	memset(request + len, 'x', 200);
	ANSWER more = http_exchange(s->http_port, request, len + 200, REST_PATIENCE_MS);
	rest_expect(&more, 201, NULL);
	cr_expect_eq(rest_int(&more, "size"), 10);

	expect_all_is_free(bytes, 100000);
	ANSWER list = rest_get(s, "A", "/v1/campaigns");
	cr_expect_eq(rest_count(&list, "campaigns"), 1);
	cr_expect_eq(rest_int(&list, "quota.bytes.used"), 100000);
}

Test(rest_quota, two_lengths_or_a_length_and_chunks_are_refused)
{
	static const char *const fields[] = {
		META "Content-Length: 1\r\nContent-Length: 1\r\n",
		META "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
		META "Transfer-Encoding: gzip, chunked\r\n",
		META "Transfer-Encoding: Chunked\r\nTransfer-Encoding: chunked\r\n",
	};
	char request[1200];

	s = server_start(NULL);
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		size_t len = rest_head(request, sizeof(request), "A", "PUT",
		                       "/v1/campaigns/00000000000000aa/checkpoint", fields[i]);
		memcpy(request + len, "1\r\nx\r\n0\r\n\r\n", 11);
		ANSWER r = http_exchange(s->http_port, request, len + 11, REST_PATIENCE_MS);
		cr_expect_eq(r.status, 400, "%s: %d", fields[i], r.status);
	}
}

/* --- What the operator sets --- */

static void quota_path(char out[100], const char *player)
{
	uint8_t id[ID_BYTES];
	char    text[17];

	id_of(id, player);
	hex_encode(text, id, sizeof(id));
	snprintf(out, 100, "/admin/v1/quotas/players/%s", text);
}

Test(rest_quota, the_operator_sets_what_one_player_may)
{
	static const char *const sets[] = { "limits.cloud_interval_ms=0", NULL };
	char                     path[100], dry[120];
	AUTO(auto_free) char    *bytes = rest_bytes(2000, 1);

	s = server_start(sets);
	quota_path(path, "A");
	snprintf(dry, sizeof(dry), "%s?dry_run=true", path);
	ANSWER before = admin_get(s, path);
	rest_expect(&before, 200, NULL);
	cr_expect_str_eq(before.body, "{\"campaigns\":null,\"bytes\":null,\"checkpoint\":null}");
	ANSWER tried = admin_ask(s, "PUT", dry, "{\"campaigns\":7}");
	cr_expect_str_eq(tried.body,
	                 "{\"ok\":true,\"campaigns\":7,\"bytes\":null,\"checkpoint\":null,\"dry_run\":true}");
	ANSWER unchanged = admin_get(s, path);
	cr_expect_str_eq(unchanged.body, before.body);
	ANSWER set = admin_ask(s, "PUT", path, "{\"campaigns\":1,\"bytes\":3000,\"checkpoint\":1500}");
	rest_expect(&set, 200, NULL);
	ANSWER after = admin_get(s, path);
	cr_expect_str_eq(after.body, "{\"campaigns\":1,\"bytes\":3000,\"checkpoint\":1500}");

	ANSWER large = rest_put(s, "A", "00000000000000aa", "", META, bytes, 1501);
	rest_expect(&large, 413, "too_big");
	cr_expect_eq(rest_int(&large, "error.quota.checkpoint_max"), 1500);
	ANSWER first = rest_put(s, "A", "00000000000000aa", "", META, bytes, 1500);
	rest_expect(&first, 201, NULL);
	ANSWER second = rest_put(s, "A", "00000000000000bb", "", META, bytes, 100);
	rest_expect(&second, 507, "campaigns");
	cr_expect_eq(rest_int(&second, "error.quota.campaigns.max"), 1);
	cr_expect_eq(rest_int(&second, "error.quota.campaigns.used"), 1);
	ANSWER other = rest_put(s, "B", "00000000000000bb", "", META, bytes, 2000);
	rest_expect(&other, 201, NULL);

	ANSWER back = admin_ask(s, "PUT", path, "{\"bytes\":null}");
	rest_expect(&back, 200, NULL);
	cr_expect_str_eq(back.body, "{\"ok\":true,\"campaigns\":null,\"bytes\":null,\"checkpoint\":null}");
	ANSWER free_again = rest_put(s, "A", "00000000000000cc", "", META, bytes, 2000);
	rest_expect(&free_again, 201, NULL);
}

Test(rest_quota, the_operator_sets_what_one_campaign_may)
{
	static const char        path[] = "/admin/v1/quotas/campaigns/00000000000000aa";
	static const char *const sets[] = { "limits.cloud_interval_ms=0", NULL };
	AUTO(auto_free) char    *bytes  = rest_bytes(2000, 1);

	s          = server_start(sets);
	ANSWER set = admin_ask(s, "PUT", path, "{\"checkpoint\":1000}");
	rest_expect(&set, 200, NULL);
	cr_expect_str_eq(set.body, "{\"ok\":true,\"bytes\":null,\"checkpoint\":1000}");
	ANSWER large = rest_put(s, "A", "00000000000000aa", "", META, bytes, 1001);
	rest_expect(&large, 413, "too_big");
	ANSWER fits = rest_put(s, "A", "00000000000000aa", "", META, bytes, 1000);
	rest_expect(&fits, 201, NULL);
	ANSWER other = rest_put(s, "A", "00000000000000bb", "", META, bytes, 1001);
	rest_expect(&other, 201, NULL);
}

Test(rest_quota, what_differs_from_the_defaults_is_listed)
{
	static const char *const ids[] = { "0000000000000000", "00000000000000aa", "8000000000000000",
		                           "ffffffffffffffff" };
	char                     path[160], text[20], way[40];

	s = server_start((const char *[]){ "limits.cloud_campaigns=7", NULL });
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		snprintf(path, sizeof(path), "/admin/v1/quotas/players/%s", ids[i]);
		ANSWER r = admin_ask(s, "PUT", path, "{\"campaigns\":3}");
		rest_expect(&r, 200, NULL);
	}
	ANSWER one = admin_ask(s, "PUT", "/admin/v1/quotas/campaigns/00000000000000bb", "{\"bytes\":5000}");
	rest_expect(&one, 200, NULL);
	ANSWER all = admin_get(s, "/admin/v1/quotas");
	rest_expect(&all, 200, NULL);
	cr_expect_eq(rest_int(&all, "overrides"), 5);
	cr_expect_eq(rest_int(&all, "defaults.player_campaigns"), 7);
	cr_expect_eq(rest_int(&all, "used.campaigns"), 0);
	ANSWER campaigns = admin_get(s, "/admin/v1/quotas/campaigns");
	cr_expect_str_eq(campaigns.body,
	                 "{\"items\":[{\"id\":\"00000000000000bb\",\"bytes\":5000,\"checkpoint\":null}],"
	                 "\"next\":null}");
	snprintf(path, sizeof(path), "/admin/v1/quotas/players?limit=3");
	for (size_t from = 0; from < COUNT_OF(ids); from += 3) {
		ANSWER r = admin_get(s, path);
		rest_expect(&r, 200, NULL);
		cr_expect_eq(rest_count(&r, "items"), from == 0 ? 3 : 1);
		for (size_t i = 0; i < rest_count(&r, "items"); i++) {
			snprintf(way, sizeof(way), "items.%zu.id", i);
			cr_expect_str_eq(rest_text(&r, way, text, sizeof(text)), ids[from + i]);
		}
		if (from == 0)
			snprintf(path, sizeof(path), "/admin/v1/quotas/players?limit=3&cursor=%s",
			         rest_text(&r, "next", text, sizeof(text)));
	}
	ANSWER odd = admin_get(s, "/admin/v1/quotas/players?cursor=00");
	rest_expect(&odd, 400, "malformed");
}

Test(rest_quota, what_the_operator_mistypes_is_refused)
{
	static const struct {
		const char *body;
		int         status;
		const char *code;
	} cases[] = {
		{ "x", 400, "malformed" },
		{ "[]", 400, "malformed" },
		{ "{\"bytes\":1}}", 400, "malformed" },
		{ "{\"bytes\":9223372036854775808}", 400, "malformed" },
		{ "{\"bytes\":-1}", 422, "invalid" },
		{ "{\"bytes\":\"1\"}", 422, "invalid" },
		{ "{\"campaigns\":1.5}", 422, "invalid" },
		{ "{\"checkpoint\":true}", 422, "invalid" },
		{ "{\"byte\":1}", 422, "unknown_member" },
	};
	char                  path[100], none[100];
	AUTO(auto_free) char *large = malloc(1100);

	s = server_start(NULL);
	quota_path(path, "A");
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		ANSWER r = admin_ask(s, "PUT", path, cases[i].body);
		rest_expect(&r, cases[i].status, cases[i].code);
	}
	ANSWER owned = admin_ask(s, "PUT", "/admin/v1/quotas/campaigns/00000000000000aa", "{\"campaigns\":1}");
	rest_expect(&owned, 422, "unknown_member");
	for (size_t len = 1024; len <= 1025; len++) {
		snprintf(large, 1100, "{\"bytes\":1%*s}", (int)len - 11, "");
		cr_assert_eq(strlen(large), len);
		ANSWER r = admin_ask(s, "PUT", path, large);
		rest_expect(&r, len == 1024 ? 200 : 413, len == 1024 ? NULL : "too_big");
	}
	snprintf(none, sizeof(none), "/admin/v1/quotas/players/%s", "0123");
	ANSWER short_id = admin_get(s, none);
	rest_expect(&short_id, 404, "not_found");
	ANSWER front = rest_get(s, "A", path);
	cr_expect_eq(front.status, 404, "it is not for the front");
}

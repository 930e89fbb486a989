/*
 * The life of a campaign over REST, and what happens when two go on from the same checkpoint. The whole server.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/dial.h"
#include "support/rest_client.h"
#include "support/tunnel_message.h"

#include "base/hex.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAMPAIGN "00112233445566aa"
#define BELOW    "/v1/campaigns/" CAMPAIGN
#define META     "Coop-Meta: {\"name\":\"Island\",\"level\":\"mines\",\"checkpoint\":\"lift\",\"stamp\":1700000000}\r\n"

#define ANSWER AUTO(rest_freep) struct http_result

static const char *const no_interval[] = { "limits.cloud_interval_ms=0", NULL };

static struct server *s;

static void start(void)
{
	s = server_start(no_interval);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(rest_life, .init = start, .fini = stop);
TestSuite(rest_conflict, .init = start, .fini = stop);

static const char *id_text(const char *player)
{
	static char texts[4][17];
	static int  next;
	uint8_t     id[ID_BYTES];
	char       *out = texts[next++ % 4];

	id_of(id, player);
	hex_encode(out, id, sizeof(id));
	return out;
}

/* Stores these bytes; the ETag in etag. */
static void store(const char *player, const char *bytes, char *etag, size_t cap)
{
	ANSWER r = rest_put(s, player, CAMPAIGN, "", META, bytes, strlen(bytes));

	rest_expect(&r, 201, NULL);
	http_result_header(&r, "ETag", etag, cap);
}

Test(rest_life, what_is_stored_is_loaded)
{
	char   text[200], etag[60];
	ANSWER put = rest_put(s, "A", CAMPAIGN, "", META, "hello checkpoint", 16);

	rest_expect(&put, 201, NULL);
	cr_expect_eq(rest_int(&put, "version"), 1);
	cr_expect_eq(rest_int(&put, "size"), 16);
	cr_expect_str_eq(rest_text(&put, "id", text, sizeof(text)), CAMPAIGN);
	cr_expect_str_eq(rest_text(&put, "name", text, sizeof(text)), "Island");
	cr_expect_str_eq(rest_text(&put, "level", text, sizeof(text)), "mines");
	cr_expect_str_eq(rest_text(&put, "checkpoint", text, sizeof(text)), "lift");
	cr_expect_eq(rest_int(&put, "stamp"), 1700000000);
	cr_expect_str_eq(rest_text(&put, "by", text, sizeof(text)), id_text("A"));
	cr_expect_str_eq(rest_text(&put, "sha256", text, sizeof(text)),
	                 "25d53189612c26a57f2a5f0ab872b83a2a24a74853cf15789aca0b494b2835fa");
	cr_expect_not(rest_bool(&put, "small"));
	cr_expect_not(rest_bool(&put, "conflict"));
	cr_expect_not(rest_bool(&put, "container"));
	cr_expect_not(rest_has(&put, "warning"));
	cr_expect_eq(rest_int(&put, "quota.campaigns.used"), 1);
	cr_expect_eq(rest_int(&put, "quota.campaigns.max"), 10);
	cr_expect_eq(rest_int(&put, "quota.bytes.used"), 16);
	cr_expect_eq(rest_int(&put, "quota.checkpoint_max"), 16777216);
	cr_expect_str_eq(http_result_header(&put, "Location", text, sizeof(text)), BELOW "/checkpoint?version=1");
	http_result_header(&put, "ETag", etag, sizeof(etag));
	cr_expect_str_eq(rest_text(&put, "etag", text, sizeof(text)), etag);

	ANSWER get = rest_get(s, "A", BELOW "/checkpoint");
	rest_expect(&get, 200, NULL);
	cr_assert_eq(get.body_len, 16);
	cr_expect_arr_eq(get.body, "hello checkpoint", 16);
	cr_expect_str_eq(http_result_header(&get, "ETag", text, sizeof(text)), etag);
	cr_expect_str_eq(http_result_header(&get, "Content-Type", text, sizeof(text)), "application/octet-stream");
	cr_expect_str_eq(http_result_header(&get, "Cache-Control", text, sizeof(text)), "no-store");
	cr_expect_str_eq(http_result_header(&get, "Content-Digest", text, sizeof(text)),
	                 "sha-256=:JdUxiWEsJqV/Kl8KuHK4Oiokp0hTzxV4msoLSUsoNfo=:");
	cr_expect_str_eq(http_result_header(&get, "Repr-Digest", text, sizeof(text)),
	                 "sha-256=:JdUxiWEsJqV/Kl8KuHK4Oiokp0hTzxV4msoLSUsoNfo=:");
}

Test(rest_life, a_part_is_loaded_by_its_range)
{
	static const struct {
		const char *fields;
		int         status;
		const char *body, *range;
	} rows[] = {
		{ "Range: bytes=0-4\r\n", 206, "hello", "bytes 0-4/16" },
		{ "Range: bytes=6-\r\n", 206, "checkpoint", "bytes 6-15/16" },
		{ "Range: bytes=-5\r\n", 206, "point", "bytes 11-15/16" },
		{ "Range: bytes=0-1,3-4\r\n", 200, "hello checkpoint", "" },
		{ "Range: bytes=0-4\r\nIf-Range: \"2-0011223344556677\"\r\n", 200, "hello checkpoint", "" },
	};
	char etag[60], text[120];

	store("A", "hello checkpoint", etag, sizeof(etag));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		ANSWER r = rest_ask(s, "A", "GET", BELOW "/checkpoint", rows[i].fields, NULL, 0);
		cr_expect_eq(r.status, rows[i].status, "%s", rows[i].fields);
		cr_expect_str_eq(r.body, rows[i].body);
		cr_expect_str_eq(http_result_header(&r, "Content-Range", text, sizeof(text)), rows[i].range);
		cr_expect_str_eq(http_result_header(&r, "ETag", text, sizeof(text)), etag);
		http_result_header(&r, "Content-Digest", text, sizeof(text));
		cr_expect_eq(text[0] != '\0', r.status == 200, "it would be the digest of something else");
	}
	ANSWER beyond = rest_ask(s, "A", "GET", BELOW "/checkpoint", "Range: bytes=16-\r\n", NULL, 0);
	rest_expect(&beyond, 416, "range");
	cr_expect_str_eq(http_result_header(&beyond, "Content-Range", text, sizeof(text)), "bytes */16");
}

Test(rest_life, what_the_client_has_is_not_sent_again)
{
	char etag[60], field[120], text[60];

	store("A", "hello checkpoint", etag, sizeof(etag));
	snprintf(field, sizeof(field), "If-None-Match: %s\r\n", etag);
	ANSWER same = rest_ask(s, "A", "GET", BELOW "/checkpoint", field, NULL, 0);
	cr_expect_eq(same.status, 304);
	cr_expect_eq(same.body_len, 0);
	cr_expect_str_eq(http_result_header(&same, "ETag", text, sizeof(text)), etag);
	ANSWER other =
		rest_ask(s, "A", "GET", BELOW "/checkpoint", "If-None-Match: \"9-0011223344556677\"\r\n", NULL, 0);
	cr_expect_eq(other.status, 200);
	ANSWER head = rest_ask(s, "A", "HEAD", BELOW "/checkpoint", "", NULL, 0);
	cr_expect_eq(head.status, 200);
	cr_expect_eq(head.body_len, 0);
	cr_expect_str_eq(http_result_header(&head, "Content-Length", text, sizeof(text)), "16");
	cr_expect_str_eq(http_result_header(&head, "ETag", text, sizeof(text)), etag);
}

Test(rest_life, a_container_says_itself_what_it_is)
{
	char   lines[80], text[100];
	size_t len;

	snprintf(lines, sizeof(lines), "player=id:%s\tBob\n", id_text("B"));
	AUTO(auto_free) char *bytes = rest_container(&len, CAMPAIGN, lines, 5000);
	ANSWER                put   = rest_put(s, "A", CAMPAIGN, "", "", bytes, len);

	rest_expect(&put, 201, NULL);
	cr_expect(rest_bool(&put, "container"));
	cr_expect_str_eq(rest_text(&put, "name", text, sizeof(text)), "Island");
	cr_expect_str_eq(rest_text(&put, "hostname", text, sizeof(text)), "Ann");
	ANSWER get = rest_get(s, "B", BELOW "/checkpoint");
	rest_expect(&get, 200, NULL);
	cr_assert_eq(get.body_len, len);
	cr_expect_arr_eq(get.body, bytes, len);
}

Test(rest_life, a_stamp_far_ahead_is_shown_as_the_time_of_storing)
{
	size_t                len;
	AUTO(auto_free) char *bytes = rest_container(&len, CAMPAIGN, "stamp=18446744073709551615\n", 10);
	ANSWER                put   = rest_put(s, "A", CAMPAIGN, "", "", bytes, len);

	rest_expect(&put, 201, NULL);
	cr_expect_gt(rest_int(&put, "stamp"), 1700000000);
	cr_expect_lt(rest_int(&put, "stamp"), UINT32_MAX);
}

Test(rest_life, a_container_of_another_campaign_is_refused)
{
	size_t                len;
	AUTO(auto_free) char *bytes    = rest_container(&len, "00112233445566ab", "", 100);
	ANSWER                other    = rest_put(s, "A", CAMPAIGN, "", "", bytes, len);
	ANSWER                short_of = rest_put(s, "A", "00112233445566ab", "", "", bytes, len - 1);
	ANSWER                garbage  = rest_put(s, "A", CAMPAIGN, "", "", "garbage", 7);
	ANSWER                nothing  = rest_put(s, "A", CAMPAIGN, "", META, "", 0);
	ANSWER                list     = rest_get(s, "A", "/v1/campaigns");

	rest_expect(&other, 422, "content");
	rest_expect(&short_of, 422, "content");
	rest_expect(&garbage, 422, "content");
	rest_expect(&nothing, 422, "content");
	cr_expect_eq(rest_count(&list, "campaigns"), 0);
	cr_expect_eq(rest_int(&list, "quota.bytes.used"), 0);
}

Test(rest_life, chunks_are_as_good_as_a_length)
{
	char                  head[2000];
	size_t                len    = 2500000, chunks_len, head_len;
	AUTO(auto_free) char *bytes  = rest_bytes(len, 1);
	AUTO(auto_free) char *chunks = rest_chunks(&chunks_len, bytes, len, 70001);

	head_len =
		rest_head(head, sizeof(head), "A", "PUT", BELOW "/checkpoint", META "Transfer-Encoding: chunked\r\n");
	AUTO(auto_free) char *all = malloc(head_len + chunks_len);
	memcpy(all, head, head_len);
	memcpy(all + head_len, chunks, chunks_len);
	ANSWER put = http_exchange(s->http_port, all, head_len + chunks_len, REST_PATIENCE_MS);
	rest_expect(&put, 201, NULL);
	cr_expect_eq(rest_int(&put, "size"), (int64_t)len);
	ANSWER get = rest_get(s, "A", BELOW "/checkpoint");
	cr_assert_eq(get.body_len, len);
	cr_expect_arr_eq(get.body, bytes, len);
}

Test(rest_life, members_share_it_and_the_owner_decides)
{
	char etag[60], path[100], text[100];

	store("A", "first", etag, sizeof(etag));
	ANSWER stranger = rest_get(s, "B", BELOW);
	rest_expect(&stranger, 404, "not_found");

	snprintf(path, sizeof(path), BELOW "/members/%s", id_text("B"));
	ANSWER by_stranger = rest_ask(s, "B", "PUT", path, "", NULL, 0);
	rest_expect(&by_stranger, 404, "not_found");
	ANSWER added = rest_ask(s, "A", "PUT", path, "", NULL, 0);
	rest_expect(&added, 204, NULL);
	ANSWER again = rest_ask(s, "A", "PUT", path, "", NULL, 0);
	rest_expect(&again, 204, NULL);

	ANSWER put = rest_put(s, "B", CAMPAIGN, "", META, "second one", 10);
	rest_expect(&put, 201, NULL);
	cr_expect_eq(rest_int(&put, "version"), 2);
	cr_expect_not(rest_has(&put, "quota.campaigns"), "how much the owner has is not the member's business");
	cr_expect_eq(rest_int(&put, "quota.bytes.used"), 15);

	ANSWER one = rest_get(s, "A", BELOW);
	rest_expect(&one, 200, NULL);
	cr_expect_str_eq(rest_text(&one, "role", text, sizeof(text)), "owner");
	cr_expect_str_eq(rest_text(&one, "owner", text, sizeof(text)), id_text("A"));
	cr_expect_eq(rest_count(&one, "members"), 1);
	cr_expect_str_eq(rest_text(&one, "members.0", text, sizeof(text)), id_text("B"));
	cr_expect_eq(rest_count(&one, "checkpoints"), 2);
	cr_expect_eq(rest_int(&one, "checkpoints.0.version"), 2);
	cr_expect_str_eq(rest_text(&one, "checkpoints.0.by", text, sizeof(text)), id_text("B"));

	ANSWER list = rest_get(s, "B", "/v1/campaigns");
	cr_expect_str_eq(rest_text(&list, "campaigns.0.role", text, sizeof(text)), "member");
	cr_expect(rest_bool(&list, "campaigns.0.previous"));
	cr_expect_eq(rest_int(&list, "campaigns.0.newest.version"), 2);
	cr_expect_eq(rest_int(&list, "campaigns.0.bytes"), 15);
	cr_expect_eq(rest_int(&list, "quota.campaigns.used"), 0);

	ANSWER old = rest_get(s, "B", BELOW "/checkpoint?version=1");
	cr_expect_str_eq(old.body, "first");

	ANSWER out = rest_ask(s, "A", "DELETE", path, "", NULL, 0);
	rest_expect(&out, 204, NULL);
	ANSWER gone = rest_get(s, "B", BELOW "/checkpoint");
	rest_expect(&gone, 404, "not_found");
	ANSWER out_again = rest_ask(s, "A", "DELETE", path, "", NULL, 0);
	rest_expect(&out_again, 404, "not_found");

	snprintf(text, sizeof(text), "Coop-Meta: {\"players\":[\"%s\"]}\r\n", id_text("B"));
	ANSWER named = rest_put(s, "A", CAMPAIGN, "", text, "third", 5);
	rest_expect(&named, 201, NULL);
	ANSWER still = rest_get(s, "B", BELOW);
	rest_expect(&still, 404, "not_found");
}

Test(rest_life, a_named_player_is_a_member)
{
	char fields[120];

	snprintf(fields, sizeof(fields), "Coop-Meta: {\"players\":[\"%s\",\"%s\"]}\r\n", id_text("A"), id_text("B"));
	ANSWER put = rest_put(s, "A", CAMPAIGN, "", fields, "bytes", 5);
	rest_expect(&put, 201, NULL);
	ANSWER get = rest_get(s, "B", BELOW "/checkpoint");
	cr_expect_str_eq(get.body, "bytes");
	ANSWER left = rest_ask(s, "B", "DELETE", BELOW, "", NULL, 0);
	rest_expect(&left, 204, NULL);
	ANSWER not_his = rest_get(s, "B", BELOW);
	rest_expect(&not_his, 404, "not_found");
	ANSWER still = rest_get(s, "A", BELOW);
	rest_expect(&still, 200, NULL);
}

Test(rest_life, a_deleted_campaign_is_gone_and_its_versions_are_not_used_again)
{
	char etag[60];

	store("A", "one", etag, sizeof(etag));
	store("A", "two", etag, sizeof(etag));
	ANSWER deleted = rest_ask(s, "A", "DELETE", BELOW, "", NULL, 0);
	rest_expect(&deleted, 204, NULL);
	ANSWER gone = rest_get(s, "A", BELOW "/checkpoint");
	rest_expect(&gone, 404, "not_found");
	ANSWER again = rest_ask(s, "A", "DELETE", BELOW, "", NULL, 0);
	rest_expect(&again, 404, "not_found");
	ANSWER other = rest_put(s, "B", CAMPAIGN, "", META, "three", 5);
	rest_expect(&other, 201, NULL);
	cr_expect_eq(rest_int(&other, "version"), 3);
}

Test(rest_life, an_older_checkpoint_becomes_the_newest)
{
	char etag[60], text[100];

	store("A", "one", etag, sizeof(etag));
	store("A", "two!", etag, sizeof(etag));
	ANSWER r = rest_ask(s, "A", "POST", BELOW "/restore?version=1", "", NULL, 0);
	rest_expect(&r, 201, NULL);
	cr_expect_eq(rest_int(&r, "version"), 3);
	cr_expect_str_eq(http_result_header(&r, "Location", text, sizeof(text)), BELOW "/checkpoint?version=3");
	ANSWER get = rest_get(s, "A", BELOW "/checkpoint");
	cr_expect_str_eq(get.body, "one");
	ANSWER old = rest_get(s, "A", BELOW "/checkpoint?version=2");
	cr_expect_str_eq(old.body, "two!");
	ANSWER none = rest_ask(s, "A", "POST", BELOW "/restore?version=9", "", NULL, 0);
	rest_expect(&none, 404, "not_found");
	ANSWER which = rest_ask(s, "A", "POST", BELOW "/restore", "", NULL, 0);
	rest_expect(&which, 400, "malformed");
	ANSWER stranger = rest_ask(s, "B", "POST", BELOW "/restore?version=1", "", NULL, 0);
	rest_expect(&stranger, 404, "not_found");
}

Test(rest_life, a_lost_save_is_noticed)
{
	char                  text[300];
	AUTO(auto_free) char *large = rest_bytes(4000, 1);
	ANSWER                first = rest_put(s, "A", CAMPAIGN, "", META, large, 4000);
	ANSWER                limit = rest_put(s, "A", CAMPAIGN, "", META, large, 1000);
	ANSWER                small = rest_put(s, "A", CAMPAIGN, "", META, large, 249);

	cr_expect_not(rest_bool(&first, "small"));
	cr_expect_not(rest_bool(&limit, "small"), "a quarter is no warning");
	cr_expect(rest_bool(&small, "small"));
	cr_expect_not_null(strstr(rest_text(&small, "warning", text, sizeof(text)), "smaller"));
	ANSWER list = rest_get(s, "A", "/v1/campaigns");
	cr_expect(rest_bool(&list, "campaigns.0.newest.small"));
	ANSWER one = rest_get(s, "A", BELOW);
	cr_expect(rest_bool(&one, "checkpoints.0.small"));
	cr_expect_not(rest_bool(&one, "checkpoints.1.small"));
}

Test(rest_life, survives_a_restart)
{
	char etag[60], text[60];

	store("A", "hello", etag, sizeof(etag));
	server_restart(s);
	ANSWER get = rest_get(s, "A", BELOW "/checkpoint");
	cr_expect_str_eq(get.body, "hello");
	cr_expect_str_eq(http_result_header(&get, "ETag", text, sizeof(text)), etag);
}

/* --- Conflicts --- */

Test(rest_conflict, who_goes_on_from_the_newest_is_stored)
{
	char etag[60], field[200];

	store("A", "one", etag, sizeof(etag));
	snprintf(field, sizeof(field), META "If-Match: %s\r\n", etag);
	ANSWER r = rest_put(s, "A", CAMPAIGN, "", field, "two", 3);
	rest_expect(&r, 201, NULL);
	cr_expect_eq(rest_int(&r, "version"), 2);
	ANSWER any = rest_put(s, "A", CAMPAIGN, "", META "If-Match: *\r\n", "three", 5);
	rest_expect(&any, 201, NULL);
}

Test(rest_conflict, who_goes_on_from_an_older_one_is_told_both)
{
	char etag[60], newer[60], field[200], text[100];

	store("A", "one", etag, sizeof(etag));
	store("A", "two", newer, sizeof(newer));
	snprintf(field, sizeof(field), META "If-Match: %s\r\n", etag);
	ANSWER r = rest_put(s, "A", CAMPAIGN, "", field, "mine!", 5);
	rest_expect(&r, 409, "conflict");
	cr_expect_eq(rest_int(&r, "error.newest.version"), 2);
	cr_expect_str_eq(rest_text(&r, "error.newest.etag", text, sizeof(text)), newer);
	cr_expect_str_eq(rest_text(&r, "error.yours.based_on", text, sizeof(text)), etag);
	cr_expect_eq(rest_int(&r, "error.yours.size"), 5);
	cr_expect_str_eq(rest_text(&r, "error.yours.level", text, sizeof(text)), "mines");
	ANSWER one = rest_get(s, "A", BELOW);
	cr_expect_eq(rest_count(&one, "checkpoints"), 2, "nothing was kept");
}

Test(rest_conflict, both_are_kept_when_asked_for)
{
	char etag[60], field[200];

	store("A", "one", etag, sizeof(etag));
	store("A", "two", field, sizeof(field));
	snprintf(field, sizeof(field), META "If-Match: %s\r\n", etag);
	ANSWER r = rest_put(s, "A", CAMPAIGN, "?keep=both", field, "mine!", 5);
	rest_expect(&r, 201, NULL);
	cr_expect_eq(rest_int(&r, "version"), 3);
	cr_expect(rest_bool(&r, "conflict"));
	cr_expect_eq(rest_int(&r, "newest.version"), 2);
	cr_expect_eq(rest_int(&r, "quota.bytes.used"), 11, "it counts");

	ANSWER newest = rest_get(s, "A", BELOW "/checkpoint");
	cr_expect_str_eq(newest.body, "two", "it is never the newest");
	ANSWER mine = rest_get(s, "A", BELOW "/checkpoint?version=3");
	cr_expect_str_eq(mine.body, "mine!");
	ANSWER one = rest_get(s, "A", BELOW);
	cr_expect(rest_bool(&one, "checkpoints.0.conflict"));
	cr_expect_not(rest_bool(&one, "checkpoints.1.conflict"));
	ANSWER list = rest_get(s, "A", "/v1/campaigns");
	cr_expect_eq(rest_int(&list, "campaigns.0.newest.version"), 2);
}

Test(rest_conflict, keep_both_without_a_conflict_is_an_upload_as_any)
{
	char etag[60], field[200];

	store("A", "one", etag, sizeof(etag));
	snprintf(field, sizeof(field), META "If-Match: %s\r\n", etag);
	ANSWER r = rest_put(s, "A", CAMPAIGN, "?keep=both", field, "two", 3);
	rest_expect(&r, 201, NULL);
	cr_expect_not(rest_bool(&r, "conflict"));
	cr_expect_not(rest_has(&r, "newest"));
}

Test(rest_conflict, a_new_campaign_must_be_new_when_asked_for)
{
	ANSWER first = rest_put(s, "A", CAMPAIGN, "", META "If-None-Match: *\r\n", "one", 3);
	rest_expect(&first, 201, NULL);
	ANSWER second = rest_put(s, "A", CAMPAIGN, "", META "If-None-Match: *\r\n", "two", 3);
	rest_expect(&second, 412, "exists_already");
	ANSWER stranger = rest_put(s, "B", CAMPAIGN, "", META "If-None-Match: *\r\n", "two", 3);
	rest_expect(&stranger, 403, "not_allowed");
}

Test(rest_conflict, what_must_be_there_and_is_not_is_a_conflict_with_nothing)
{
	ANSWER any  = rest_put(s, "A", CAMPAIGN, "", META "If-Match: *\r\n", "one", 3);
	ANSWER etag = rest_put(s, "A", CAMPAIGN, "", META "If-Match: \"1-0011223344556677\"\r\n", "one", 3);
	ANSWER list = rest_get(s, "A", "/v1/campaigns");

	rest_expect(&any, 409, "conflict");
	rest_expect(&etag, 409, "conflict");
	cr_expect_not_null(strstr(any.body, "\"newest\":null"), "%s", any.body);
	cr_expect_not_null(strstr(etag.body, "\"newest\":null"), "%s", etag.body);
	cr_expect_eq(rest_count(&list, "campaigns"), 0);
}

/*
 * Lists, a page at a time, and parameters; over a real socket, since the library reads the query.
 */
#include "admin/admin_serve.h"
#include "base/auto.h"
#include "net/listen.h"
#include "support/api_request.h"
#include "support/http_client.h"
#include "support/http_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct http_fixture f; /* for its settings and its clock */
static struct api         *api;
static struct admin       *admin;
static char                dir[40], where[60];

/* The numbers 1 to 5, from behind the cursor on. */
static enum err on_numbers(struct api_call *c, void *part)
{
	struct api_page p;
	enum err        e = api_page_begin(&p, c);

	(void)part;
	if (e != ERR_OK)
		return e;
	for (int64_t i = api_page_after_int(&p, 0) + 1; i <= 5; i++) {
		struct json *j;

		if (!api_page_room_int(&p, i))
			break;
		j = json_object_new();
		json_put_int(j, "n", i);
		api_page_add(&p, j);
	}
	return api_page_end(&p, e);
}

/* Says what the query says. */
static enum err on_query(struct api_call *c, void *part)
{
	char         text[API_QUERY_BYTES];
	int64_t      n;
	uint8_t      id[8];
	bool         has;
	struct json *j = json_object_new();
	enum err     e = api_query_text(text, c, "q");

	(void)part;
	if (e == ERR_OK)
		e = api_query_int(&n, c, "n", -1, 5, 4);
	if (e == ERR_OK)
		e = api_query_id(id, &has, c, "id");
	if (e != ERR_OK) {
		json_free(j);
		return e;
	}
	json_put_text(j, "q", text);
	json_put_int(j, "n", n);
	json_put_bool(j, "id", has);
	return api_answer(c, 200, j);
}

static const struct api_route routes[] = {
	{ .method = "GET", .path = "/numbers", .role = API_VIEWER, .query = "limit cursor", .handle = on_numbers },
	{ .method = "GET", .path = "/query", .role = API_VIEWER, .query = "q n id", .handle = on_query },
	{ 0 },
};

static void start(void)
{
	struct http_listen on   = { 0 };
	struct admin_door  door = { .name = "admin", .on = &on, .count = 1, .connections_max = 3 };

	http_fixture_init(&f);
	strcpy(dir, "/tmp/coopd-api-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	snprintf(where, sizeof(where), "%s/s", dir);
	cr_assert_eq(listen_unix(&on.fd, where, stderr), ERR_OK);
	cr_assert_eq(api_new(&api, NULL, NULL, &f.conf), ERR_OK);
	cr_assert_eq(api_add(api, routes, api), ERR_OK);
	cr_assert_eq(admin_start(&admin, api, &door, NULL, 0), ERR_OK);
}

static void stop(void)
{
	admin_stop(admin);
	api_free(api);
	http_fixture_stop(&f);
	unlink(where);
	rmdir(dir);
}

TestSuite(api_page, .init = start, .fini = stop);

static void expect(const char *target, int status, const char *want)
{
	struct http_result r = http_get_unix(where, target);

	cr_expect_eq(r.status, status, "%s: %s", target, r.body);
	cr_expect_not_null(strstr(r.body, want), "%s: %s", target, r.body);
	http_result_free(&r);
}

Test(api_page, shows_so_many_and_says_where_it_goes_on)
{
	static const char all[] = "{\"items\":[{\"n\":1},{\"n\":2},{\"n\":3},{\"n\":4},{\"n\":5}],\"next\":null}";

	expect("/numbers?limit=2", 200, "{\"items\":[{\"n\":1},{\"n\":2}],\"next\":\"0000000000000002\"}");
	expect("/numbers?limit=2&cursor=0000000000000002", 200,
	       "{\"items\":[{\"n\":3},{\"n\":4}],\"next\":\"0000000000000004\"}");
	expect("/numbers?limit=2&cursor=0000000000000004", 200, "{\"items\":[{\"n\":5}],\"next\":null}");
	expect("/numbers?limit=5", 200, all);
	expect("/numbers", 200, all);
	expect("/numbers?cursor=", 200, all);
	expect("/numbers?cursor=0000000000000005", 200, "{\"items\":[],\"next\":null}");
}

Test(api_page, refuses_what_it_never_gave)
{
	expect("/numbers?limit=0", 422, "limit is a number from 1 to 1000");
	expect("/numbers?limit=1001", 422, "invalid");
	expect("/numbers?limit=a", 422, "invalid");
	expect("/numbers?cursor=0", 400, "malformed");
	expect("/numbers?cursor=xy", 400, "malformed");
	expect("/numbers?limit=1000&cursor=%30", 400, "malformed");
	expect("/numbers?cursor=0000000000000001&cursor=0000000000000002", 400, "twice");
}

Test(api_page, a_cursor_has_a_longest)
{
	char target[400] = "/numbers?cursor=";

	for (int i = 0; i < 127; i++)
		strcat(target, "00");
	expect(target, 200, "items"); /* a key of 127 bytes may be one of another list */
	strcat(target, "00");
	expect(target, 400, "malformed");
}

Test(api_page, a_query_is_read_in_one_way)
{
	expect("/query", 200, "{\"q\":\"\",\"n\":4,\"id\":false}");
	expect("/query?q=a%20b+c&n=-1&id=00112233445566aa", 200, "{\"q\":\"a b c\",\"n\":-1,\"id\":true}");
	expect("/query?q=%c3%a4%2B", 200, "{\"q\":\"\xc3\xa4+\"");
	expect("/query?q=%ff", 400, "malformed");
	expect("/query?q=a%00b", 400, "malformed");
	expect("/query?q=%c3", 400, "malformed");
	expect("/query?q=%4", 400, "malformed");
	expect("/query?n=6", 422, "n is a number from -1 to 5");
	expect("/query?n=", 422, "invalid");
	expect("/query?id=00112233445566AA", 422, "id is an id");
	expect("/query?id=", 422, "invalid");
	expect("/query?qq=1", 400, "not known");
	expect("/query?q=1&q=1", 400, "twice");
}

TestSuite(api_say);

Test(api_say, says_that_it_was_only_tried)
{
	struct api_request r;

	api_request_init(&r, NULL, NULL, NULL);
	r.call.dry_run = true;
	cr_expect_eq(api_answer(&r.call, 200, api_done()), ERR_OK);
	cr_expect_str_eq(r.answer.body, "{\"ok\":true,\"dry_run\":true}");
	cr_expect(r.answer.no_store);
	api_request_fini(&r);
	api_request_init(&r, NULL, NULL, NULL);
	cr_expect_eq(api_answer(&r.call, 200, NULL), ERR_NOMEM);
	api_request_fini(&r);
}

Test(api_say, members_are_for_people_and_programs)
{
	AUTO(json_freep) struct json *j     = json_object_new();
	uint8_t                       id[8] = { 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xaa };
	AUTO(auto_free) char         *text;

	api_put_time(j, "t", INT64_C(1796117400123));
	api_put_time(j, "never", 0);
	api_put_id(j, "id", id);
	api_put_text(j, "x", "a\x01\xff\xe2\x80\x8b", 6, 10);
	api_put_text(j, "cut", "abcdef", 6, 3);
	text = json_text(j);
	cr_expect_str_eq(text, "{\"t\":\"2026-12-01T09:30:00Z\",\"never\":null,\"id\":\"00112233445566aa\","
	                       "\"x\":\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\"cut\":\"abc\"}");
}

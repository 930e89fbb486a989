/*
 * Lists, a page at a time.
 */
#include "base/auto.h"
#include "support/api_request.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* The numbers 1 to 5, shown from behind the cursor on. */
static enum err show(struct api_request *r)
{
	struct api_page p;
	enum err        e = api_page_begin(&p, &r->call);

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

static void expect(const char *query, const char *want)
{
	struct api_request r;

	api_request_init(&r, query, NULL, NULL);
	cr_expect_eq(show(&r), ERR_OK);
	cr_expect_str_eq(r.answer.body, want);
	api_request_fini(&r);
}

Test(api_page, shows_so_many_and_says_where_it_goes_on)
{
	expect("limit=2", "{\"items\":[{\"n\":1},{\"n\":2}],\"next\":\"0000000000000002\"}");
	expect("limit=2&cursor=0000000000000002", "{\"items\":[{\"n\":3},{\"n\":4}],\"next\":\"0000000000000004\"}");
	expect("limit=2&cursor=0000000000000004", "{\"items\":[{\"n\":5}],\"next\":null}");
	expect("limit=5", "{\"items\":[{\"n\":1},{\"n\":2},{\"n\":3},{\"n\":4},{\"n\":5}],\"next\":null}");
	expect("cursor=0000000000000005", "{\"items\":[],\"next\":null}");
	expect("cursor=", "{\"items\":[{\"n\":1},{\"n\":2},{\"n\":3},{\"n\":4},{\"n\":5}],\"next\":null}");
}

Test(api_page, refuses_what_it_never_gave)
{
	static const struct {
		const char *query;
		enum err    e;
	} rows[] = {
		{ "limit=0", ERR_INVALID },     { "limit=1001", ERR_INVALID },
		{ "limit=a", ERR_INVALID },     { "cursor=0", ERR_MALFORMED },
		{ "cursor=xy", ERR_MALFORMED }, { "limit=1000&cursor=%30", ERR_MALFORMED },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct api_request r;

		api_request_init(&r, rows[i].query, NULL, NULL);
		cr_expect_eq(show(&r), rows[i].e, "%s", rows[i].query);
		api_request_fini(&r);
	}
}

Test(api_page, a_cursor_has_a_longest)
{
	char               query[300] = "cursor=";
	struct api_request r;

	for (int i = 0; i < 127; i++)
		strcat(query, "00");
	api_request_init(&r, query, NULL, NULL);
	cr_expect_eq(show(&r), ERR_OK, "a key of 127 bytes may be one of another list");
	api_request_fini(&r);
	strcat(query, "00");
	api_request_init(&r, query, NULL, NULL);
	cr_expect_eq(show(&r), ERR_MALFORMED);
	api_request_fini(&r);
}

Test(api_page, says_that_it_was_only_tried)
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

Test(api_page, members_are_for_people_and_programs)
{
	AUTO(json_freep) struct json *j     = json_object_new();
	uint8_t                       id[8] = { 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xaa };
	AUTO(auto_free) char         *text;

	api_put_time(j, "t", INT64_C(1796117400123));
	api_put_time(j, "never", 0);
	api_put_id(j, "id", id);
	api_put_text(j, "x", "a\x01\xff\xe2\x80\xae", 6, 10);
	api_put_text(j, "cut", "abcdef", 6, 3);
	text = json_text(j);
	cr_expect_str_eq(text, "{\"t\":\"2026-12-01T09:30:00Z\",\"never\":null,\"id\":\"00112233445566aa\","
	                       "\"x\":\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\"cut\":\"abc\"}");
}

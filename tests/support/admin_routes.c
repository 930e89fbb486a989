#include "support/admin_routes.h"

#include "base/auto.h"
#include "server_admin.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Names that are numbers; all others are ids. */
static const struct {
	const char *name, *value;
} values[] = {
	{ "code", "123456" }, { "number", "1" },   { "member", "1" },  { "user", "1" },
	{ "version", "1" },   { "title", "game" }, { "board", "one" }, { "name", "nobody" },
};

struct api *admin_routes(void)
{
	static struct conf                     conf;
	static struct server_admin             admin;
	static const struct server_admin_parts off;
	struct api                            *a;

	limits_default(&conf.limits);
	cr_assert_eq(api_new(&a, NULL, NULL, &conf), ERR_OK);
	admin.api = a;
	cr_assert_eq(server_admin_routes(&admin, &off), ERR_OK);
	return a;
}

static const char *value_of(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		if (strlen(values[i].name) == len && memcmp(values[i].name, name, len) == 0)
			return values[i].value;
	}
	return "00112233445566aa";
}

void admin_route_path(char out[ADMIN_PATH_BYTES], const struct api_route *r)
{
	size_t used = 0;

	for (const char *at = r->path; *at;) {
		size_t      len   = *at == '{' ? strcspn(at, "}") + 1 : strcspn(at, "{");
		const char *value = *at == '{' ? value_of(at + 1, len - 2) : at;
		size_t      bytes = *at == '{' ? strlen(value) : len;

		cr_assert_lt(used + bytes, ADMIN_PATH_BYTES);
		memcpy(out + used, value, bytes);
		used += bytes;
		at += len;
	}
	out[used] = '\0';
}

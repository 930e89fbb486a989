#include "coopctl/list.h"

#include "base/auto.h"
#include "base/text.h"
#include "coopctl/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *list_query(const struct ctl *c, char *path)
{
	for (size_t i = 0; i < c->value_count; i++) {
		const struct ctl_option *o = c->values[i].option;
		char                     text[VALUE_TIME_BYTES];
		int64_t                  n;

		if (!o->query)
			continue;
		if (o->kind == CTL_MOMENT && value_moment(text, c->values[i].text)) {
			path = client_query(path, o->query, text);
		} else if (value_of(&n, c, o->name)) {
			text_format(text, sizeof(text), "%lld", (long long)n);
			path = client_query(path, o->query, text);
		} else {
			path = client_query(path, o->query, c->values[i].text);
		}
	}
	return path;
}

enum ctl_exit list_run(struct ctl *c, const char *path, const struct print_column *columns, const char *none)
{
	AUTO(auto_free) char *whole = list_query(c, strdup(path));
	json_t               *list  = NULL;
	int64_t               most  = 0;
	enum ctl_exit         e;

	value_of(&most, c, "limit");
	e = client_list(&list, c, whole, most);
	if (e != CTL_OK)
		return e;
	print_list(c, list, columns, none);
	json_decref(list);
	return CTL_OK;
}

enum ctl_exit list_show(struct ctl *c, const char *path, const struct print_column *fields,
                        const struct list_inside *lists)
{
	json_t       *thing = NULL;
	enum ctl_exit e     = client_get(&thing, c, path);

	if (e != CTL_OK)
		return e;
	if (c->json) {
		print_json(stdout, thing);
		json_decref(thing);
		return CTL_OK;
	}
	print_fields(c, stdout, thing, fields);
	for (; lists && lists->title; lists++) {
		const json_t *items = print_member(thing, lists->member);

		if (json_array_size(items) == 0)
			continue;
		print_heading(c, stdout, lists->title);
		print_table(c, stdout, items, lists->columns);
	}
	json_decref(thing);
	return CTL_OK;
}

#include "coopctl/name.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "coopctl/client.h"
#include "coopctl/print.h"
#include "coopctl/value.h"

#include <ctype.h>
#include <string.h>

#define ID_DIGITS  16
#define CODE_FIRST 5 /* digits of the shortest code */
#define CODE_LAST  6
#define FOUND_MAX  1000 /* that are looked at */
#define SHOWN_MAX  50   /* of those that it could be */

static const struct print_column campaign_columns[] = {
	{ "ID", "id", PRINT_TEXT },
	{ "NAME", "name", PRINT_TEXT },
	{ "OWNER", "owner", PRINT_TEXT },
	{ "SIZE", "bytes", PRINT_BYTES },
	{ "STORED", "stored_at", PRINT_AGO },
	{ "TRASHED", "trashed_at", PRINT_AGO },
	{ 0 },
};

static const struct print_column player_columns[] = {
	{ "ID", "id", PRINT_TEXT },
	{ "CODE", "code", PRINT_NUMBER },
	{ "SEEN", "seen_at", PRINT_AGO },
	{ "CAMPAIGNS", "campaigns", PRINT_NUMBER },
	{ 0 },
};

static void take_id(struct ctl_name *out, const char *id)
{
	size_t i = 0;

	for (; i < ID_DIGITS; i++)
		out->id[i] = (char)tolower((unsigned char)id[i]);
	out->id[i] = '\0';
	text_copy(out->label, sizeof(out->label), out->id);
}

static enum ctl_exit take_item(struct ctl_name *out, const struct ctl *c, const json_t *item)
{
	const char *id   = json_string_value(json_object_get(item, "id"));
	const char *name = json_string_value(json_object_get(item, "name"));

	if (!id || !value_is_hex(id, ID_DIGITS))
		return ctl_fail(c, CTL_REFUSED, "foreign", "the server's list has an id that is none");
	take_id(out, id);
	if (name && *name)
		text_format(out->label, sizeof(out->label), "%s \"%s\"", out->id, name);
	text_make_utf8(out->label);
	return CTL_OK;
}

/* The only item that is called exactly so; NULL: none is, or several are. */
static const json_t *called_exactly(const json_t *items, const char *text)
{
	const json_t *found = NULL, *item;
	size_t        i;

	json_array_foreach(items, i, item)
	{
		const char *name = json_string_value(json_object_get(item, "name"));

		if (!name || strcmp(name, text) != 0)
			continue;
		if (found)
			return NULL;
		found = item;
	}
	return found;
}

/* A deleted campaign stands in the trash once per time that it was deleted: all the same for whoever means its id. */
static bool is_one_thing(const json_t *items)
{
	const json_t *item;
	size_t        i;

	json_array_foreach(items, i, item)
	{
		if (!json_equal(json_object_get(item, "id"), json_object_get(json_array_get(items, 0), "id")))
			return false;
	}
	return json_array_size(items) > 0;
}

static enum ctl_exit say_several(const struct ctl *c, const char *kind, const char *text, json_t *items,
                                 const struct print_column *columns)
{
	size_t count = json_array_size(items);

	if (c->json)
		return ctl_fail(c, CTL_CONFLICT, "ambiguous", "\"%s\" is %zu%s %s; give the id of one", text, count,
		                count >= FOUND_MAX ? " or more" : "", kind);
	ctl_fail(c, CTL_CONFLICT, "ambiguous", "\"%s\" is %zu%s %s; give the id of one:", text, count,
	         count >= FOUND_MAX ? " or more" : "", kind);
	while (json_array_size(items) > SHOWN_MAX)
		json_array_remove(items, json_array_size(items) - 1);
	print_table(c, stderr, items, columns);
	return CTL_CONFLICT;
}

/* The one of the list at path; kind: what they are, for people. */
static enum ctl_exit choose(struct ctl_name *out, struct ctl *c, const char *path, const char *text, const char *kind,
                            const struct print_column *columns)
{
	json_t       *list = NULL;
	enum ctl_exit e    = client_list(&list, c, path, FOUND_MAX);

	if (e != CTL_OK)
		return e;

	json_t       *items = json_object_get(list, "items");
	const json_t *exact = called_exactly(items, text);

	if (json_array_size(items) == 0)
		e = ctl_fail(c, CTL_NOT_FOUND, "not_found", "there are no %s by \"%s\"", kind, text);
	else if (exact || is_one_thing(items))
		e = take_item(out, c, exact ? exact : json_array_get(items, 0));
	else
		e = say_several(c, kind, text, items, columns);
	json_decref(list);
	return e;
}

enum ctl_exit ctl_name_campaign(struct ctl_name *out, struct ctl *c, const char *text, const char *trash)
{
	if (value_is_hex(text, ID_DIGITS)) {
		take_id(out, text);
		return CTL_OK;
	}

	AUTO(auto_free) char *path = client_query(client_query(strdup("/campaigns"), "q", text), "trash", trash);

	return choose(out, c, path, text, strcmp(trash, "only") == 0 ? "campaigns in the trash" : "campaigns",
	              campaign_columns);
}

enum ctl_exit ctl_name_player(struct ctl_name *out, struct ctl *c, const char *text)
{
	size_t len     = strlen(text);
	bool   is_code = len >= CODE_FIRST && len <= CODE_LAST && strspn(text, "0123456789") == len;

	if (value_is_hex(text, ID_DIGITS)) {
		take_id(out, text);
		return CTL_OK;
	}

	AUTO(auto_free) char *path = client_query(strdup("/players"), is_code ? "code" : "q", text);

	return choose(out, c, path, text, "players", player_columns);
}

bool ctl_name_key(char out[NAME_KEY_BYTES], const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t            len     = strlen(text);
	bool              is_key  = len > 1 && len % 2 == 1 && text[0] == '~' && value_is_hex(text + 1, len - 1);

	if (is_key || (len > 0 && text[0] != '.' && strspn(text, plain) == len))
		return text_copy(out, NAME_KEY_BYTES, text);
	if (2 * len + 2 > NAME_KEY_BYTES)
		return false;
	out[0] = '~';
	hex_encode(out + 1, text, len);
	return true;
}

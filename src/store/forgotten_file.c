/*
 * The list of forgotten players as a file:
 *
 *	# ...
 *	SALT TAG AT_MS HEIR	in hex, but for the time; HEIR "-": none
 */
#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "os/file.h"
#include "store/forget.h"
#include "store/forgotten_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE \
	"# Players who were forgotten, as keyed hashes. coopd forgets them again: keep this file beside coop.db.\n"

static void write_row(FILE *out, const struct forgotten_row *row)
{
	char salt[2 * HASH_KEY_BYTES + 1], tag[2 * HASH_KEYED_BYTES + 1], heir[2 * PLAYER_ID_BYTES + 1] = "-";

	hex_encode(salt, row->salt, sizeof(row->salt));
	hex_encode(tag, row->tag, sizeof(row->tag));
	if (row->f.has_heir)
		hex_encode(heir, row->f.heir, sizeof(row->f.heir));
	fprintf(out, "%s %s %" PRId64 " %s\n", salt, tag, row->f.at_ms, heir);
}

/* The whole file, for free(); NULL when out of memory. */
static char *text_of(size_t *len, const struct forgotten_list *l)
{
	char *text = NULL;
	FILE *out  = open_memstream(&text, len);

	if (!out)
		return NULL;
	fputs(FIRST_LINE, out);
	for (size_t i = 0; i < l->count; i++)
		write_row(out, &l->rows[i]);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* Whether nothing has to be written: it is there as it is, or there is nobody to be kept and never was. */
static bool is_saved(const char *path, const struct forgotten_list *l, const char *text, size_t len)
{
	AUTO(auto_free) char *has     = NULL;
	size_t                has_len = 0;
	enum err              e       = file_read(&has, &has_len, path, FORGOTTEN_BYTES_MAX);

	if (e == ERR_NOT_FOUND)
		return l->count == 0;
	return e == ERR_OK && has_len == len && memcmp(has, text, len) == 0;
}

enum err forgotten_save(struct db *db, const char *path)
{
	struct forgotten_list l    = { .rows = NULL };
	enum err              e    = forgotten_rows(&l, db);
	size_t                len  = 0;
	AUTO(auto_free) void *rows = l.rows;
	AUTO(auto_free) char *text = e == ERR_OK ? text_of(&len, &l) : NULL;

	(void)rows;
	if (e != ERR_OK)
		return e;
	if (!text)
		return ERR_NOMEM;
	return is_saved(path, &l, text, len) ? ERR_OK : file_write(path, text, len, 0600);
}

/* Cuts the word in front off *line. */
static const char *take_word(char **line)
{
	return strsep(line, " ");
}

static bool read_hex(uint8_t *out, size_t len, const char *word)
{
	return word && hex_decode(out, len, word, strlen(word)) == ERR_OK;
}

static enum err read_row(struct forgotten_row *out, char *line)
{
	bool fits = read_hex(out->salt, sizeof(out->salt), take_word(&line)) &&
	            read_hex(out->tag, sizeof(out->tag), take_word(&line));
	const char *at = take_word(&line), *heir = take_word(&line);

	if (!fits || !at || !heir || line || text_to_int(&out->f.at_ms, at, 0, INT64_MAX) != ERR_OK)
		return ERR_MALFORMED;
	out->f.has_heir = strcmp(heir, "-") != 0;
	return !out->f.has_heir || read_hex(out->f.heir, sizeof(out->f.heir), heir) ? ERR_OK : ERR_MALFORMED;
}

static enum err read_lines(struct forgotten_list *l, char *text, int64_t before_ms)
{
	enum err e = ERR_OK;

	for (char *line; e == ERR_OK && (line = strsep(&text, "\n"));) {
		struct forgotten_row row = { .f = { .at_ms = 0 } };

		if (*line == '#' || *line == '\0')
			continue;
		e = read_row(&row, line);
		if (e == ERR_OK && row.f.at_ms >= before_ms)
			e = forgotten_append(l, &row);
	}
	forgotten_sort(l);
	return e;
}

enum err forgotten_load(struct forgotten_list **out, const char *path, int64_t before_ms)
{
	AUTO(auto_free) char *text = NULL;
	size_t                len  = 0;
	enum err              e    = file_read(&text, &len, path, FORGOTTEN_BYTES_MAX);

	if (e != ERR_OK)
		return e == ERR_TOO_BIG ? ERR_MALFORMED : e;
	if (strlen(text) != len)
		return ERR_MALFORMED;

	struct forgotten_list *l = calloc(1, sizeof(*l));

	e = l ? read_lines(l, text, before_ms) : ERR_NOMEM;
	if (e == ERR_OK)
		*out = l;
	else
		forgotten_list_free(l);
	return e;
}

#include "cloud/relay_folder.h"

#include "base/auto.h"
#include "base/hex.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODE_MIN 100000
#define CODE_MAX 999999

relay_why relay_open(int *fd, int64_t *bytes, int64_t *changed_ms, int dir, const char *name, int64_t max)
{
	struct stat st;

	/* A pipe would wait for its other end. */
	*fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*fd < 0)
		return errno == ENOENT ? "is not there" : errno == ELOOP ? "is a link" : "cannot be opened";
	if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= max) {
		*bytes      = st.st_size;
		*changed_ms = (int64_t)st.st_mtim.tv_sec * 1000;
		return NULL;
	}
	close(*fd);
	*fd = -1;
	return S_ISREG(st.st_mode) ? "is larger than it may be" : "is no plain file";
}

static bool read_all(char *out, size_t len, int fd)
{
	for (size_t at = 0; at < len;) {
		ssize_t got = read(fd, out + at, len - at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += (size_t)got;
	}
	return true;
}

relay_why relay_json_text(struct json **out, char **text, size_t *len, int dir, const char *name, int64_t max)
{
	int       fd;
	int64_t   bytes, changed_ms;
	relay_why why = relay_open(&fd, &bytes, &changed_ms, dir, name, max);

	if (why)
		return why;
	*text     = malloc((size_t)bytes + 1);
	*len      = (size_t)bytes;
	bool read = *text && read_all(*text, *len, fd);

	close(fd);
	if (!read)
		return "cannot be read";
	return json_parse_lenient(out, *text, *len, JSON_DEPTH_MAX) == ERR_OK ? NULL : "is no object of JSON";
}

relay_why relay_json(struct json **out, int dir, const char *name, int64_t max)
{
	AUTO(auto_free) char *text = NULL;
	size_t                len  = 0;

	return relay_json_text(out, &text, &len, dir, name, max);
}

bool relay_has(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool relay_id(uint8_t out[8], const char *text)
{
	size_t len = strlen(text);

	return len == 16 && hex_decode(out, 8, text, len) == ERR_OK;
}

/* Seconds as milliseconds, between the beginning of Unix time and now. */
static int64_t moment(int64_t seconds, int64_t now_ms)
{
	if (seconds < 0)
		return 0;
	return seconds > now_ms / 1000 ? now_ms : seconds * 1000;
}

relay_why relay_code(struct relay_code *out, const struct json *codes, const char *name, int64_t now_ms)
{
	size_t  count;
	int64_t used;

	if (!relay_id(out->id, name))
		return "is no player's id";
	if (json_kind(codes, name) != JSON_IS_ARRAY || json_get_array(&count, codes, name) != ERR_OK || count != 2 ||
	    json_get_array_int(&out->code, codes, name, 0) != ERR_OK ||
	    json_get_array_number(&used, codes, name, 1) != ERR_OK)
		return "has no whole code and time";
	if (out->code < CODE_MIN || out->code > CODE_MAX)
		return "has a number that is no code";
	out->used_ms = moment(used, now_ms);
	return NULL;
}

static void read_members(struct relay_meta *out, const struct json *j)
{
	size_t count = 0;

	if (json_kind(j, "members") != JSON_IS_ARRAY || json_get_array(&count, j, "members") != ERR_OK)
		return;
	for (size_t i = 0; i < count; i++) {
		const char *text;

		if (out->member_count < CAMPAIGN_NAMED_MAX && json_get_array_text(&text, j, "members", i) == ERR_OK &&
		    relay_id(out->members[out->member_count], text))
			out->member_count++;
		else
			out->odd_members++;
	}
}

static int64_t read_number(const struct json *j, const char *name, int64_t otherwise)
{
	int64_t number;

	return json_get_number(&number, j, name) == ERR_OK ? number : otherwise;
}

relay_why relay_meta(struct relay_meta *out, int dir, int64_t now_ms)
{
	AUTO(json_freep) struct json *j = NULL;
	const char                   *owner;
	relay_why                     why = relay_json(&j, dir, "meta.json", RELAY_META_BYTES);

	*out = (struct relay_meta){ .size = -1 };
	if (why)
		return why;
	if (json_get_text(&owner, j, "owner") != ERR_OK || !relay_id(out->owner, owner))
		return "names no owner";
	read_members(out, j);
	out->size      = read_number(j, "size", -1);
	out->prev_size = read_number(j, "prev_size", -1);
	out->stored_ms = moment(read_number(j, "updated", 0), now_ms);
	out->made_ms   = moment(read_number(j, "created", 0), now_ms);
	if (out->stored_ms > 0 && out->made_ms > out->stored_ms)
		out->made_ms = out->stored_ms;
	return NULL;
}

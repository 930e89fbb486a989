#include "net/ws_peek.h"

#include <string.h>

size_t ws_peek_end(const char *bytes, size_t len)
{
	const char *end = bytes + len;
	const char *at  = bytes;

	/* Like the library we let CR be missing. */
	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		if (end - at >= 1 && at[0] == '\n')
			return (size_t)(at - bytes) + 1;
		if (end - at >= 2 && at[0] == '\r' && at[1] == '\n')
			return (size_t)(at - bytes) + 2;
	}
	return 0;
}

/* The next line, ended by NUL instead of its line break; NULL behind the last. */
static char *take_line(char **at, char *end)
{
	char *line = *at;
	char *brk  = memchr(line, '\n', (size_t)(end - line));

	if (!brk)
		return NULL;
	*at = brk + 1;
	if (brk > line && brk[-1] == '\r')
		brk--;
	*brk = '\0';
	return line;
}

static enum err add_field(struct http_head *out, char *line)
{
	char *colon = strchr(line, ':');

	if (!colon)
		return ERR_MALFORMED;
	*colon = '\0';

	char  *value = colon + 1 + strspn(colon + 1, " \t");
	size_t len   = strlen(value);

	while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
		len--;
	value[len] = '\0';
	http_head_add(out, line, value);
	return ERR_OK;
}

enum err ws_peek_fields(struct http_head *out, char *head, size_t len, const char *forwarded_name)
{
	char *at   = head;
	char *end  = head + len;
	char *line = NULL;

	http_head_init(out, forwarded_name);
	if (memchr(head, '\0', len) || !take_line(&at, end))
		return ERR_MALFORMED;
	while ((line = take_line(&at, end)) && line[0] != '\0')
		if (add_field(out, line) != ERR_OK)
			return ERR_MALFORMED;
	return line ? http_head_check(out, "GET", false, false) : ERR_MALFORMED;
}

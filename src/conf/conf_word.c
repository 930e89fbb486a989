/* Checks of single words: by form only, nothing is resolved or opened. */
#include "conf/conf_word.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <string.h>

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

#define LISTEN_FORM "write 127.0.0.1:PORT, [::1]:PORT, or 0.0.0.0:PORT and [::]:PORT for every address"

bool conf_refuse(struct conf_why *why, const struct conf_row *row, const char *word, const char *format, ...)
{
	char    shown[100];
	char    reason[400];
	va_list args;

	if (row->flags & SECRET)
		(void)text_copy(shown, sizeof(shown), "***");
	else
		text_escape(shown, sizeof(shown), word, strlen(word));
	va_start(args, format);
	(void)text_formatv(reason, sizeof(reason), format, args);
	va_end(args);
	(void)text_format(why->text, sizeof(why->text), "\"%s\" %s", shown, reason);
	return false;
}

/* An address written in full, as inet_pton takes it, in the first len bytes of text. */
static bool is_address(int family, const char *text, size_t len)
{
	char            copy[INET6_ADDRSTRLEN];
	struct in6_addr unused;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return inet_pton(family, copy, &unused) == 1;
}

/* The whole text is a decimal number of at most max. */
static bool is_number(const char *text, int64_t max)
{
	int64_t unused;

	return text_to_int(&unused, text, 0, max) == ERR_OK && *text != '-';
}

static bool check_listen(const struct conf_row *row, const char *word, struct conf_why *why)
{
	bool        bracket = *word == '[';
	const char *host    = bracket ? word + 1 : word;
	const char *end     = bracket ? strchr(host, ']') : strrchr(host, ':');
	const char *port    = end && bracket ? end + 1 : end;

	if (!bracket && is_address(AF_INET6, word, strlen(word)))
		return conf_refuse(why, row, word, "needs brackets around the IPv6 address; " LISTEN_FORM);
	if (!port || *port != ':')
		return conf_refuse(why, row, word, "has no port; " LISTEN_FORM);
	if (!is_address(bracket ? AF_INET6 : AF_INET, host, (size_t)(end - host)))
		return conf_refuse(why, row, word, "does not begin with a numeric address; " LISTEN_FORM);
	if (!is_number(port + 1, 65535))
		return conf_refuse(why, row, word, "does not end with a port from 0 to 65535; " LISTEN_FORM);
	return true;
}

static bool check_network(const struct conf_row *row, const char *word, struct conf_why *why)
{
	size_t      len    = strcspn(word, "/");
	const char *prefix = word[len] ? word + len + 1 : NULL;
	bool        v4     = is_address(AF_INET, word, len);

	if (strcmp(word, "none") == 0)
		return conf_refuse(why, row, word, "stands alone or not at all");
	if (!v4 && !is_address(AF_INET6, word, len))
		return conf_refuse(why, row, word,
		                   "is no numeric address; write 10.0.0.1, 10.0.0.0/8, fd00::/8, or only none");
	if (prefix && !is_number(prefix, v4 ? 32 : 128))
		return conf_refuse(why, row, word, "does not end with a prefix from 0 to %d", v4 ? 32 : 128);
	return true;
}

static bool is_host(const char *text, size_t len, const char *letters)
{
	size_t good = strspn(text, letters);

	return len > 0 && len <= 253 && good >= len && text[0] != '.' && text[0] != '-';
}

/* host, host:port, [IPv6] or [IPv6]:port, and nothing behind; *port is where it begins, or NULL. */
static bool is_place(const char **port, const char *text, const char *letters)
{
	size_t len  = *text == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":");
	bool   good = *text == '[' ? len <= strlen(text) && is_address(AF_INET6, text + 1, len - 2)
	                           : is_host(text, len, letters);

	*port = good && text[len] == ':' ? text + len + 1 : NULL;
	return good && (!text[len] || (*port && is_number(*port, 65535)));
}

static bool is_origin(const char *word)
{
	size_t      scheme = strspn(word, LOWER);
	const char *port;

	return scheme > 0 && strncmp(word + scheme, "://", 3) == 0 &&
	       is_place(&port, word + scheme + 3, LOWER DIGITS ".-_");
}

bool conf_word_is_place(const char *text, bool needs_port)
{
	const char *port;

	if (!is_place(&port, text, LOWER UPPER DIGITS ".-_"))
		return false;
	return port ? !is_number(port, 0) : !needs_port;
}

static bool check_origin(const struct conf_row *row, const char *word, struct conf_why *why)
{
	return is_origin(word) || conf_refuse(why, row, word,
	                                      "is no web origin; write https://host or https://host:port in lower "
	                                      "case, and nothing behind");
}

bool conf_word_check(const struct conf_row *row, const char *word, struct conf_why *why)
{
	switch (row->type) {
	case CONF_TYPE_LISTEN:
		return check_listen(row, word, why);
	case CONF_TYPE_NETWORKS:
		return check_network(row, word, why);
	case CONF_TYPE_ORIGINS:
		return check_origin(row, word, why);
	default:
		return !conf_word_has_comment(word) ||
		       conf_refuse(why, row, word, "begins with # or ;, which begins a comment");
	}
}

bool conf_word_host(const struct conf_row *row, const char *word, struct conf_why *why)
{
	size_t len = strlen(word);

	return is_host(word, len, LOWER UPPER DIGITS ".-_") || is_address(AF_INET6, word, len) ||
	       conf_refuse(why, row, word, "is no host name; write it without scheme, port and path: coop.example.org");
}

bool conf_word_plain(const struct conf_row *row, const char *word, struct conf_why *why)
{
	for (const char *c = word; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return conf_refuse(why, row, word,
			                   "has a character that is no plain letter, digit or sign; blanks do not "
			                   "belong here either");
	if (strlen(word) > CONF_WORD_MAX)
		return conf_refuse(why, row, word, "is longer than %d characters, where players' programs cut it",
		                   CONF_WORD_MAX);
	return (row->flags & SECRET) || !conf_word_has_comment(word) ||
	       conf_refuse(why, row, word, "begins with # or ;, which begins a comment");
}

bool conf_word_header(const struct conf_row *row, const char *word, struct conf_why *why)
{
	size_t len = strlen(word);

	return (len > 0 && len <= 64 && strspn(word, LOWER UPPER DIGITS "-_") == len) ||
	       conf_refuse(why, row, word, "is no name of a header field; write it without colon: X-Forwarded-For");
}

bool conf_word_has_comment(const char *text)
{
	bool after_blank = true;

	for (; *text; text++) {
		if (after_blank && (*text == '#' || *text == ';'))
			return true;
		after_blank = *text == ' ' || *text == '\t';
	}
	return false;
}

bool conf_word_has_control(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
			return true;
	return false;
}

bool conf_word_is_utf8(const char *text)
{
	char copy[CONF_VALUE_BYTES_MAX + 1];

	if (!text_copy(copy, sizeof(copy), text))
		return false;
	text_make_utf8(copy);
	return strcmp(copy, text) == 0;
}

/* Feeds libinih line by line and watches over what it makes of each. */
#include "conf/conf_file.h"

#include "base/text.h"
#include "conf/conf_table.h"

#include <ini.h>
#include <stdarg.h>
#include <string.h>

#define BLANKS " \t\r\n\v\f"

struct reader {
	const char                  *at;
	const char                  *end;
	unsigned                     line;   /* the one that libinih has now */
	bool                         wanted; /* it is name = value, and libinih has not told of it yet */
	bool                         known;  /* the section is */
	const struct conf_file_sink *sink;
};

__attribute__((format(printf, 2, 3))) static void problem(struct reader *r, const char *format, ...)
{
	char    what[512];
	va_list args;

	va_start(args, format);
	(void)text_formatv(what, sizeof(what), format, args);
	va_end(args);
	r->sink->problem(r->sink->arg, r->line, what);
}

/* line begins with '['. libinih takes what stands before the first ']' and ignores what follows. */
static void look_at_section(struct reader *r, const char *line)
{
	char        name[64];
	char        shown[80];
	const char *close = strchr(line, ']');
	const char *rest  = close ? close + 1 + strspn(close + 1, BLANKS) : "";

	r->known = false;
	if (!close) {
		problem(r, "a section needs a ] at its end");
		return;
	}
	if (*rest && *rest != '#' && *rest != ';')
		problem(r, "nothing may follow the ] of a section; begin a new line");
	(void)text_format(name, sizeof(name), "%.*s", (int)(close - line - 1), line + 1);
	r->known = conf_section_is_known(name);
	if (r->known)
		return;
	text_escape(shown, sizeof(shown), name, strlen(name));
	problem(r, "there is no section [%s]; the nearest is [%s]", shown, conf_section_nearest(name));
}

static void look_at_line(struct reader *r, const char *line)
{
	line += strspn(line, BLANKS);
	if (*line == '[')
		look_at_section(r, line);
	else
		r->wanted = *line && *line != '#' && *line != ';';
}

/* The line before this one is over: libinih should have told of it. */
static void end_line(struct reader *r)
{
	if (r->wanted)
		problem(r, "this is neither name = value nor [section]");
	r->wanted = false;
}

/* For libinih, as fgets: the next line, cleared when it cannot be used. out is larger than any line we let through. */
static char *next_line(char *out, int cap, void *arg)
{
	struct reader *r = arg;

	end_line(r);
	if (r->at == r->end)
		return NULL;

	const char *start = r->at;
	const char *stop  = memchr(start, '\n', (size_t)(r->end - start));
	size_t      len   = (size_t)((stop ? stop : r->end) - start);

	r->at = stop ? stop + 1 : r->end;
	r->line++;
	out[0] = '\0';
	if (len > CONF_LINE_BYTES_MAX || len >= (size_t)cap) {
		problem(r, "the line has %zu bytes; at most %d are read", len, CONF_LINE_BYTES_MAX);
	} else if (memchr(start, '\0', len)) {
		problem(r, "the line has a zero byte; is this a text file?");
	} else {
		memcpy(out, start, len);
		out[len] = '\0';
		look_at_line(r, out);
	}
	return out;
}

/* Called by libinih for name = value. 0 would say that we found a mistake; those are told by other ways. */
static int on_setting(void *arg, const char *section, const char *name, const char *value)
{
	struct reader *r = arg;

	r->wanted = false;
	if (r->known)
		r->sink->setting(r->sink->arg, r->line, section, name, value);
	else if (!*section)
		problem(r, "a setting stands below a [section]; there is none above this line");
	return 1;
}

void conf_file_parse(const char *text, size_t len, const struct conf_file_sink *sink)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	static char       comment_starts[]  = "#;";
	struct reader     r                 = { .at = text, .end = text + len, .sink = sink };

	if (len >= 3 && memcmp(text, byte_order_mark, 3) == 0)
		r.at += 3;

	/* Debian's libinih has its choices in variables. An indented line must not carry on the one before it. */
	ini_max_line                = CONF_LINE_BYTES_MAX + 3;
	ini_allow_multiline         = false;
	ini_allow_inline_comments   = true;
	ini_inline_comment_prefixes = comment_starts;
	(void)ini_parse_stream(next_line, &r, on_setting, &r);
}

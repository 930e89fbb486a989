/* The form of the file: what is a setting, what is a comment, and that no bad line goes unnoticed. */
#include "conf/conf_file.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

/* Everything the parser says, one line each: "2 log.level=debug", "3! what is wrong". */
struct said {
	char   text[4096];
	size_t len;
};

static void on_setting(void *arg, unsigned line, const char *section, const char *name, const char *value)
{
	struct said *s = arg;

	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len, "%u %s.%s=%s\n", line, section, name,
	                           value);
}

static void on_problem(void *arg, unsigned line, const char *what)
{
	struct said *s = arg;

	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len, "%u! %s\n", line, what);
}

static void expect(const char *text, size_t len, const char *expected)
{
	struct said                 said = { 0 };
	const struct conf_file_sink sink = { &said, on_setting, on_problem };

	conf_file_parse(text, len, &sink);
	cr_expect_str_eq(said.text, expected);
}

Test(conf_file, settings_comments_and_blanks)
{
	const struct {
		const char *text;
		const char *said;
	} cases[] = {
		{ "", "" },
		{ "[log]\nlevel=debug", "2 log.level=debug\n" },
		{ "[log]\nlevel = debug\n", "2 log.level=debug\n" },
		{ "[log]\r\nlevel = debug\r\n", "2 log.level=debug\n" },
		{ "\xef\xbb\xbf[log]\nlevel = debug\n", "2 log.level=debug\n" },
		{ "# a\n; b\n\n  # c\n[log] # d\n\tlevel: debug ; e\n", "6 log.level=debug\n" },
		{ "[log]\nlevel = # nothing\n", "2 log.level=\n" },
		{ "[log]\nlevel =\n", "2 log.level=\n" },
		{ "[server]\npublic_host = a#b;c = d\n", "2 server.public_host=a#b;c = d\n" },
		{ "[tunnel]\nlisten = [::1]:5 127.0.0.1:6\n", "2 tunnel.listen=[::1]:5 127.0.0.1:6\n" },
		{ "[log]\nlevel=a\n[tls]\nkey=b\n[log]\nformat=c\n", "2 log.level=a\n4 tls.key=b\n6 log.format=c\n" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		expect(cases[i].text, strlen(cases[i].text), cases[i].said);
}

Test(conf_file, an_indented_line_is_a_line_of_its_own)
{
	static const char text[] = "[tunnel]\nlisten = a\n  b\n  enable = no\n";

	expect(text, sizeof(text) - 1,
	       "2 tunnel.listen=a\n3! this is neither name = value nor [section]\n4 tunnel.enable=no\n");
}

Test(conf_file, every_bad_line_is_told)
{
	const struct {
		const char *text;
		const char *said;
	} cases[] = {
		{ "level = debug\n", "1! a setting stands below a [section]; there is none above this line\n" },
		{ "[log]\nnonsense\nalso\nlevel=x\n", "2! this is neither name = value nor [section]\n"
		                                      "3! this is neither name = value nor [section]\n"
		                                      "4 log.level=x\n" },
		{ "[log]\nnonsense", "2! this is neither name = value nor [section]\n" },
		{ "[log]\nlevel # = x", "2! this is neither name = value nor [section]\n" },
		{ "[log\nlevel=x\n", "1! a section needs a ] at its end\n"
		                     "2! a setting stands below a [section]; there is none above this line\n" },
		{ "[log] level=x\n", "1! nothing may follow the ] of a section; begin a new line\n" },
		{ "[tunel]\nlisten=a\nenable=b\n", "1! there is no section [tunel]; the nearest is [tunnel]\n" },
		{ "[log]\n[limit]\nlevel=x\n", "2! there is no section [limit]; the nearest is [limits]\n" },
		{ "[ log]\n", "1! there is no section [ log]; the nearest is [log]\n" },
		{ "[log\x01]\n", "1! there is no section [log\\x01]; the nearest is [log]\n" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		expect(cases[i].text, strlen(cases[i].text), cases[i].said);
}

Test(conf_file, a_zero_byte_spoils_its_line_only)
{
	static const char text[] = "[log]\nlevel=x\0y\nformat=z\n";

	expect(text, sizeof(text) - 1, "2! the line has a zero byte; is this a text file?\n3 log.format=z\n");
}

Test(conf_file, the_longest_line_is_read_and_one_byte_more_is_refused)
{
	static char text[CONF_LINE_BYTES_MAX + 100];
	static char said[CONF_LINE_BYTES_MAX + 100];
	const char  head[] = "[tls]\nkey=";
	size_t      value  = CONF_LINE_BYTES_MAX - 4;

	memset(text, 'k', sizeof(text));
	memcpy(text, head, sizeof(head) - 1);
	(void)snprintf(said, sizeof(said), "2 tls.key=%.*s\n", (int)value, text + sizeof(head) - 1);
	size_t len = sizeof(head) - 1 + value;
	text[len]  = '\n';
	expect(text, len + 1, said);

	text[len]     = 'k';
	text[len + 1] = '\n';
	expect(text, len + 2, "2! the line has 4001 bytes; at most 4000 are read\n");
}

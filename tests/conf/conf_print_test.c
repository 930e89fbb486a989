/* What is written out can be read again, and leaves no row out. */
#include "conf/conf.h"

#include "base/auto.h"
#include "conf/conf_table.h"
#include "conf/conf_value.h"
#include "conf/report.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

static struct conf load_text(const char *text)
{
	struct report r;
	struct conf   c;

	cr_assert_eq(conf_load_text(&c, text, strlen(text), report_open(&r)), ERR_OK, "%s", report_text(&r));
	report_free(&r);
	return c;
}

static void expect_same(const struct conf *a, const struct conf *b)
{
	for (size_t id = 0; id < CONF_ROWS; id++) {
		const struct conf_row *row     = &conf_rows[id];
		AUTO(auto_free) char  *value_a = conf_value_text(row, conf_field_const(a, row));
		AUTO(auto_free) char  *value_b = conf_value_text(row, conf_field_const(b, row));

		cr_expect_str_eq(value_a, value_b, "%s.%s", row->section, row->name);
	}
}

/* Where the type alone does not make a value good. */
static const char *special_value(const struct conf_row *row)
{
	static const struct {
		enum conf_row_id id;
		const char      *value;
	} values[] = {
		{ CONF_ROW_turn_uri, "turn:other:1" },
		{ CONF_ROW_stun_uri, "stun:other:1" },
		{ CONF_ROW_latest_url, "https://other" },
		{ CONF_ROW_p2p_listen1, "127.0.0.3" },
		{ CONF_ROW_p2p_listen2, "127.0.0.4" },
		/* At most as large as limits.lobby_ttl_ms, rooms_output, p2p_waiting and p2p_silence_ms. */
		{ CONF_ROW_limits_lobby_evict_ms, "90000" },
		{ CONF_ROW_limits_rooms_message_burst, "131072" },
		{ CONF_ROW_limits_p2p_push_burst, "65536" },
		{ CONF_ROW_limits_p2p_drop_waiting, "1024" },
		{ CONF_ROW_limits_p2p_ping_ms, "100" },
	};

	for (size_t i = 0; i < COUNT_OF(values); i++) {
		if (row == &conf_rows[values[i].id])
			return values[i].value;
	}
	return NULL;
}

/* A value other than the default, for each type. */
static const char *other_value(const struct conf_row *row, char out[32])
{
	static const char *const values[CONF_TYPES] = {
		[CONF_TYPE_TEXT] = "other",      [CONF_TYPE_HOST] = "other.example",
		[CONF_TYPE_WORD] = "other:1",    [CONF_TYPE_HEADER] = "X-Other",
		[CONF_TYPE_PATH] = "other/path", [CONF_TYPE_LEVEL] = "debug",
		[CONF_TYPE_FORMAT] = "json",     [CONF_TYPE_SCALE] = "full",
		[CONF_TYPE_DURATION] = "90m",    [CONF_TYPE_LISTEN] = "192.0.2.1:1 [::1]:2",
		[CONF_TYPE_NETWORKS] = "none",   [CONF_TYPE_ORIGINS] = "https://a.example",
		[CONF_TYPE_LIST] = "one other",  [CONF_TYPE_COUNT] = "7",
		[CONF_TYPE_NUMBER] = "8",
	};

	if (special_value(row))
		return special_value(row);
	if (row->type == CONF_TYPE_FLAG)
		return strcmp(row->development, "yes") == 0 ? "no" : "yes";
	if (row->type != CONF_TYPE_LIMIT)
		return values[row->type];
	(void)snprintf(out, 32, "%ld", (long)(strtol(row->development, NULL, 10) == row->max ? row->min : row->max));
	return out;
}

Test(conf_print, every_setting_changed_alone_is_shown_with_its_place_and_read_again)
{
	for (size_t id = 0; id < CONF_ROWS; id++) {
		const struct conf_row *row = &conf_rows[id];
		struct report          r;
		struct conf            c, again;
		char                   text[200], expected[200], number[32];
		const char            *value = other_value(row, number);

		/* These need company. */
		if (id == CONF_ROW_tls_cert || id == CONF_ROW_tls_key || id == CONF_ROW_tls_require ||
		    id == CONF_ROW_tunnel_tls_listen || id == CONF_ROW_server_production ||
		    id == CONF_ROW_p2p_public1 || id == CONF_ROW_p2p_public2 || id == CONF_ROW_backup_every)
			continue;
		if (id == CONF_ROW_limits_tunnel_wait_alone_ms)
			value = "1000";
		(void)snprintf(text, sizeof(text), "[%s]\n%s = %s\n", row->section, row->name, value);
		(void)snprintf(expected, sizeof(expected), "\n%s = %s  # text:2\n", row->name,
		               row->flags & SECRET ? "***" : value);
		c = load_text(text);
		conf_print(&c, report_open(&r));
		cr_expect_not_null(strstr(report_text(&r), expected), "%s is not in:\n%s", expected, r.text);
		again = load_text(report_text(&r));
		if (!(row->flags & SECRET))
			expect_same(&c, &again);
		report_free(&r);
		conf_fini(&again);
		conf_fini(&c);
	}
}

Test(conf_print, each_value_says_where_it_came_from)
{
	const char *const      env[]  = { "COOP_LOG_LEVEL=warn",     "COOP_SERVER_PRODUCTION=on",
		                          "COOP_TURN_SECRET=s3cret", "COOP_SIGNALING_TOKEN=t0ken",
		                          "COOP_MASTER_PORT=80",     NULL };
	const char            *sets[] = { "log.format=json" };
	const struct conf_args args   = { .env = environment(env), .sets = sets, .set_count = COUNT_OF(sets) };
	struct report          r;
	struct conf            c;

	cr_assert_eq(conf_load(&c, &args, stderr), ERR_OK);
	conf_print(&c, report_open(&r));
	const char expected[] = "[server]\n"
				"data = /var/lib/coopd  # production default\n"
				"run = /run/coopd  # production default\n"
				"production = yes  # environment COOP_SERVER_PRODUCTION\n"
				"public_host =   # default\n"
				"\n"
				"[log]\n"
				"level = warn  # environment COOP_LOG_LEVEL\n"
				"format = json  # --set\n"
				"addresses = cut  # default\n";
	cr_expect_eq(strncmp(report_text(&r), expected, strlen(expected)), 0, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "\nsocket = /run/coopd/admin.sock  # from server.run\n"));
	cr_expect_not_null(strstr(r.text, "\nlisten = 0.0.0.0:80 [::]:80  # environment COOP_MASTER_PORT\n"));
	cr_expect_not_null(strstr(r.text, "\nsecret = ***  # environment COOP_TURN_SECRET\n"));
	cr_expect_not_null(strstr(r.text, "\ntoken = ***  # environment COOP_SIGNALING_TOKEN\n"));
	cr_expect_null(strstr(r.text, "s3cret"));
	cr_expect_null(strstr(r.text, "t0ken"));
	report_free(&r);
	conf_fini(&c);

	c = load_text("");
	conf_print(&c, report_open(&r));
	cr_expect_not_null(
		strstr(report_text(&r), "[server]\ndata = data  # default\nrun = data/run  # from server.data\n"));
	report_free(&r);
	conf_fini(&c);
}

/* The sample with the # before each setting removed; comments for people have a blank behind it. */
static char *uncomment(const char *sample)
{
	char *text  = strdup(sample);
	char *to    = text;
	bool  start = true;

	cr_assert_not_null(text);
	for (const char *from = sample; *from; from++) {
		if (!(start && *from == '#' && from[1] != ' ' && from[1] != '\n'))
			*to++ = *from;
		start = *from == '\n';
	}
	*to = '\0';
	return text;
}

Test(conf_print, the_sample_as_it_is_and_uncommented_are_the_defaults)
{
	struct report r;
	struct conf   defaults = load_text("");

	conf_print_sample(report_open(&r));
	AUTO(auto_free) char *all  = uncomment(report_text(&r));
	struct conf           same = load_text(r.text);
	struct conf           full = load_text(all);
	expect_same(&defaults, &same);
	expect_same(&defaults, &full);
	for (size_t id = 0; id < CONF_ROWS; id++) {
		char line[200];

		(void)snprintf(line, sizeof(line), "\n%s =%s%s\n", conf_rows[id].name,
		               *conf_rows[id].development ? " " : "", conf_rows[id].development);
		cr_expect_not_null(strstr(all, line), "%s", line);
	}
	report_free(&r);
	conf_fini(&full);
	conf_fini(&same);
	conf_fini(&defaults);
}

Test(conf_print, the_sample_says_what_is_allowed)
{
	struct report r;

	conf_print_sample(report_open(&r));
	cr_expect_not_null(strstr(report_text(&r),
	                          "\n# folder of everything that is kept (a path; in production /var/lib/coopd)\n"
	                          "#data = data\n"));
	cr_expect_not_null(strstr(r.text, "\n# per game (1 to 32 friends)\n#tunnel_friends = 8\n"));
	report_free(&r);
}

/* All rows have as many cells as the head, and each name is in one. */
static void expect_table(const char *table, const char *head, bool limits)
{
	size_t bars = 0, rows = 0;

	cr_expect_eq(strncmp(table, head, strlen(head)), 0);
	for (const char *at = head; *at; at++)
		bars += *at == '|';
	for (const char *at = table; *at; rows++) {
		size_t found = 0;

		for (; *at != '\n'; at++)
			found += *at == '|' && (at == table || at[-1] != '\\');
		at++;
		cr_expect_eq(found, bars, "row %zu", rows);
	}
	for (size_t id = 0; id < CONF_ROWS; id++) {
		const struct conf_row *row = &conf_rows[id];
		char                   name[CONF_NAME_BYTES];

		(void)snprintf(name, sizeof(name), "\n| `%s.%s` | ", row->section, row->name);
		cr_expect_eq(strstr(table, name) != NULL, (row->type == CONF_TYPE_LIMIT) == limits, "%s", name);
	}
}

Test(conf_print, the_references_have_a_row_for_each)
{
	struct report r;

	conf_print_settings_reference(report_open(&r));
	expect_table(report_text(&r), "| setting | value | default | in production | SIGHUP | what |\n", false);
	cr_expect_not_null(strstr(r.text, "| `log.level` | error, warn, info or debug | `info` |  | yes | least "));
	report_free(&r);
	conf_print_limits_reference(report_open(&r));
	expect_table(report_text(&r), "| limit | default | allowed | SIGHUP | what |\n", true);
	cr_expect_not_null(strstr(r.text, "| `limits.tunnel_friends` | 8 | 1 to 32 friends |  | per game |\n"));
	report_free(&r);
}

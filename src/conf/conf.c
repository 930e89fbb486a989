/*
 * Loading: credentials, file, environment and command line are put over each other, each value checked where it stands; then
 * defaults fill the gaps, and what belongs together is checked.
 */
#include "conf/conf.h"

#include "base/auto.h"
#include "base/text.h"
#include "conf/conf_check.h"
#include "conf/conf_credential.h"
#include "conf/conf_env.h"
#include "conf/conf_file.h"
#include "conf/conf_lock.h"
#include "conf/conf_table.h"
#include "conf/conf_value.h"
#include "os/file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FILE_DEVELOPMENT "coopd.conf"
#define FILE_PRODUCTION  "/etc/coopd/coopd.conf"
#define FILE_BYTES_MAX   ((size_t)1 << 20)

#define ENV_PREFIX "COOP_"

struct load {
	struct conf conf;
	FILE       *report;
	size_t      problems;
	char        file[256];          /* its name, for messages */
	unsigned    line_of[CONF_ROWS]; /* where the file set it; 0: nowhere */
	bool        in_env[CONF_ROWS];
	bool        bad[CONF_ROWS]; /* a value of it was refused */
};

__attribute__((format(printf, 3, 4))) static void problem(struct load *l, const char *place, const char *format, ...)
{
	va_list args;

	fprintf(l->report, "%s: ", place);
	va_start(args, format);
	vfprintf(l->report, format, args);
	va_end(args);
	fputc('\n', l->report);
	l->problems++;
}

/* Blanks around a value are nobody's intention. */
static bool parse_trimmed(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	size_t len = strlen(text);

	text_trim(&text, &len);
	AUTO(auto_free) char *value = strndup(text, len);
	if (value)
		return conf_value_parse(field, row, value, why);
	(void)text_copy(why->text, sizeof(why->text), "cannot be kept: out of memory");
	return false;
}

/* One value from one place. What another place set before is replaced. */
static void put(struct load *l, const struct conf_row *row, const char *text, const char *place)
{
	size_t                id     = (size_t)(row - conf_rows);
	struct conf_why       why    = { "cannot be kept: out of memory" };
	AUTO(auto_free) char *origin = strdup(place);

	if (!origin || !parse_trimmed(conf_field(&l->conf, row), row, text, &why)) {
		problem(l, place, "%s.%s: %s", row->section, row->name, why.text);
		l->bad[id] = true;
		return;
	}
	free(l->conf.origins[id].text);
	l->conf.origins[id].text = TAKE(origin);
}

/* the file */

static void file_place(const struct load *l, unsigned line, char place[300])
{
	(void)text_format(place, 300, "%s:%u", l->file, line);
}

static void unknown_key(struct load *l, const char *place, const char *section, const char *name)
{
	char shown[80];
	char nearest[CONF_NAME_BYTES];

	text_escape(shown, sizeof(shown), name, strlen(name));
	conf_key_nearest(nearest, section, name);
	problem(l, place, "there is no setting %s.%s; the nearest is %s", section, shown, nearest);
}

static void on_file_setting(void *arg, unsigned line, const char *section, const char *name, const char *value)
{
	struct load           *l   = arg;
	const struct conf_row *row = conf_row_find(section, name);
	char                   place[300];

	file_place(l, line, place);
	if (!row) {
		unknown_key(l, place, section, name);
		return;
	}

	unsigned *line_of = &l->line_of[row - conf_rows];
	if (*line_of)
		problem(l, place, "%s.%s is set on line %u already; keep one of the two", row->section, row->name,
		        *line_of);
	*line_of = line;
	put(l, row, value, place);
}

static void on_file_problem(void *arg, unsigned line, const char *what)
{
	char place[300];

	file_place(arg, line, place);
	problem(arg, place, "%s", what);
}

static void put_text(struct load *l, const char *name, const char *text, size_t len)
{
	const struct conf_file_sink sink = { l, on_file_setting, on_file_problem };

	text_escape(l->file, sizeof(l->file), name, strlen(name));
	conf_file_parse(text, len, &sink);
}

static void put_file(struct load *l, const char *path, bool must_exist)
{
	AUTO(auto_free) char *text = NULL;
	size_t                len  = 0;

	enum err e = file_read(&text, &len, path, FILE_BYTES_MAX);
	if (e == ERR_OK)
		put_text(l, path, text, len);
	else if (e == ERR_TOO_BIG)
		problem(l, path, "the file has more than %zu bytes", FILE_BYTES_MAX);
	else if (e == ERR_IO)
		problem(l, path, "the file cannot be read: %s", strerror(errno));
	else if (e == ERR_NOT_FOUND && must_exist)
		problem(l, path, "there is no such file");
	else if (e != ERR_NOT_FOUND)
		problem(l, path, "the file cannot be read: %s", err_people(e));
}

/* files of a service manager */

static void put_credentials(struct load *l, const struct conf_args *args)
{
	const char *folder = conf_credential_folder(args->env);

	for (size_t id = 0; folder && id < CONF_ROWS; id++) {
		const struct conf_row *row  = &conf_rows[id];
		AUTO(auto_free) char  *text = NULL;
		struct conf_why        why;
		char                   place[CONF_NAME_BYTES + 16];
		enum err               e = conf_credential_read(&text, folder, row, &why);

		(void)text_format(place, sizeof(place), "credential %s.%s", row->section, row->name);
		if (e == ERR_OK)
			put(l, row, text, place);
		else if (e != ERR_NOT_FOUND)
			problem(l, place, "%s", why.text);
	}
}

/* the environment */

static void unknown_variable(struct load *l, const char *variable, size_t len)
{
	char name[CONF_NAME_BYTES];
	char nearest[CONF_NAME_BYTES];

#ifdef COOP_TEST_CLOCK
	if (len == strlen("COOP_TEST_CLOCK") && memcmp(variable, "COOP_TEST_CLOCK", len) == 0)
		return;
#endif
	text_escape(name, sizeof(name), variable, len);
	conf_env_nearest(nearest, name);
	fprintf(l->report, "environment %s: is no setting of coopd and changes nothing; the nearest is %s\n", name,
	        nearest);
}

static void env_place(char place[CONF_NAME_BYTES + 16], const char *variable, size_t len)
{
	(void)text_format(place, CONF_NAME_BYTES + 16, "environment %.*s", (int)len, variable);
}

static void put_env(struct load *l, const char *variable)
{
	size_t                 len   = strcspn(variable, "=");
	const char            *value = variable[len] ? variable + len + 1 : "";
	const struct conf_row *row   = conf_row_find_env(variable, len);
	char                   place[CONF_NAME_BYTES + 16];

	if (!row) {
		if (!conf_promise_find(variable, len))
			unknown_variable(l, variable, len);
		return;
	}
	/* So do tools pass on a number that nobody gave them. */
	if (row->type == CONF_TYPE_NUMBER && !*value)
		return;
	env_place(place, variable, len);

	bool *in_env = &l->in_env[row - conf_rows];
	if (*in_env)
		problem(l, place, "%s.%s is set by another variable already; keep one of the two", row->section,
		        row->name);
	*in_env = true;
	put(l, row, value, place);
}

/* The promise that this variable is, unless it says nothing; *value is what it says. */
static const struct conf_promise *promise_of(const char **value, char place[CONF_NAME_BYTES + 16], const char *variable)
{
	size_t                     len = strcspn(variable, "=");
	const struct conf_promise *p   = conf_promise_find(variable, len);

	if (!p || p->is_idle)
		return NULL;
	env_place(place, variable, len);
	*value = variable[len] ? variable + len + 1 : "";
	if (!**value)
		*value = p->empty;
	return *value ? p : NULL;
}

static void note_outdone(struct load *l, const char *place, enum conf_row_id id)
{
	fprintf(l->report, "%s: changes nothing, because %s.%s is set already (%s)\n", place, conf_rows[id].section,
	        conf_rows[id].name, l->conf.origins[id].text ? l->conf.origins[id].text : "wrongly");
}

/* After put_env of all, which wins. */
static void put_promise(struct load *l, const char *variable)
{
	char                       place[CONF_NAME_BYTES + 16];
	const char                *value;
	const struct conf_promise *p = promise_of(&value, place, variable);

	if (!p || p->is_port)
		return;
	if (l->in_env[p->row])
		note_outdone(l, place, p->row);
	else
		put(l, &conf_rows[p->row], value, place);
}

/* After everything else but the defaults: the port of a default alone can be given. */
static void put_port(struct load *l, const char *variable)
{
	char                       place[CONF_NAME_BYTES + 16];
	const char                *value;
	int64_t                    port;
	const struct conf_promise *p = promise_of(&value, place, variable);

	if (!p || !p->is_port)
		return;
	if (l->conf.origins[p->row].text || l->bad[p->row]) {
		note_outdone(l, place, p->row);
		return;
	}

	const struct conf_row *row   = &conf_rows[p->row];
	AUTO(auto_free) char  *words = conf_promise_listen(conf_row_default(row, l->conf.server_production), value);
	char                   shown[40];

	text_escape(shown, sizeof(shown), value, strlen(value));
	if (text_to_int(&port, value, 0, 65535) != ERR_OK)
		problem(l, place, "\"%s\" is no port from 0 to 65535", shown);
	else if (!words)
		problem(l, place, "cannot be kept: out of memory");
	else
		put(l, row, words, place);
}

static void each_env(struct load *l, const struct conf_args *args,
                     void (*put_one)(struct load *l, const char *variable))
{
	for (char **env = args->env; env && *env; env++)
		if (strncmp(*env, ENV_PREFIX, strlen(ENV_PREFIX)) == 0)
			put_one(l, *env);
}

/* the command line */

static void put_set(struct load *l, const char *set)
{
	static const char place[] = "--set";
	char              section[CONF_NAME_BYTES], name[CONF_NAME_BYTES], shown[80];
	size_t            dot   = strcspn(set, ".=");
	size_t            equal = strcspn(set, "=");

	text_escape(shown, sizeof(shown), set, equal);
	if (set[dot] != '.' || set[equal] != '=') {
		problem(l, place, "\"%s\" is not written as section.name=value", shown);
		return;
	}
	(void)text_format(section, sizeof(section), "%.*s", (int)dot, set);
	(void)text_format(name, sizeof(name), "%.*s", (int)(equal - dot - 1), set + dot + 1);

	const struct conf_row *row = conf_row_find(section, name);
	if (row) {
		put(l, row, set + equal + 1, place);
		return;
	}

	char nearest[CONF_NAME_BYTES];
	conf_key_nearest(nearest, section, name);
	problem(l, place, "there is no setting %s; the nearest is %s", shown, nearest);
}

/* The value when text is NAME=value, otherwise NULL. */
static const char *value_of(const char *text, const char *name)
{
	size_t len = strlen(name);

	return strncmp(text, name, len) == 0 && text[len] == '=' ? text + len + 1 : NULL;
}

/* What environment and command line say of server.production: the place of the file hangs on it. */
static bool is_production(const struct conf_args *args)
{
	const struct conf_row *row        = &conf_rows[CONF_ROW_server_production];
	bool                   production = false;
	struct conf_why        told_later;

	for (char **env = args->env; env && *env; env++) {
		const char *value = value_of(*env, "COOP_SERVER_PRODUCTION");
		if (value)
			(void)parse_trimmed(&production, row, value, &told_later);
	}
	for (size_t i = 0; i < args->set_count; i++) {
		const char *value = value_of(args->sets[i], "server.production");
		if (value)
			(void)parse_trimmed(&production, row, value, &told_later);
	}
	return production;
}

/* the rest */

static void put_defaults(struct load *l)
{
	bool production = l->conf.server_production;

	for (size_t id = 0; id < CONF_ROWS; id++) {
		const struct conf_row *row = &conf_rows[id];

		if (!l->conf.origins[id].text)
			put(l, row, conf_row_default(row, production),
			    production && row->production ? CONF_ORIGIN_PRODUCTION : CONF_ORIGIN_DEFAULT);
	}
}

/* An empty path becomes name inside of folder, unless there was trouble with either. */
static void put_path(struct load *l, enum conf_row_id id, enum conf_row_id folder_id, const char *name)
{
	const struct conf_row *row    = &conf_rows[id];
	const struct conf_row *folder = &conf_rows[folder_id];
	char                   path[2 * CONF_VALUE_BYTES_MAX];
	char                   place[CONF_NAME_BYTES + 8];

	if (l->bad[folder_id])
		l->bad[id] = true;
	if (l->bad[id] || **(char *const *)conf_field(&l->conf, row))
		return;
	(void)text_format(path, sizeof(path), "%s/%s", *(char *const *)conf_field(&l->conf, folder), name);
	(void)text_format(place, sizeof(place), "from %s.%s", folder->section, folder->name);
	put(l, row, path, place);
}

static bool load_begin(struct load *l, FILE *report)
{
	*l              = (struct load){ .report = report };
	l->conf.origins = calloc(CONF_ROWS, sizeof(*l->conf.origins));
	if (!l->conf.origins)
		problem(l, "settings", "out of memory");
	return l->conf.origins != NULL;
}

/* Only for lack of memory can a row be without a value once the defaults are in. */
static bool is_whole(const struct load *l)
{
	for (size_t id = 0; id < CONF_ROWS; id++)
		if (!l->conf.origins[id].text)
			return false;
	return true;
}

static enum err load_fail(struct load *l, struct conf *out, enum err e)
{
	conf_fini(&l->conf);
	*out = (struct conf){ 0 };
	return e;
}

static enum err load_end(struct load *l, struct conf *out)
{
	put_defaults(l);
	if (!is_whole(l))
		return load_fail(l, out, ERR_NOMEM);
	if (!*l->conf.server_data) {
		problem(l, l->conf.origins[CONF_ROW_server_data].text, "server.data: must name a folder");
		l->bad[CONF_ROW_server_data] = true;
	}
	put_path(l, CONF_ROW_server_run, CONF_ROW_server_data, "run");
	put_path(l, CONF_ROW_admin_socket, CONF_ROW_server_run, "admin.sock");
	put_path(l, CONF_ROW_admin_events_socket, CONF_ROW_server_run, "events.sock");
	l->problems += conf_check(&l->conf, l->bad, l->report);
	if (l->problems > 0)
		return load_fail(l, out, ERR_MALFORMED);
	*out = l->conf;
	return ERR_OK;
}

enum err conf_load(struct conf *out, const struct conf_args *args, FILE *report)
{
	struct load l;
	const char *usual = is_production(args) ? FILE_PRODUCTION : FILE_DEVELOPMENT;

	if (!load_begin(&l, report))
		return load_fail(&l, out, ERR_NOMEM);
	put_credentials(&l, args);
	put_file(&l, args->file ? args->file : usual, args->file != NULL);
	each_env(&l, args, put_env);
	each_env(&l, args, put_promise);
	for (size_t i = 0; i < args->set_count; i++)
		put_set(&l, args->sets[i]);
	each_env(&l, args, put_port);
	return load_end(&l, out);
}

enum err conf_load_text(struct conf *out, const char *text, size_t len, FILE *report)
{
	struct load l;

	if (!load_begin(&l, report))
		return load_fail(&l, out, ERR_NOMEM);
	put_text(&l, "text", text, len);
	return load_end(&l, out);
}

void conf_fini(struct conf *c)
{
	for (size_t id = 0; id < CONF_ROWS; id++) {
		conf_value_fini(conf_field(c, &conf_rows[id]), &conf_rows[id]);
		if (c->origins)
			free(c->origins[id].text);
	}
	free(c->origins);
	*c = (struct conf){ 0 };
}

/* Other threads read limits while they change, each by itself. */
static bool take_over(struct conf *running, const struct conf_row *row, const char *text, struct conf_why *why)
{
	void   *at = conf_field(running, row);
	int64_t value;

	if (row->type != CONF_TYPE_LIMIT)
		return conf_value_parse(at, row, text, why);
	if (!conf_value_parse(&value, row, text, why))
		return false;
	__atomic_store_n((int64_t *)at, value, __ATOMIC_RELAXED);
	return true;
}

/* What is empty stands for a part that is not there, which does not come or go in a reload. */
static bool is_taken(const struct conf_row *row, const char *before, const char *after)
{
	return conf_can_reload(row) && (!(row->flags & CHANGE) || (before && *before && after && *after));
}

static void reload_row(struct conf *running, const struct conf *fresh, size_t id, FILE *report, FILE *changed,
                       bool do_take)
{
	const struct conf_row *row    = &conf_rows[id];
	struct conf_why        why    = { "cannot be kept: out of memory" };
	AUTO(auto_free) char  *before = conf_value_text(row, conf_field_const(running, row));
	AUTO(auto_free) char  *after  = conf_value_text(row, conf_field_const(fresh, row));
	AUTO(auto_free) char  *origin = strdup(fresh->origins[id].text);

	if (before && after && strcmp(before, after) == 0)
		return;
	if (!is_taken(row, before, after)) {
		fprintf(report, "%s: %s.%s has changed and needs a restart\n", fresh->origins[id].text, row->section,
		        row->name);
	} else if (!do_take) {
		if (changed)
			fprintf(changed, "%s.%s\n", row->section, row->name);
	} else if (!after || !origin || !take_over(running, row, after, &why)) {
		fprintf(report, "%s: %s.%s stays as it is: %s\n", fresh->origins[id].text, row->section, row->name,
		        why.text);
	} else {
		free(running->origins[id].text);
		running->origins[id].text = TAKE(origin);
		if (changed)
			fprintf(changed, "%s.%s\n", row->section, row->name);
	}
}

void conf_reload(struct conf *running, const struct conf *fresh, FILE *report, FILE *changed)
{
	conf_hold_alone();
	for (size_t id = 0; id < CONF_ROWS; id++)
		reload_row(running, fresh, id, report, changed, true);
	conf_let_go();
}

void conf_compare(const struct conf *running, const struct conf *fresh, FILE *report, FILE *changed)
{
	struct conf same = *running; /* nothing of it is written to */

	for (size_t id = 0; id < CONF_ROWS; id++)
		reload_row(&same, fresh, id, report, changed, false);
}

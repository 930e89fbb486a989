#include "coopctl/doctor_ask.h"

#include "base/auto.h"
#include "base/text.h"
#include "coopctl/doctor_probe.h"
#include "coopctl/print.h"
#include "coopctl/value.h"
#include "net/addr.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#define GAMES_LOOKED_AT "5"

/* One short request; NULL when it failed. For json_decref. */
static json_t *get(struct ctl *c, const char *path, char *why, size_t cap)
{
	const struct client_request rq = { .path = path, .hasty = true };
	struct client_answer        a;
	json_t                     *j = NULL;

	client_try(&a, c, &rq);
	if (a.exit == CTL_OK)
		j = json_incref(a.json);
	else if (why)
		text_copy(why, cap, a.message);
	client_answer_free(&a);
	return j;
}

static void take_text(char *out, size_t cap, const json_t *j, const char *path)
{
	const char *text = json_string_value(print_member(j, path));

	text_copy(out, cap, text ? text : "");
}

static int64_t take_int(const json_t *j, const char *path, int64_t otherwise)
{
	const json_t *value = print_member(j, path);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* --- Status --- */

static int64_t wall_ms(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The answer has whole seconds, of a moment between asking and having it. */
static void compare_clocks(struct doctor_facts *f, const json_t *status, int64_t before_ms)
{
	struct timex kernel = { .modes = 0 };
	char         now[VALUE_TIME_BYTES];
	int64_t      theirs_ms;

	f->is_clock_synced = adjtimex(&kernel) != TIME_ERROR;
	take_text(now, sizeof(now), status, "now_at");
	if (!value_time_ms(&theirs_ms, now))
		return;
	if (theirs_ms + 999 < before_ms)
		f->clock_off_ms = theirs_ms + 999 - before_ms;
	else if (theirs_ms > wall_ms())
		f->clock_off_ms = theirs_ms - wall_ms();
}

static void take_listeners(struct doctor_facts *f, const json_t *listeners)
{
	const json_t *j;
	size_t        i;

	json_array_foreach(listeners, i, j)
	{
		struct doctor_listener *l = &f->listeners[f->listener_count];

		if (f->listener_count == DOCTOR_LISTENERS_MAX)
			return;
		take_text(l->part, sizeof(l->part), j, "part");
		take_text(l->address, sizeof(l->address), j, "address");
		l->is_udp = strcmp(l->part, "p2p") == 0 || strcmp(l->part, "p2p-alt") == 0 ||
		            strcmp(l->part, "rooms-udp") == 0;
		f->listener_count++;
	}
}

static bool ask_status(struct doctor_facts *f, struct ctl *c)
{
	int64_t before = wall_ms();
	json_t *status = get(c, "/status", f->why, sizeof(f->why));

	if (!status)
		return false;
	f->is_reached = true;
	compare_clocks(f, status, before);
	take_text(f->version, sizeof(f->version), status, "version");
	take_text(f->state, sizeof(f->state), status, "state");
	take_text(f->store, sizeof(f->store), status, "store");
	f->is_production = json_is_true(json_object_get(status, "production"));
	f->free_bytes    = take_int(status, "disk.free_bytes", 0);
	f->wal_bytes     = take_int(status, "disk.wal_bytes", 0);
	take_listeners(f, json_object_get(status, "listeners"));
	json_decref(status);
	return true;
}

/* --- Figures, checkpoints, backups --- */

static int64_t metric_of(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = text; at && (at = strstr(at, name)); at += len)
		if ((at == text || at[-1] == '\n') && at[len] == ' ')
			return (int64_t)strtod(at + len, NULL);
	return 0;
}

/* Of all lines of this name with this among their labels. */
static int64_t metric_sum(const char *text, const char *name, const char *label)
{
	size_t  len = strlen(name);
	int64_t sum = 0;

	for (const char *at = text; at && (at = strstr(at, name)); at += len) {
		const char *end   = strpbrk(at, "}\n");
		const char *found = strstr(at, label);

		if ((at == text || at[-1] == '\n') && at[len] == '{' && end && *end == '}' && found && found < end)
			sum += (int64_t)strtod(end + 1, NULL);
	}
	return sum;
}

static void ask_figures(struct doctor_facts *f, struct ctl *c)
{
	struct client_answer a;
	json_t              *blobs = get(c, "/blobs", NULL, 0);

	client_try_raw(&a, c, "/metrics");
	if (a.exit == CTL_OK && a.text) {
		f->is_failing = metric_of(a.text, "coopd_store_failing") > 0;
		f->damaged    = metric_of(a.text, "coopd_blobs_damaged_total");
		f->proxy_seen = metric_sum(a.text, "coopd_proxy_requests_total", "field=\"seen\"");
		f->proxy_bad  = metric_sum(a.text, "coopd_proxy_requests_total", "field=\"bad\"");
	}
	client_answer_free(&a);
	f->missing = take_int(blobs, "missing", -1);
	if (take_int(blobs, "damaged", 0) > f->damaged)
		f->damaged = take_int(blobs, "damaged", 0);
	json_decref(blobs);
}

static void ask_backup(struct doctor_facts *f, struct ctl *c)
{
	json_t *backup = get(c, "/backup", NULL, 0);
	char    ended[VALUE_TIME_BYTES];
	int64_t ms;

	take_text(ended, sizeof(ended), backup, "ended_at");
	take_text(f->backup_result, sizeof(f->backup_result), backup, "result");
	f->backup_runs = json_is_true(json_object_get(backup, "running"));
	f->backup      = !backup ? LOOK_FAILED : value_time_ms(&ms, ended) ? LOOK_OK : LOOK_NONE;
	if (f->backup == LOOK_OK)
		f->backup_at_s = ms / 1000;
	take_text(ended, sizeof(ended), backup, "last_good_at");
	if (value_time_ms(&ms, ended))
		f->backup_good_s = ms / 1000;
	f->backup_every_s = json_integer_value(json_object_get(backup, "every_s"));
	json_decref(backup);
}

/* --- Settings --- */

/* "" when it is not set, or not known. */
static const char *setting(const json_t *settings, const char *key)
{
	const json_t *item;
	size_t        i;

	json_array_foreach(json_object_get(settings, "items"), i, item)
	{
		const char *is    = json_string_value(json_object_get(item, "key"));
		const char *value = json_string_value(json_object_get(item, "value"));

		if (is && strcmp(is, key) == 0)
			return value ? value : "";
	}
	return "";
}

static void take_settings(struct doctor_facts *f, const json_t *settings)
{
	const char *cert = setting(settings, "tls.cert");

	text_copy(f->public_host, sizeof(f->public_host), setting(settings, "server.public_host"));
	f->free_floor = strtoll(setting(settings, "limits.store_free_floor"), NULL, 10);
	f->wal_max    = strtoll(setting(settings, "limits.store_wal_max"), NULL, 10);
	if (f->wal_max == 0)
		f->wal_max = INT64_MAX;
	if (strcmp(setting(settings, "stun.enable"), "no") == 0)
		f->stun_off = "stun.enable is no";
	else if (strcmp(setting(settings, "p2p.enable"), "no") == 0)
		f->stun_off = "p2p.enable is no";
	if (f->is_here && *cert)
		probe_file(&f->file_cert, cert);
	if (f->is_here && *setting(settings, "update.dir"))
		doctor_look_at_update(f, setting(settings, "update.dir"), setting(settings, "update.key"));
}

/* --- Players' addresses --- */

static void note_address(struct doctor_facts *f, const struct addr_nets *proxies, const json_t *value)
{
	const char *text = json_string_value(value);
	struct addr a;

	if (!text || addr_parse(&a, text, strlen(text), true) != ERR_OK)
		return;
	f->players_seen++;
	f->players_behind += addr_is_loopback(&a) || addr_nets_contain(proxies, &a);
}

static void look_at_game(struct doctor_facts *f, struct ctl *c, const struct addr_nets *proxies, int64_t code)
{
	char    path[40];
	json_t *game;
	const json_t *friend;
	size_t i;

	text_format(path, sizeof(path), "/games/%lld", (long long)code);
	game = get(c, path, NULL, 0);
	note_address(f, proxies, json_object_get(game, "address"));
	json_array_foreach(json_object_get(game, "friends"), i, friend)
	{
		note_address(f, proxies, json_object_get(friend, "address"));
	}
	json_decref(game);
}

static void look_at_players(struct doctor_facts *f, struct ctl *c, const struct addr_nets *proxies)
{
	json_t       *games    = get(c, "/games?limit=" GAMES_LOOKED_AT, NULL, 0);
	json_t       *sessions = get(c, "/p2p/sessions?limit=50", NULL, 0);
	const json_t *one;
	size_t        i;

	json_array_foreach(json_object_get(games, "items"), i, one)
	{
		look_at_game(f, c, proxies, json_integer_value(json_object_get(one, "code")));
	}
	json_array_foreach(json_object_get(sessions, "items"), i, one)
	{
		note_address(f, proxies, json_object_get(one, "address"));
	}
	json_decref(games);
	json_decref(sessions);
}

static void ask_players(struct doctor_facts *f, struct ctl *c, const json_t *settings)
{
	AUTO(auto_free) char *words   = strdup(setting(settings, "http.trusted_proxies"));
	struct addr_nets      proxies = { .count = 0 };
	char                 *list[64], *rest = words;
	size_t                count = 0;

	for (char *word; count < COUNT_OF(list) && (word = strsep(&rest, " "));)
		if (*word && strcmp(word, "none") != 0)
			list[count++] = word;
	if (addr_nets_parse(&proxies, list, count) == ERR_OK) {
		look_at_players(f, c, &proxies);
		addr_nets_fini(&proxies);
	}
}

void doctor_ask(struct doctor_facts *f, struct ctl *c)
{
	json_t *settings;

	f->missing = -1;
	f->backup  = LOOK_FAILED;
	f->wal_max = INT64_MAX;
	if (!ask_status(f, c))
		return;
	ask_figures(f, c);
	ask_backup(f, c);
	settings = get(c, "/settings?limit=1000", NULL, 0);
	take_settings(f, settings);
	ask_players(f, c, settings);
	json_decref(settings);
}

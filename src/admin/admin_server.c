/*
 * The server as a whole: status and settings. See src/admin/PROTOCOL.md.
 *
 * Status looks only at what lies in memory, so that it is answered also while the disk is not.
 */
#include "admin/admin_serve.h"

#include "admin/admin_control.h"
#include "base/auto.h"
#include "base/metric.h"
#include "base/version.h"
#include "net/listen.h"
#include "os/clock.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Status --- */

struct figure {
	const char *name;
	enum metric metric;
};

/* NULL when out of memory. */
static struct json *figures(const struct figure *rows, size_t count)
{
	struct json *j = json_object_new();

	for (size_t i = 0; j && i < count; i++)
		json_put_int(j, rows[i].name, metric_get(rows[i].metric));
	return j;
}

static const struct figure counts[] = {
	{ "games", M_TUNNEL_GAMES },
	{ "hosts", M_TUNNEL_HOSTS },
	{ "friends", M_TUNNEL_FRIENDS },
	{ "players", M_TUNNEL_PLAYERS },
	{ "lobbies", M_LOBBIES },
	{ "campaigns", M_CLOUD_CAMPAIGNS },
	{ "signal", M_SIGNAL_PEERS },
	{ "rooms", M_ROOMS_OPEN },
	{ "boards", M_ROOMS_BOARDS },
	{ "room_players", M_ROOMS_PLAYERS },
	{ "p2p_rooms", M_P2P_ROOMS },
	{ "p2p_sessions", M_P2P_SESSIONS },
	{ "bans", M_BANS },
};

static const struct figure disk[] = {
	{ "free_bytes", M_STORE_FREE_BYTES },
	{ "database_bytes", M_STORE_DATABASE_BYTES },
	{ "wal_bytes", M_STORE_WAL_BYTES },
	{ "blob_bytes", M_BLOBS_BYTES },
};

static struct json *parts_of(const struct admin_server *s)
{
	struct json *j = json_object_new();

	for (size_t i = 0; j && i < s->part_count; i++)
		json_put_bool(j, s->parts[i].name, s->parts[i].is_on);
	return j;
}

static struct json *listeners(void)
{
	struct listen_place *places = calloc(LISTEN_PLACES_MAX, sizeof(*places));
	struct json         *all    = json_array_new();
	size_t               count  = places ? listen_places(places) : 0;

	for (size_t i = 0; all && i < count; i++) {
		struct json *j = json_object_new();

		if (j) {
			json_put_text(j, "part", places[i].part);
			api_put_text(j, "address", places[i].address, strlen(places[i].address), LISTEN_PLACE_BYTES);
		}
		json_add_json(all, j);
	}
	free(places);
	return all;
}

static struct json *quota(const struct conf *conf)
{
	struct json *j = json_object_new();

	if (j) {
		json_put_int(j, "used_bytes", metric_get(M_CLOUD_BYTES));
		json_put_int(j, "max_bytes", conf->limits.cloud_total);
	}
	return j;
}

/* Of tls.cert; null without one. */
static void put_certificate(struct json *j)
{
	struct json *cert = metric_get(M_TLS_CERTIFICATE_EXPIRY) > 0 ? json_object_new() : NULL;

	if (!cert) {
		json_put_null(j, "certificate");
		return;
	}
	api_put_time(cert, "from_at", metric_get(M_TLS_CERTIFICATE_START) * 1000);
	api_put_time(cert, "until_at", metric_get(M_TLS_CERTIFICATE_EXPIRY) * 1000);
	json_put_json(j, "certificate", cert);
}

/* Who is left; null while nobody has to go. */
static void put_drain(struct json *j, const struct api_call *c, const struct admin_server *s)
{
	struct json *drain = NULL;

	if (strcmp(s->state(s->state_arg), "draining") == 0 && admin_drain_json(&drain, c, s->control) == ERR_OK)
		json_put_json(j, "drain", drain);
	else
		json_put_null(j, "drain");
}

static enum err on_status(struct api_call *c, void *part)
{
	const struct admin_server *s      = part;
	const struct conf         *conf   = api_conf(s->api);
	int64_t                    now    = clock_wall_ms();
	int64_t                    uptime = now / 1000 - metric_get(M_START_SECONDS);
	struct json               *j      = json_object_new();

	if (!j)
		return ERR_NOMEM;
	json_put_text(j, "version", COOPD_VERSION);
	api_put_time(j, "started_at", metric_get(M_START_SECONDS) * 1000);
	api_put_time(j, "now_at", now);
	json_put_int(j, "uptime_s", uptime > 0 ? uptime : 0);
	json_put_text(j, "state", s->state(s->state_arg));
	json_put_text(j, "store", store_health_text(store_health(api_store(s->api))));
	json_put_bool(j, "production", conf->server_production);
	json_put_json(j, "counts", figures(counts, COUNT_OF(counts)));
	json_put_json(j, "disk", figures(disk, COUNT_OF(disk)));
	json_put_json(j, "quota", quota(conf));
	json_put_json(j, "parts", parts_of(s));
	json_put_json(j, "listeners", listeners());
	put_certificate(j);
	put_drain(j, c, s);
	return api_answer(c, 200, j);
}

/* --- Settings --- */

/* What the loop hands out: a reload, there, replaces values. */
struct copied {
	const struct conf *conf;
	size_t             from, max, count;
	struct conf_shown *rows;
	enum err           result;
};

static void copy_settings(void *arg)
{
	struct copied *s = arg;

	while (s->count < s->max && s->result == ERR_OK) {
		s->result = conf_show(&s->rows[s->count], s->conf, s->from + s->count);
		s->count += s->result == ERR_OK;
	}
	if (s->result == ERR_NOT_FOUND)
		s->result = ERR_OK;
}

static struct json *setting(const struct conf_shown *s)
{
	struct json *j = json_object_new();
	char         key[80];

	if (!j)
		return NULL;
	snprintf(key, sizeof(key), "%s.%s", s->section, s->name);
	json_put_text(j, "key", key);
	if (s->value)
		api_put_text(j, "value", s->value, strlen(s->value), 1024);
	else
		json_put_null(j, "value");
	json_put_bool(j, "secret", s->is_secret);
	json_put_bool(j, "default", s->is_default);
	api_put_text(j, "source", s->source, strlen(s->source), 256);
	json_put_bool(j, "reload", s->can_reload);
	json_put_text(j, "help", s->help);
	json_put_text(j, "unit", s->unit);
	return j;
}

static void free_rows(struct copied *s)
{
	for (size_t i = 0; i < s->count; i++)
		conf_shown_fini(&s->rows[i]);
	free(s->rows);
}

static enum err on_settings(struct api_call *c, void *part)
{
	const struct admin_server    *s      = part;
	AUTO(free_rows) struct copied copied = { .conf = api_conf(s->api) };
	struct api_page               p;
	int64_t                       after;
	enum err                      e = api_page_begin(&p, c);

	if (e != ERR_OK)
		return e;
	after       = api_page_after_int(&p, -1);
	copied.from = after < 0 ? 0 : (size_t)after + 1;
	copied.max  = (size_t)p.limit + 1;
	copied.rows = calloc(copied.max, sizeof(*copied.rows));
	e           = copied.rows ? api_on_loop(c, copy_settings, &copied) : ERR_NOMEM;
	if (e == ERR_OK)
		e = copied.result;
	for (size_t i = 0; e == ERR_OK && i < copied.count; i++) {
		if (!api_page_room_int(&p, (int64_t)(copied.from + i)))
			break;
		api_page_add(&p, setting(&copied.rows[i]));
	}
	return api_page_end(&p, e);
}

const struct api_route admin_server_routes[] = {
	{ .method = "GET", .path = "/admin/v1/status", .role = API_VIEWER, .handle = on_status },
	{ .method = "GET",
	  .path   = "/admin/v1/settings",
	  .role   = API_VIEWER,
	  .query  = "limit cursor",
	  .handle = on_settings },
	{ 0 },
};

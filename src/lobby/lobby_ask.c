/*
 * What players ask: the list, how to reach a host, the latest release.
 */
#include "lobby/lobby_inside.h"

#include "base/auto.h"
#include "base/metric.h"
#include "os/clock.h"
#include "os/log.h"

#include <string.h>

#define JOINER_TTL_S 120

/* --- The list --- */

static void say_list(struct http_answer *a, struct http_request *rq, struct http_shared *body, const char *etag,
                     bool gzip)
{
	static char nothing[] = "";

	a->no_store = true;
	http_answer_field(a, "ETag", "%s", etag);
	http_answer_field(a, "Vary", "Accept-Encoding");
	if (http_has_match(rq, etag)) {
		http_shared_drop(body);
		a->body      = nothing;
		a->is_static = true;
		a->status    = 304;
		return;
	}
	if (gzip)
		http_answer_field(a, "Content-Encoding", "gzip");
	a->shared = body;
	a->type   = "application/json";
	a->status = 200;
}

/* One that is made for this caller alone is not compressed: that would cost more than everything else here. */
enum err lobby_on_list(struct http_answer *a, struct http_request *rq, void *part)
{
	struct lobby_master *m = part;
	struct http_shared  *body;
	char                 filter[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)], etag[LOBBY_ETAG_BYTES];
	bool                 gzip;
	enum err             e;

	lobby_read_filter(filter, http_raw_query(rq));
	gzip = !*filter && http_takes_gzip(rq);
	e    = lobby_list_get(&body, etag, m->list, filter, gzip, clock_mono_ms());
	if (e != ERR_OK)
		return e;
	say_list(a, rq, body, etag, gzip);
	return ERR_OK;
}

/* --- Join --- */

/* What a joiner is told of a lobby; copied under the lock. */
struct meeting {
	bool    is_found, is_direct;
	uint8_t session[LOBBY_SESSION_BYTES];
	uint8_t key[LOBBY_KEY_BYTES];
	char    addr[sizeof(((struct lobby *)NULL)->direct_addr)];
};

static void look_up(struct meeting *meet, struct lobby_master *m, const uint8_t id[LOBBY_ID_BYTES])
{
	const struct lobby *l;

	lobby_lock(m);
	l = lobby_of_id(&m->state, id);
	if (l) {
		meet->is_found  = true;
		meet->is_direct = l->is_direct;
		memcpy(meet->session, l->session, sizeof(meet->session));
		memcpy(meet->key, l->key, sizeof(meet->key));
		memcpy(meet->addr, l->direct_addr, sizeof(meet->addr));
	}
	lobby_unlock(m);
}

static enum err say_direct(struct lobby_ask *q, const struct meeting *meet)
{
	AUTO(json_freep) struct json *j = json_object_new();

	if (!j)
		return ERR_NOMEM;
	json_put_text(j, "conn", "direct");
	json_put_text(j, "addr", meet->addr);
	lobby_put_identity(j, meet->key);
	return http_answer_json(q->a, 200, j);
}

static enum err say_brokered(struct lobby_ask *q, const struct meeting *meet)
{
	AUTO(lobby_settings_dropp) struct lobby_settings *s                           = lobby_settings_use(q->m);
	AUTO(json_freep) struct json                     *j                           = json_object_new();
	char                                              user[LOBBY_TURN_USER_BYTES] = "";
	int64_t                                           until_ms;

	if (!j)
		return ERR_NOMEM;
	lobby_put_hex(j, "sessionId", meet->session, sizeof(meet->session));
	lobby_put_identity(j, meet->key);
	json_put_text(j, "conn", "p2p");
	if (lobby_has_turn(s))
		lobby_mint(user, &until_ms, q, JOINER_TTL_S);
	lobby_put_ways(j, q, s, user, JOINER_TTL_S);
	return http_answer_json(q->a, 200, j);
}

static void log_joined(const struct lobby_ask *q, const uint8_t id[LOBBY_ID_BYTES], const struct meeting *meet)
{
	char text[LOBBY_ID_TEXT_BYTES], client[ADDR_TEXT_BYTES];

	lobby_log_id(text, id);
	addr_text_log(client, http_client(q->rq));
	log_info("lobby", 0, "joins", "lobby=%s conn=%s address=%s", text, meet->is_direct ? "direct" : "p2p", client);
}

enum err lobby_on_join(struct lobby_ask *q)
{
	struct meeting meet = { 0 };
	uint8_t        id[LOBBY_ID_BYTES];

	if (json_kind(q->body, "lobbyId") != JSON_IS_STRING)
		return lobby_refuse(q->a, 400, "lobbyId required");
	if (lobby_read_id(id, q->body, "lobbyId"))
		look_up(&meet, q->m, id);
	metric_inc(meet.is_found ? M_LOBBY_JOINED : M_LOBBY_JOIN_UNKNOWN);
	if (!meet.is_found)
		return lobby_refuse(q->a, 404, "lobby not found");
	log_joined(q, id, &meet);
	return meet.is_direct ? say_direct(q, &meet) : say_brokered(q, &meet);
}

/* --- The latest release --- */

enum err lobby_on_latest(struct http_answer *a, struct http_request *rq, void *part)
{
	AUTO(lobby_settings_dropp) struct lobby_settings *s = lobby_settings_use(part);
	AUTO(json_freep) struct json                     *j = json_object_new();

	(void)rq;
	if (!j)
		return ERR_NOMEM;
	json_put_int(j, "proto", s->latest_proto);
	json_put_text(j, "mod", s->latest_mod);
	json_put_text(j, "url", s->latest_url);
	return http_answer_json(a, 200, j);
}

/*
 * POST /v1/heartbeat, /v1/leave and /v1/visibility. Beats and visibility are answered from memory and written behind; a
 * leave waits until it is kept.
 */
#include "lobby/lobby_inside.h"

#include "base/auto.h"
#include "base/metric.h"
#include "crypt/hash.h"
#include "os/log.h"

#include <string.h>

#define NOBODYS "unknown session or bad token"

static bool same(const void *a, const void *b, size_t len)
{
	return equal_secret(a, b, len);
}

static void digest_token(uint8_t out[LOBBY_DIGEST_BYTES], const char token[LOBBY_TOKEN_CHARS + 1])
{
	hash_sha256(out, token, LOBBY_TOKEN_CHARS);
}

/* --- Heartbeat --- */

/* A credential that a beat gives: what is decided under the lock, and answered without it. */
struct renewal {
	enum lobby_turn what;
	char            user[LOBBY_TURN_USER_BYTES];
	unsigned        secret;
	int64_t         ttl_s;
	uint8_t         id[LOBBY_ID_BYTES];
};

/* With the lock held. */
static void renew(struct renewal *r, struct lobby *l, const struct lobby_ask *q, const struct lobby_beat *b,
                  const struct lobby_settings *s)
{
	int64_t until_ms;

	memcpy(r->id, l->id, sizeof(r->id));
	r->what = lobby_renewal(&r->ttl_s, l, b, lobby_has_turn(s), s->secret, s->is_old_good, s->host_ttl_s, q->now_ms,
	                        q->wall_ms);
	if (r->what == LOBBY_TURN_MINT) {
		lobby_mint(r->user, &until_ms, q, s->host_ttl_s);
		lobby_minted(l, r->user, s->secret, until_ms, q->now_ms);
		r->ttl_s  = s->host_ttl_s;
		r->secret = s->secret;
	} else if (r->what == LOBBY_TURN_REPEAT) {
		memcpy(r->user, l->turn_user, sizeof(r->user));
		r->secret = l->turn_secret;
	}
}

/* {"ok":true}, and what was renewed. */
static enum err say_beaten(const struct lobby_ask *q, const struct renewal *r, const struct lobby_settings *s)
{
	AUTO(json_freep) struct json *j    = json_object_new();
	struct json                  *turn = NULL;
	char                          id[LOBBY_ID_TEXT_BYTES];
	enum err                      e;

	if (!j)
		return ERR_NOMEM;
	json_put_bool(j, "ok", true);
	if (r->what != LOBBY_TURN_NONE) {
		e = lobby_turn_json(&turn, lobby_secret_of(s, r->secret), r->user, r->ttl_s, s->turn_uri);
		if (e != ERR_OK)
			return e;
		json_put_json(j, "turn", turn);
		lobby_log_id(id, r->id);
		log_info("lobby", 0, "renews", "lobby=%s credential=%s ttl=%llds", id,
		         r->what == LOBBY_TURN_MINT ? "new" : "again", (long long)r->ttl_s);
	}
	return http_answer_json(q->a, 200, j);
}

/* With the lock held. Whether visibility changed is for the log. */
static bool take_beat(struct lobby_ask *q, struct lobby *l, const struct lobby_beat *b)
{
	bool was_listed = l->listed;

	l->client = *http_client(q->rq);
	lobby_beat(&q->m->state, l, b, q->now_ms);
	lobby_keep_touch(q->m->keep, l);
	return l->listed != was_listed;
}

static void log_shown(const uint8_t id[LOBBY_ID_BYTES], bool listed)
{
	char text[LOBBY_ID_TEXT_BYTES];

	lobby_log_id(text, id);
	log_info("lobby", 0, listed ? "shown" : "hidden", "lobby=%s", text);
}

static enum err refuse_beat(struct lobby_ask *q)
{
	metric_inc(M_LOBBY_BEAT_UNKNOWN);
	return lobby_refuse(q->a, 403, NOBODYS);
}

/* With the lock held: the one that beats, unless its host is banned; then it is taken out, and *banned. */
static struct lobby *find(struct lobby **banned, struct lobby_ask *q, const struct lobby_beat *b,
                          const uint8_t token[LOBBY_DIGEST_BYTES])
{
	struct lobby *l = lobby_of_host(&q->m->state, b->session, token, same);

	*banned = NULL;
	if (!l || !ban_has_identity(l->key))
		return l;
	lobby_remove(&q->m->state, l);
	*banned = l;
	return NULL;
}

enum err lobby_on_heartbeat(struct lobby_ask *q)
{
	AUTO(lobby_settings_dropp) struct lobby_settings *s = lobby_settings_use(q->m);
	struct lobby_beat                                 b;
	struct renewal                                    r = { .what = LOBBY_TURN_NONE };
	uint8_t                                           token[LOBBY_DIGEST_BYTES];
	struct lobby                                     *l, *banned;
	bool                                              is_shown, listed = false;

	lobby_read_beat(&b, q->body);
	if (!b.has_credentials)
		return refuse_beat(q);
	digest_token(token, b.token);
	lobby_lock(q->m);
	l        = find(&banned, q, &b, token);
	is_shown = l && take_beat(q, l, &b);
	if (l) {
		listed = l->listed;
		renew(&r, l, q, &b, s);
	}
	lobby_unlock(q->m);
	if (banned) {
		metric_inc(M_BAN_REFUSED_LOBBY);
		lobby_bury_banned(q->m, banned);
		return ERR_BANNED;
	}
	if (!l)
		return refuse_beat(q);
	metric_inc(M_LOBBY_BEATS);
	if (is_shown)
		log_shown(r.id, listed);
	return say_beaten(q, &r, s);
}

/* --- Leave --- */

/* It is gone for everybody at once; and for good when this is answered by ok, or else as soon as it can be written. */
static enum err leave(struct lobby_ask *q, struct lobby *l)
{
	char     id[LOBBY_ID_TEXT_BYTES];
	enum err e = lobby_keep_remove(q->m->keep, l->id);

	lobby_log_id(id, l->id);
	metric_inc(M_LOBBY_LEFT);
	lobby_event_gone(l->id, "left");
	log_info("lobby", 0, "closes", "lobby=%s live=%lld", id, (long long)lobby_count(q->m));
	lobby_free(l);
	return e == ERR_OK ? lobby_say_ok(q->a) : e;
}

enum err lobby_on_leave(struct lobby_ask *q)
{
	uint8_t       session[LOBBY_SESSION_BYTES], digest[LOBBY_DIGEST_BYTES];
	char          token[LOBBY_TOKEN_CHARS + 1];
	struct lobby *l = NULL;

	if (!lobby_read_session(session, q->body, "sessionId") || !lobby_read_token(token, q->body, "token"))
		return lobby_refuse(q->a, 403, NOBODYS);
	digest_token(digest, token);
	lobby_lock(q->m);
	l = lobby_of_host(&q->m->state, session, digest, same);
	if (l)
		lobby_remove(&q->m->state, l);
	lobby_unlock(q->m);
	return l ? leave(q, l) : lobby_refuse(q->a, 403, NOBODYS);
}

/* --- Visibility --- */

/* With the lock held; false: no such lobby, or not his. */
static bool show(struct lobby_ask *q, const uint8_t id[LOBBY_ID_BYTES], const uint8_t digest[LOBBY_DIGEST_BYTES],
                 bool listed)
{
	struct lobby *l = lobby_of_id(&q->m->state, id);

	if (!l || !equal_secret(l->token, digest, LOBBY_DIGEST_BYTES))
		return false;
	lobby_show(&q->m->state, l, listed);
	lobby_keep_touch(q->m->keep, l);
	return true;
}

enum err lobby_on_visibility(struct lobby_ask *q)
{
	bool    listed = lobby_read_bool(q->body, "listed", true);
	uint8_t id[LOBBY_ID_BYTES], digest[LOBBY_DIGEST_BYTES];
	char    token[LOBBY_TOKEN_CHARS + 1];
	bool    is_his = false;

	if (json_kind(q->body, "lobbyId") != JSON_IS_STRING || json_kind(q->body, "token") != JSON_IS_STRING)
		return lobby_refuse(q->a, 400, "lobbyId + token required");
	if (lobby_read_id(id, q->body, "lobbyId") && lobby_read_token(token, q->body, "token")) {
		digest_token(digest, token);
		lobby_lock(q->m);
		is_his = show(q, id, digest, listed);
		lobby_unlock(q->m);
	}
	if (!is_his)
		return lobby_refuse(q->a, 403, "unknown lobby or bad token");
	log_shown(id, listed);
	return lobby_say_ok(q->a);
}

/*
 * POST /v1/host and /v1/challenge.
 *
 * An announce is decided under the lock, kept without it, and admitted under it again: what a host is told it has, a
 * restart does not take away. While it is kept the lobby is pending: it counts, and nobody sees it.
 */
#include "base/event.h"
#include "lobby/lobby_inside.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/hex.h"
#include "base/metric.h"
#include "base/text.h"
#include "crypt/hash.h"
#include "net/addr_event.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/random.h"

#include <string.h>

/* One announce on its way. */
struct newborn {
	struct lobby_ask     *q;
	struct lobby_announce announce;
	struct lobby_newcomer who;
	char                  ip[ADDR_TEXT_BYTES];
	char                  token[BASE64_BYTES(LOBBY_TOKEN_BYTES)];
	/* The credential it is given, when a TURN server is set. */
	struct lobby_settings *settings;
	char                   turn_user[LOBBY_TURN_USER_BYTES];
	int64_t                turn_until_ms;
};

_Static_assert(sizeof(((struct newborn *)NULL)->token) == LOBBY_TOKEN_CHARS + 1, "a token has no padding");

/* --- Who comes --- */

static void draw_token(struct newborn *n)
{
	uint8_t bytes[LOBBY_TOKEN_BYTES];

	random_bytes(bytes, sizeof(bytes));
	base64_encode(n->token, bytes, sizeof(bytes));
	for (char *c = n->token; *c; c++) {
		if (*c == '+')
			*c = '-';
		else if (*c == '/')
			*c = '_';
	}
	hash_sha256(n->who.token, n->token, LOBBY_TOKEN_CHARS);
}

static bool holds_key(const struct newborn *n)
{
	char name[LOBBY_HOST_BYTES];
	bool holds;

	if (!n->announce.has_proof || !n->announce.has_identity)
		return false;
	lobby_server_name(name, n->q);
	holds = lobby_proof_holds(n->q->m->proof, &n->announce, name, http_client(n->q->rq), n->q->wall_ms);
	metric_inc(holds ? M_LOBBY_PROOF_GOOD : M_LOBBY_PROOF_BAD);
	return holds;
}

static void read_newborn(struct newborn *n, struct lobby_ask *q)
{
	const struct addr *client = http_client(q->rq);

	*n = (struct newborn){ .q = q };
	lobby_read_announce(&n->announce, q->body);
	addr_text(n->ip, client);
	n->who = (struct lobby_newcomer){ .announce  = &n->announce,
		                          .has_wide  = q->has_wide,
		                          .ip        = n->ip,
		                          .is_ipv6   = client->family == ADDR_IPV6,
		                          .is_exempt = q->is_exempt,
		                          .client    = *client,
		                          .made_ms   = q->wall_ms };
	memcpy(n->who.addr, q->addr, sizeof(n->who.addr));
	memcpy(n->who.addr_wide, q->addr_wide, sizeof(n->who.addr_wide));
	random_bytes(n->who.session, sizeof(n->who.session));
	random_bytes(n->who.id, sizeof(n->who.id));
	draw_token(n);
	n->who.is_proved = holds_key(n);
}

/* --- Log --- */

static void log_opened(const struct newborn *n)
{
	char id[LOBBY_ID_TEXT_BYTES], name[LOBBY_LOG_TEXT_BYTES], client[ADDR_TEXT_BYTES];

	lobby_log_id(id, n->who.id);
	lobby_log_text(name, n->announce.name);
	addr_text_log(client, http_client(n->q->rq));
	log_info("lobby", 0, "opens", "lobby=%s name=\"%s\" game=%s build=%d conn=%s address=%s proved=%s live=%lld",
	         id, name, n->announce.game, n->announce.proto, n->announce.is_direct ? "direct" : "p2p", client,
	         n->who.is_proved ? "yes" : "no", (long long)lobby_count(n->q->m));
	event_emit(E_LOBBY_ANNOUNCED, event_id("lobby", n->who.id),
	           event_text("name", n->announce.name, strlen(n->announce.name)),
	           event_text("game", n->announce.game, strlen(n->announce.game)),
	           event_int("version", n->announce.proto), event_addr("from", http_client(n->q->rq)));
}

static void log_untold(int64_t count)
{
	if (count > 0)
		log_info("lobby", 0, "refuses-more", "announces=%lld", (long long)count);
}

void lobby_tell_refused(struct lobby_master *m, int64_t now_ms)
{
	log_untold(log_lines_rest(&m->refused, now_ms));
}

/* Addresses are cheap: a flood from ever new ones, of which each stays below its limits, does not fill the log. */
static void log_refused(const struct newborn *n, const char *why)
{
	char    name[LOBBY_LOG_TEXT_BYTES], reason[LOBBY_LOG_TEXT_BYTES], client[ADDR_TEXT_BYTES];
	int64_t untold;
	bool    is_told = log_lines_take(&untold, &n->q->m->refused, n->q->now_ms);

	log_untold(untold);
	if (!is_told)
		return;
	lobby_log_text(name, n->announce.name);
	lobby_log_text(reason, why);
	addr_text_log(client, http_client(n->q->rq));
	log_info("lobby", 0, "refuses", "reason=\"%s\" name=\"%s\" build=%d address=%s", reason, name,
	         n->announce.proto, client);
}

/* It was pushed out by the newcomer: nobody else has it any more. */
static void bury(struct lobby_master *m, struct lobby *l)
{
	char id[LOBBY_ID_TEXT_BYTES];

	if (!l)
		return;
	lobby_keep_forget(m->keep, l->id);
	lobby_log_id(id, l->id);
	metric_inc(M_LOBBY_PUSHED_OUT);
	lobby_event_gone(l->id, "pushed_out");
	log_info("lobby", 0, "pushed-out", "lobby=%s silent=%llds", id,
	         (long long)((clock_mono_ms() - l->beat_ms) / 1000));
	lobby_free(l);
}

/* --- Answers --- */

static enum err refuse(const struct newborn *n, enum lobby_refusal why)
{
	char text[LOBBY_REFUSAL_BYTES];

	lobby_refusal_text(text, why, n->announce.game);
	log_refused(n, text);
	metric_inc(M_LOBBY_ANNOUNCE_REFUSED);
	return lobby_refuse(n->q->a, lobby_refusal_status(why), text);
}

static enum err welcome(struct newborn *n)
{
	AUTO(json_freep) struct json *j         = json_object_new();
	bool                          is_direct = n->announce.is_direct;

	if (!j)
		return ERR_NOMEM;
	lobby_put_hex(j, "sessionId", n->who.session, LOBBY_SESSION_BYTES);
	lobby_put_hex(j, "lobbyId", n->who.id, LOBBY_ID_BYTES);
	lobby_put_identity(j, n->announce.key);
	json_put_text(j, "token", n->token);
	json_put_text(j, "conn", is_direct ? "direct" : "p2p");
	if (!is_direct && lobby_has_turn(n->settings))
		lobby_mint(n->turn_user, &n->turn_until_ms, n->q, n->settings->host_ttl_s);
	if (!is_direct)
		lobby_put_ways(j, n->q, n->settings, n->turn_user, n->settings->host_ttl_s);
	return http_answer_json(n->q->a, 200, j);
}

/* The database has it; the answer is made, so that nothing can go wrong any more. */
static void admit(const struct newborn *n, struct lobby *l)
{
	struct lobby_master *m = n->q->m;
	bool                 is_banned;

	lobby_lock(m);
	if (*n->turn_user)
		lobby_minted(l, n->turn_user, n->settings->secret, n->turn_until_ms, n->q->now_ms);
	lobby_admit(&m->state, l);
	is_banned = lobby_is_banned(l); /* while it was kept */
	if (is_banned)
		lobby_remove(&m->state, l);
	lobby_unlock(m);
	metric_inc(M_LOBBY_ANNOUNCED);
	log_opened(n);
	if (is_banned)
		lobby_bury_banned(m, l);
}

static void drop(struct lobby_master *m, struct lobby *l)
{
	lobby_lock(m);
	lobby_remove(&m->state, l);
	lobby_unlock(m);
	lobby_free(l);
}

static enum err keep(struct newborn *n, struct lobby *l)
{
	struct lobby_master *m = n->q->m;
	enum err             e = lobby_keep_put(m->keep, l, n->q->now_ms, n->q->wall_ms);

	if (e == ERR_OK) {
		n->q->wall_ms = clock_wall_ms(); /* it may have waited, and credentials live from now on */
		e             = welcome(n);
		if (e != ERR_OK)
			lobby_keep_forget(m->keep, n->who.id);
	}
	if (e == ERR_OK) {
		admit(n, l);
		return ERR_OK;
	}
	drop(m, l);
	metric_inc(M_LOBBY_ANNOUNCE_REFUSED);
	log_refused(n, err_rest(e));
	return e;
}

enum err lobby_on_host(struct lobby_ask *q)
{
	AUTO(lobby_settings_dropp) struct lobby_settings *settings = lobby_settings_use(q->m);
	struct newborn                                    n;
	struct lobby                                     *l = NULL, *pushed = NULL;
	enum lobby_refusal                                why;

	read_newborn(&n, q);
	n.settings = settings;
	if (n.announce.has_identity && ban_has_identity(n.announce.key)) {
		metric_inc(M_BAN_REFUSED_LOBBY);
		metric_inc(M_LOBBY_ANNOUNCE_REFUSED);
		log_refused(&n, err_rest(ERR_BANNED));
		return ERR_BANNED;
	}
	lobby_lock(q->m);
	why = lobby_announce(&l, &pushed, &q->m->state, &n.who, q->now_ms);
	lobby_unlock(q->m);
	bury(q->m, pushed);
	return why == LOBBY_WELCOME ? keep(&n, l) : refuse(&n, why);
}

enum err lobby_on_challenge(struct lobby_ask *q)
{
	AUTO(json_freep) struct json *j = json_object_new();
	uint8_t                       nonce[LOBBY_NONCE_BYTES];

	if (!j)
		return ERR_NOMEM;
	lobby_proof_nonce(nonce, q->m->proof, http_client(q->rq), q->wall_ms);
	lobby_put_hex(j, "nonce", nonce, sizeof(nonce));
	return http_answer_json(q->a, 200, j);
}

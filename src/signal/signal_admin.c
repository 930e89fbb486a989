/*
 * Registered peers, for operators: src/admin/PROTOCOL.md. On the loop flat copies are made, up to a page of them; JSON is made
 * of those afterwards.
 */
#include "signal/signal_serve.h"

#include "api/api_live.h"
#include "base/auto.h"
#include "base/hex.h"
#include "signal/signal_peer.h"

#include <stdlib.h>
#include <string.h>

struct peer_view { /* the key first: api_live.h */
	uint8_t     key[SIGNAL_KEY_BYTES];
	struct addr addr;
	const char *kind;
	int64_t     since_ms;
	size_t      queued;
};

/* --- On the loop --- */

static int by_key(const void *a, const void *b)
{
	const struct signal_peer *one = a, *other = b;

	return memcmp(one->state.self.key, other->state.self.key, SIGNAL_KEY_BYTES);
}

static void key_of(uint8_t *key, const void *thing)
{
	const struct signal_peer *p = thing;

	memcpy(key, p->state.self.key, SIGNAL_KEY_BYTES);
}

static void look(void *view, const void *thing)
{
	struct peer_view         *out = view;
	const struct signal_peer *p   = thing;

	*out = (struct peer_view){ .addr = p->addr, .kind = p->lane->kind, .since_ms = p->since_ms };
	memcpy(out->key, p->state.self.key, sizeof(out->key));
	out->queued = p->state.queue.chain.bytes + (p->ws ? ws_conn_queued(p->ws) : 0);
}

static void walk(struct api_live *l, void *part)
{
	struct signal_relay *relay = part;

	for (struct list *at = relay->peers.next; at != &relay->peers; at = at->next) {
		struct signal_peer *p = CONTAINER(at, struct signal_peer, in_peers);

		if (p->state.phase == SIGNAL_READY)
			api_live_offer(l, p);
	}
}

struct close_ask {
	struct signal_relay *relay;
	uint8_t              key[SIGNAL_KEY_BYTES];
	bool                 dry_run;
	enum err             result;
};

static void on_close(void *arg)
{
	struct close_ask   *a = arg;
	struct signal_conn *c = map_get(&a->relay->state.by_key, a->key);

	a->result = c ? ERR_OK : ERR_NOT_FOUND;
	if (c && !a->dry_run)
		signal_peer_on_bad_line(CONTAINER(c, struct signal_peer, state), SIGNAL_WHY_OPERATOR);
}

/* --- Afterwards --- */

static struct json *json_of(const void *view)
{
	const struct peer_view *p = view;
	struct json            *j = json_object_new();
	char                    address[ADDR_TEXT_BYTES];

	if (!j)
		return NULL;
	addr_text(address, &p->addr);
	api_put_hex(j, "identity", p->key, sizeof(p->key));
	json_put_text(j, "address", address);
	json_put_text(j, "kind", p->kind);
	api_put_time(j, "since_at", p->since_ms);
	json_put_int(j, "queued_bytes", (int64_t)p->queued);
	return j;
}

static enum err on_list(struct api_call *c, void *part)
{
	static const struct api_live_kind peers = { .view_bytes = sizeof(struct peer_view),
		                                    .key_bytes  = SIGNAL_KEY_BYTES,
		                                    .walk       = walk,
		                                    .key_of     = key_of,
		                                    .compare    = by_key,
		                                    .look       = look,
		                                    .json       = json_of };

	return api_live_list(c, &peers, part);
}

static enum err read_identity(uint8_t key[SIGNAL_KEY_BYTES], const struct api_call *c)
{
	const char *text = http_path_part(c->rq, 0);

	for (const char *at = text; *at; at++) {
		if (*at >= 'A' && *at <= 'F')
			return ERR_NOT_FOUND;
	}
	return hex_decode(key, SIGNAL_KEY_BYTES, text, strlen(text)) == ERR_OK ? ERR_OK : ERR_NOT_FOUND;
}

static enum err on_delete(struct api_call *c, void *part)
{
	struct close_ask a = { .relay = part, .dry_run = c->dry_run };
	enum err         e = read_identity(a.key, c);

	if (e == ERR_OK)
		e = api_on_loop(c, on_close, &a);
	if (e == ERR_OK)
		e = a.result;
	return e == ERR_OK ? api_answer(c, 200, api_done()) : e;
}

const struct api_route signal_admin_routes[] = {
	{ "GET", "/admin/v1/signal", API_VIEWER, NULL, "limit cursor", on_list, .body = API_NO_BODY },
	{ "DELETE", "/admin/v1/signal/{identity}", API_OPERATOR, "signal.close", NULL, on_delete, .body = API_NO_BODY },
	{ 0 },
};

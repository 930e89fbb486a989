/*
 * Registered peers, for operators: src/admin/PROTOCOL.md. On the loop flat copies are made, up to a page of them; JSON is made
 * of those afterwards.
 */
#include "signal/signal_serve.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/lowest.h"
#include "signal/signal_peer.h"

#include <stdlib.h>
#include <string.h>

struct peer_view {
	uint8_t     key[SIGNAL_KEY_BYTES];
	struct addr addr;
	const char *kind;
	int64_t     since_ms;
	size_t      queued;
};

/* --- On the loop --- */

struct peers_ask {
	struct signal_relay *relay;
	bool                 has_after;
	uint8_t              after[SIGNAL_KEY_BYTES];
	size_t               cap; /* of both */
	void               **room;
	struct peer_view    *views;
	size_t               count; /* out */
};

static int by_key(const void *a, const void *b)
{
	const struct signal_peer *one = a, *other = b;

	return memcmp(one->state.self.key, other->state.self.key, SIGNAL_KEY_BYTES);
}

static void look(struct peer_view *out, const struct signal_peer *p)
{
	*out = (struct peer_view){ .addr = p->addr, .kind = p->lane->kind, .since_ms = p->since_ms };
	memcpy(out->key, p->state.self.key, sizeof(out->key));
	out->queued = p->state.queue.chain.bytes + (p->ws ? ws_conn_queued(p->ws) : 0);
}

static void on_peers(void *arg)
{
	struct peers_ask *a = arg;
	struct lowest     page;

	lowest_init(&page, a->room, a->cap, by_key);
	for (struct list *at = a->relay->peers.next; at != &a->relay->peers; at = at->next) {
		struct signal_peer *p = CONTAINER(at, struct signal_peer, in_peers);

		if (p->state.phase == SIGNAL_READY &&
		    (!a->has_after || memcmp(p->state.self.key, a->after, sizeof(a->after)) > 0))
			lowest_offer(&page, p);
	}
	lowest_sort(&page);
	for (size_t i = 0; i < page.count; i++)
		look(&a->views[i], page.items[i]);
	a->count = page.count;
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

static struct json *json_of(const struct peer_view *p)
{
	struct json *j = json_object_new();
	char         address[ADDR_TEXT_BYTES];

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
	AUTO(auto_free) void **room  = NULL;
	AUTO(auto_free) void  *views = NULL;
	struct peers_ask       a     = { .relay = part };
	struct api_page        p;
	enum err               e = api_page_begin(&p, c);

	if (e != ERR_OK)
		return e;
	a.has_after = p.has_after && p.after_len == sizeof(a.after);
	memcpy(a.after, p.after, sizeof(a.after));
	a.cap  = (size_t)p.limit + 1; /* one more tells whether there is another page */
	a.room = room = calloc(a.cap, sizeof(*room));
	a.views = views = calloc(a.cap, sizeof(*a.views));
	e               = room && views ? api_on_loop(c, on_peers, &a) : ERR_NOMEM;
	for (size_t i = 0; e == ERR_OK && i < a.count && api_page_room(&p, a.views[i].key, SIGNAL_KEY_BYTES); i++)
		api_page_add(&p, json_of(&a.views[i]));
	return api_page_end(&p, e);
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

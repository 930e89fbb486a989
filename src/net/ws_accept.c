/*
 * Who may connect: our own listening sockets, accepted in small helpings, with limits in all and per address.
 *
 * An address that is a trusted proxy stands for many clients, so it is not counted here; its clients are, once the head
 * said who they are. All of them may come back at once, also when it speaks TLS to us.
 */
#include "net/ws_conn.h"

#include "os/random.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#define RATE_KEYS_MAX 65536
#define NET_FACTOR    8 /* what an IPv6 /48 may have more than an address */

enum err ws_accept_init(struct ws *ws)
{
	const struct limits *l    = ws->limits;
	size_t               keys = (size_t)l->ws_connections;

	ws->per_address = count_new(l->ws_per_address, keys, random_u64());
	ws->per_net     = count_new(l->ws_per_address * NET_FACTOR, keys, random_u64());
	ws->accepts     = bucket_new(l->ws_accept_rate, l->ws_accept_burst, RATE_KEYS_MAX, random_u64());
	ws->accepts_net = bucket_new(l->ws_accept_rate * NET_FACTOR, l->ws_accept_burst * NET_FACTOR, RATE_KEYS_MAX,
	                             random_u64());
	ws->tls_accepts = bucket_new(l->ws_tls_rate, l->ws_tls_rate, 1, random_u64());
	return ws->per_address && ws->per_net && ws->accepts && ws->accepts_net && ws->tls_accepts ? ERR_OK : ERR_NOMEM;
}

void ws_accept_fini(struct ws *ws)
{
	count_free(ws->per_address);
	count_free(ws->per_net);
	bucket_free(ws->accepts);
	bucket_free(ws->accepts_net);
	bucket_free(ws->tls_accepts);
}

static bool within_rate(struct ws *ws, const struct addr *a, int64_t now_ms)
{
	uint8_t key[ADDR_KEY_BYTES];

	addr_key(key, a);
	if (!bucket_take(ws->accepts, key, now_ms))
		return false;
	return !addr_key_wide(key, a) || bucket_take(ws->accepts_net, key, now_ms);
}

static bool take_place(struct ws *ws, const struct addr *a)
{
	uint8_t key[ADDR_KEY_BYTES], wide[ADDR_KEY_BYTES];

	addr_key(key, a);
	if (!count_take(ws->per_address, key))
		return false;
	if (!addr_key_wide(wide, a) || count_take(ws->per_net, wide))
		return true;
	count_give(ws->per_address, key);
	return false;
}

static void give_place(struct ws *ws, const struct addr *a)
{
	uint8_t key[ADDR_KEY_BYTES];

	addr_key(key, a);
	count_give(ws->per_address, key);
	if (addr_key_wide(key, a))
		count_give(ws->per_net, key);
}

bool ws_admit_client(struct ws_conn *c, enum metric *why, int64_t now_ms)
{
	if (c->is_counted || c->is_exempt)
		return true;
	*why = M_WS_REFUSED_RATE;
	if (!within_rate(c->ws, &c->client, now_ms))
		return false;
	*why          = M_WS_REFUSED_ADDRESS;
	c->is_counted = take_place(c->ws, &c->client);
	return c->is_counted;
}

void ws_release(struct ws_conn *c)
{
	if (c->is_counted)
		give_place(c->ws, &c->client);
	c->is_counted = false;
}

/*
 * Whether a connection from this address, of which nothing else is known yet, is taken. *counted: it now holds a place
 * of that address.
 */
static bool is_welcome(struct ws_listener *l, const struct addr *peer, bool *counted, enum metric *why, int64_t now_ms)
{
	static const uint8_t all[KEYED_KEY_BYTES];
	struct ws           *ws     = l->ws;
	bool                 exempt = !ws->conf->server_production && addr_is_loopback(peer);
	bool                 proxy  = addr_nets_contain(&ws->trusted, peer);
	bool                 own    = !exempt && !proxy;

	*why = M_BAN_REFUSED_WS;
	if (ban_has_address(peer))
		return false;
	*why = M_WS_REFUSED_TOTAL;
	if (ws->conn_count - ws->door_count >= (size_t)ws->limits->ws_connections)
		return false;
	*why = M_WS_REFUSED_RATE;
	if (own && !within_rate(ws, peer, now_ms))
		return false;
	*why = M_WS_REFUSED_TLS_RATE;
	if (l->is_tls && !proxy && !bucket_take(ws->tls_accepts, all, now_ms))
		return false;
	*why = M_WS_REFUSED_ADDRESS;
	if (own && !take_place(ws, peer))
		return false;
	*counted = own;
	return true;
}

static void take_connection(void *arg, int fd, const struct addr *peer)
{
	struct ws_listener *l       = arg;
	int64_t             now_ms  = loop_now_ms(l->ws->loop);
	bool                counted = false;
	struct ws_conn     *c;
	enum metric         why;

	if (l->is_door) {
		ws_door_take(l->ws, fd, peer, now_ms);
		return;
	}
	if (!is_welcome(l, peer, &counted, &why, now_ms)) {
		metric_inc(why);
		close(fd);
		return;
	}
	c = ws_conn_new(l->ws, fd, peer, now_ms);
	if (!c) {
		metric_inc(M_WS_REFUSED_MEMORY);
		if (counted)
			give_place(l->ws, peer);
		close(fd);
		return;
	}
	c->is_counted = counted;
	if (!ws_upgrade_begin(c, fd, l->is_tls))
		ws_conn_end(c, l->is_tls ? M_WS_REFUSED_HANDSHAKE : M_WS_REFUSED_MEMORY, true);
}

static enum err add_listener(struct ws *ws, int fd, bool tls, bool door)
{
	struct ws_listener *l  = calloc(1, sizeof(*l));
	struct accept_to    to = { .take         = take_connection,
		                   .arg          = l,
		                   .turn_accepts = ws->limits->ws_turn_accepts,
		                   .starved      = M_WS_REFUSED_MEMORY };
	enum err            e;

	if (!l || (tls && ws->conf->tls_cert[0] == '\0')) {
		e = l ? ERR_MALFORMED : ERR_NOMEM;
		free(l);
		close(fd);
		return e;
	}
	l->ws      = ws;
	l->is_tls  = tls;
	l->is_door = door;
	e          = acceptor_new(&l->acceptor, ws->loop, fd, &to);
	if (e != ERR_OK) {
		free(l);
		return e;
	}
	l->next       = ws->listeners;
	ws->listeners = l;
	return ERR_OK;
}

enum err ws_listen(struct ws *ws, int fd, bool tls)
{
	return add_listener(ws, fd, tls, false);
}

enum err ws_listen_door(struct ws *ws, int fd)
{
	assert(ws->door.path);
	return add_listener(ws, fd, false, true);
}

void ws_accept_stop(struct ws *ws)
{
	while (ws->listeners) {
		struct ws_listener *l = ws->listeners;

		ws->listeners = l->next;
		acceptor_close(l->acceptor);
		free(l);
	}
}

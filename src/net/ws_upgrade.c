/*
 * From an accepted socket to a WebSocket connection. libwebsockets does the TLS handshake, reads the request's head and
 * answers the upgrade, on the peer's socket; the rules of who may are here. Once a connection is open the library is
 * told to read no more from it (it is "parked" there), and bytes go between the socket, or its TLS session, and our own
 * frames: one system call in and one out for many datagrams. When it ends, the library closes the socket.
 *
 * Which subprotocol is spoken is our choice, too. The library lets in only who offers one of the names that it was given,
 * and answers with that name; so the name it is given is a buffer, which holds what is to be found just then.
 *
 * On a plain socket the library may not read before the head is whole and we have looked at it, see ws_peek.h.
 *
 * The library calls back about a socket whose ws_conn may have ended already; then its opaque pointer is NULL.
 */
#include "net/ws_conn.h"

#include "base/text.h"
#include "net/proxy.h"
#include "net/ws_peek.h"
#include "os/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define HEAD_BYTES_MAX     8192
#define FIELD_BYTES_MAX    1024 /* of a forwarding field; a longer one is refused, see addr_client */
#define ORIGIN_BYTES_MAX   256
#define PATH_BYTES_MAX     2048
#define ANSWER_BYTES_MAX   160
#define HEADER_POOL_SPARES 16
#define OFFER_BYTES_MAX    126 /* of all offered subprotocols; of a longer list the library says nothing, and hangs up */
#define OFFER_NAME_BYTES   64
#define LATER_SECONDS      10
#define UPDATE_PATH        "/update/"

struct ws_upgrader {
	struct ws           *ws;
	struct lws_context  *context;
	struct lws_vhost    *plain, *tls;
	struct ws_conn      *adopting;
	struct lws_protocols protocols[3];
	char subprotocol[OFFER_NAME_BYTES]; /* the one that the library is to find, then that it is to answer */
	bool has_ended;                     /* sockets in this turn */
};

/* NULL: nobody is interested any more. */
static struct ws_conn *conn_of(struct lws *wsi)
{
	struct ws_upgrader *u = lws_context_user(lws_get_context(wsi));
	struct ws_conn     *c = lws_get_opaque_user_data(wsi);

	return c ? c : u->adopting;
}

/* Answers a request that is not let in; the library then hangs up. */
static int refuse(struct lws *wsi, struct ws_conn *c, const char *status, enum metric why)
{
	unsigned char answer[LWS_PRE + ANSWER_BYTES_MAX];
	char         *text = (char *)answer + LWS_PRE;

	metric_inc(why);
	log_debug("ws", c ? c->id : 0, "refuses", "status=%.3s", status);
	text_format(text, ANSWER_BYTES_MAX, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
	lws_write(wsi, answer + LWS_PRE, strlen(text), LWS_WRITE_HTTP);
	if (c)
		c->phase = WS_LINGER; /* counted already */
	return -1;
}

/* Never the callback's in: for this event it may point at freed memory in 4.1.6. */
static bool asks_for_websocket(struct lws *wsi)
{
	char upgrade[32], key[128];

	return lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0 &&
	       lws_hdr_copy(wsi, upgrade, sizeof(upgrade), WSI_TOKEN_UPGRADE) > 0 &&
	       strcasecmp(upgrade, "websocket") == 0 && lws_hdr_copy(wsi, key, sizeof(key), WSI_TOKEN_KEY) > 0;
}

/* A browser names the page it acts for; only pages that the operator knows may connect. */
static bool has_good_origin(const struct ws *ws, struct lws *wsi)
{
	const struct conf_list *allowed = &ws->conf->http_allowed_origins;
	char                    origin[ORIGIN_BYTES_MAX];

	/* An empty field has no length either, but it has a first piece. */
	if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) == 0)
		return lws_hdr_copy_fragment(wsi, origin, sizeof(origin), WSI_TOKEN_ORIGIN, 0) < 0;
	if (lws_hdr_copy(wsi, origin, sizeof(origin), WSI_TOKEN_ORIGIN) <= 0)
		return false;
	for (size_t i = 0; i < allowed->count; i++)
		if (text_same_nocase(allowed->words[i], origin))
			return true;
	return false;
}

static const struct ws_route *find_route(const struct ws *ws, struct lws *wsi)
{
	const struct ws_route *other = NULL;
	char                   path[PATH_BYTES_MAX];

	if (lws_hdr_copy(wsi, path, sizeof(path), WSI_TOKEN_GET_URI) <= 0)
		return NULL;
	for (size_t i = 0; i < ws->route_count; i++) {
		if (!ws->routes[i].path)
			other = &ws->routes[i];
		else if (strcmp(ws->routes[i].path, path) == 0)
			return &ws->routes[i];
	}
	return strncmp(path, UPDATE_PATH, strlen(UPDATE_PATH)) == 0 ? NULL : other;
}

/* The header of this name, all its lines: its length, 0 when there is none, -1 when it is longer than cap. */
static int copy_header(struct lws *wsi, const char *name, char *out, int cap)
{
	char with_colon[128];
	int  len;

	for (int token = 0; token < WSI_TOKEN_COUNT; token++) {
		const char *known = (const char *)lws_token_to_string((enum lws_token_indexes)token);
		size_t      n     = known ? strlen(known) : 0;

		/* The library's names end in a colon. */
		if (n > 1 && strlen(name) == n - 1 && strncasecmp(known, name, n - 1) == 0) {
			if (lws_hdr_total_length(wsi, (enum lws_token_indexes)token) == 0)
				return 0;
			len = lws_hdr_copy(wsi, out, cap, (enum lws_token_indexes)token);
			return len < 0 ? -1 : len;
		}
	}
	/* One it does not know is looked up among the others, in lower case. */
	text_format(with_colon, sizeof(with_colon), "%s:", name);
	for (char *p = with_colon; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	len = lws_hdr_custom_length(wsi, with_colon, (int)strlen(with_colon));
	if (len <= 0)
		return 0;
	len = lws_hdr_custom_copy(wsi, out, cap, with_colon, (int)strlen(with_colon));
	return len < 0 ? -1 : len;
}

/* Who the client is, by the value of the forwarding field; NULL: there is none. */
static void set_client(struct ws_conn *c, const char *value, size_t len)
{
	const struct ws *ws = c->ws;

	c->has_client = proxy_client(&c->client, &c->is_forwarded, &c->peer, &ws->trusted, value, len,
	                             M_PROXY_WS_SEEN) == ERR_OK;
	c->is_exempt  = !c->is_forwarded && !ws->conf->server_production && addr_is_loopback(&c->client);
}

/* Behind TLS only the library sees the head. */
static void set_client_from_library(struct ws_conn *c, struct lws *wsi)
{
	char field[FIELD_BYTES_MAX + 2];
	int  len = copy_header(wsi, c->ws->conf->http_client_address_header, field, sizeof(field));

	if (len < 0)
		set_client(c, field, sizeof(field)); /* longer than addr_client takes */
	else
		set_client(c, len > 0 ? field : NULL, (size_t)len);
}

/*
 * What the client offers, read as the library will read it. any: one of the names, for a part that does not care. False: no
 * list, or one that is longer than the library takes.
 */
static bool read_offer(struct lws *wsi, const char *wanted, char any[OFFER_NAME_BYTES], bool *has_wanted)
{
	char                list[OFFER_BYTES_MAX + 1], name[OFFER_NAME_BYTES];
	struct lws_tokenize t;
	int                 len = lws_hdr_copy(wsi, list, sizeof(list), WSI_TOKEN_PROTOCOL);

	any[0]      = '\0';
	*has_wanted = false;
	if (len < 0)
		return false;
	lws_tokenize_init(&t, list,
	                  LWS_TOKENIZE_F_COMMA_SEP_LIST | LWS_TOKENIZE_F_MINUS_NONTERM | LWS_TOKENIZE_F_DOT_NONTERM |
	                          LWS_TOKENIZE_F_RFC7230_DELIMS);
	t.len = (size_t)len;
	for (;;) {
		switch (lws_tokenize(&t)) {
		case LWS_TOKZE_TOKEN:
			if (lws_tokenize_cstr(&t, name, sizeof(name)))
				return false;
			memcpy(any, name, sizeof(name));
			if (wanted && strcmp(name, wanted) == 0)
				*has_wanted = true;
			break;
		case LWS_TOKZE_DELIMITER:
			break;
		case LWS_TOKZE_ENDED:
			return any[0] != '\0';
		default:
			return false;
		}
	}
}

/* Has the library find the part's subprotocol, or any for a part without. False: what is offered does not suit. */
static bool choose_subprotocol(struct ws_upgrader *u, struct lws *wsi, const struct ws_handler *h)
{
	bool has_wanted;

	/* An empty field has no length either, and the library takes it for none. */
	if (lws_hdr_total_length(wsi, WSI_TOKEN_PROTOCOL) == 0)
		return true;
	if (!read_offer(wsi, h->subprotocol, u->subprotocol, &has_wanted))
		return false;
	if (h->subprotocol)
		text_format(u->subprotocol, sizeof(u->subprotocol), "%s", h->subprotocol);
	return !h->subprotocol || has_wanted;
}

/* As on_upgrade_request. A query may hold anything, a token that was to be a secret for one. */
static int on_door_request(struct lws *wsi, struct ws_conn *c)
{
	char path[PATH_BYTES_MAX];

	if (lws_hdr_copy(wsi, path, sizeof(path), WSI_TOKEN_GET_URI) <= 0 || strcmp(path, c->ws->door.path) != 0)
		return refuse(wsi, c, "404 Not Found", M_WS_REFUSED_UPGRADE);
	if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_URI_ARGS) > 0 ||
	    !choose_subprotocol(c->ws->upgrader, wsi, c->ws->door.handler))
		return refuse(wsi, c, "400 Bad Request", M_WS_REFUSED_UPGRADE);
	ws_conn_route(c, &c->ws->door_route);
	return 0;
}

/* 0: let the library go on; -1: hang up, after an answer. */
static int on_upgrade_request(struct lws *wsi, struct ws_conn *c)
{
	const struct ws_route *route;
	enum metric            why;

	if (!c || !asks_for_websocket(wsi))
		return refuse(wsi, c, "400 Bad Request", M_WS_REFUSED_UPGRADE);
	if (c->at_door)
		return on_door_request(wsi, c);
	if (!has_good_origin(c->ws, wsi))
		return refuse(wsi, c, "403 Forbidden", M_WS_REFUSED_ORIGIN);
	route = find_route(c->ws, wsi);
	if (!route)
		return refuse(wsi, c, "404 Not Found", M_WS_REFUSED_UPGRADE);
	if (!choose_subprotocol(c->ws->upgrader, wsi, route->handler))
		return refuse(wsi, c, "400 Bad Request", M_WS_REFUSED_UPGRADE);
	if (lws_is_ssl(wsi))
		set_client_from_library(c, wsi);
	if (!c->has_client)
		return refuse(wsi, c, "400 Bad Request", M_WS_REFUSED_FORWARDED);
	if (ban_has_address(&c->client))
		return refuse(wsi, c, "403 Forbidden", M_BAN_REFUSED_WS);
	if (!ws_admit_client(c, &why, loop_now_ms(c->ws->loop)))
		return refuse(wsi, c, "503 Service Unavailable", why);
	ws_conn_route(c, route);
	return 0;
}

/* It has found the name; what it answers with is what stands there now, and nothing when that is empty. */
static int on_subprotocol(struct ws_conn *c)
{
	if (!c || !c->handler)
		return -1;
	if (!c->handler->subprotocol)
		c->ws->upgrader->subprotocol[0] = '\0';
	return 0;
}

static int on_established(struct lws *wsi, struct ws_conn *c)
{
	if (!c || !c->handler)
		return -1;
	ws_conn_open(c, lws_get_ssl(wsi), loop_now_ms(c->ws->loop));
	return 0;
}

/* The library is through with the socket; when that was its own decision, so is the connection. */
static int on_destroyed(struct lws *wsi, struct ws_conn *c)
{
	lws_set_opaque_user_data(wsi, NULL);
	if (!c)
		return 0;
	c->wsi = NULL;
	ws_conn_end(c, M_WS_CLOSED_PEER, false);
	return 0;
}

static int on_library(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct ws_conn *c = wsi ? conn_of(wsi) : NULL;

	(void)user;
	switch (reason) {
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return on_upgrade_request(wsi, c);
	case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
		return on_subprotocol(c);
	case LWS_CALLBACK_ESTABLISHED:
		return on_established(wsi, c);
	case LWS_CALLBACK_WSI_DESTROY:
		return on_destroyed(wsi, c);
	case LWS_CALLBACK_HTTP: /* no upgrade at all */
		return refuse(wsi, c, "400 Bad Request", M_WS_REFUSED_UPGRADE);
	case LWS_CALLBACK_RECEIVE:
		/* A frame right behind the head, where no client should send one yet, was read with it. */
		if (c && lws_is_first_fragment(wsi) && lws_is_final_fragment(wsi) && !lws_remaining_packet_payload(wsi))
			return ws_conn_on_early_message(c, in, len, !lws_frame_is_binary(wsi)) ? 0 : -1;
		return -1;
	case LWS_CALLBACK_RAW_ADOPT: /* CONNECT, and what is no HTTP */
	case LWS_CALLBACK_RAW_RX:
		return -1;
	case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
		/* About no connection: wsi is a stand-in that has a context. */
		ws_tls_set_up(((struct ws_upgrader *)lws_context_user(lws_get_context(wsi)))->ws, user);
		return 0;
	default:
		return 0;
	}
}

/* The first is for who offers no subprotocol; no offer can have a name like that. */
static void name_protocols(struct ws_upgrader *u)
{
	u->protocols[0] = (struct lws_protocols){ .name = "(none)", .callback = on_library, .rx_buffer_size = 256 };
	u->protocols[1] =
		(struct lws_protocols){ .name = u->subprotocol, .callback = on_library, .rx_buffer_size = 256 };
}

/* No pings and no hang-ups of the library's own: it sees nothing of an open connection, and would take it for dead. */
static const lws_retry_bo_t no_idle_policy = { 0 };

/* The library unloads its libuv glue while libuv still has calls into it to make: this keeps it in memory. */
static bool pin_event_library(void)
{
	static void *pinned;

	if (!pinned)
		pinned = dlopen("libwebsockets-evlib_uv.so", RTLD_NOW | RTLD_NODELETE);
	return pinned;
}

static void fill_info(struct lws_context_creation_info *info, const struct ws *ws, void **loops)
{
	*info                       = (struct lws_context_creation_info){ 0 };
	info->port                  = CONTEXT_PORT_NO_LISTEN_SERVER;
	info->protocols             = ws->upgrader->protocols;
	info->vhost_name            = "plain";
	info->user                  = ws->upgrader;
	info->foreign_loops         = loops;
	info->options               = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
	info->pt_serv_buf_size      = HEAD_BYTES_MAX + 4096;
	info->max_http_header_data2 = HEAD_BYTES_MAX;
	/* Made when needed, so that everybody can come back at once after a proxy was restarted. */
	info->max_http_header_pool2 = (unsigned)ws->limits->ws_connections + HEADER_POOL_SPARES;
	info->retry_and_idle_policy = &no_idle_policy;
	/* The deadline of a handshake is ours. */
	info->timeout_secs         = (unsigned)(ws->limits->ws_upgrade_ms / 1000) + LATER_SECONDS;
	info->timeout_secs_ah_idle = info->timeout_secs;
	info->alpn                 = "http/1.1"; /* or a client could ask for HTTP/2, which is none of our business */
	info->gid                  = -1;
	info->uid                  = -1;
}

static struct lws_vhost *add_tls(struct ws_upgrader *u, struct lws_context_creation_info *info)
{
	info->vhost_name               = "tls";
	info->ssl_cert_filepath        = u->ws->conf->tls_cert;
	info->ssl_private_key_filepath = u->ws->conf->tls_key;
	return lws_create_vhost(u->context, info);
}

enum err ws_upgrader_init(struct ws *ws)
{
	void                            *loops[] = { loop_uv(ws->loop) };
	bool                             tls     = ws->conf->tls_cert[0] != '\0';
	struct lws_context_creation_info info;
	struct ws_upgrader              *u = calloc(1, sizeof(*u));

	if (!u)
		return ERR_NOMEM;
	u->ws        = ws;
	ws->upgrader = u;
	name_protocols(u);
	lws_set_log_level(0, NULL);
	fill_info(&info, ws, loops);
	if (tls)
		info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
	if (pin_event_library())
		u->context = lws_create_context(&info);
	if (u->context)
		u->plain = lws_create_vhost(u->context, &info);
	if (u->plain && tls)
		u->tls = add_tls(u, &info);
	if (!u->plain || (tls && !u->tls)) {
		log_error("ws", 0, "starts", "not: libwebsockets with its libuv event library does not start");
		ws_upgrader_fini(ws);
		return ERR_INTERNAL;
	}
	return ERR_OK;
}

void ws_upgrader_fini(struct ws *ws)
{
	struct ws_upgrader *u = ws->upgrader;

	if (!u)
		return;
	if (u->context) {
		/* Twice, with turns of the loop after it: first it closes its handles, then it frees itself. */
		lws_context_destroy(u->context);
		loop_settle(ws->loop);
		lws_context_destroy(u->context);
	}
	free(u);
	ws->upgrader = NULL;
}

bool ws_upgrade_begin(struct ws_conn *c, int fd, bool tls)
{
	struct ws_upgrader *u = c->ws->upgrader;
	struct lws         *wsi;

	/* The library calls back about the socket before it has told us its name for it. */
	u->adopting = c;
	wsi         = lws_adopt_socket_vhost(tls ? u->tls : u->plain, fd); /* it owns fd now, also on failure */
	u->adopting = NULL;
	if (!wsi)
		return false;
	lws_set_opaque_user_data(wsi, c);
	c->wsi = wsi;
	if (!tls) {
		lws_rx_flow_control(wsi, 0);
		/* Each time more has come, not as long as something is there. */
		ws_conn_watch(c, EPOLLIN | EPOLLRDHUP | EPOLLET);
	}
	return true;
}

/* In 4.1.6 a field whose name is the beginning of one that the library knows takes the line behind it with it. */
static bool is_known_beginning(const char *line, size_t len)
{
	bool begins = false;

	for (int token = 0; token < WSI_TOKEN_COUNT; token++) {
		const char *known = (const char *)lws_token_to_string((enum lws_token_indexes)token);

		if (!known || strncasecmp(known, line, len) != 0)
			continue;
		if (strlen(known) == len + 1)
			return false; /* it is one itself */
		begins = true;
	}
	return begins;
}

static bool has_lost_line(const char *head, size_t len)
{
	const char *end = head + len;
	const char *at  = memchr(head, '\n', len);

	for (; at && ++at < end; at = memchr(at, '\n', (size_t)(end - at))) {
		const char *colon = memchr(at, ':', (size_t)(end - at));

		if (colon && is_known_beginning(at, (size_t)(colon - at)))
			return true;
	}
	return false;
}

/* The library would wait for more of a head that is none: the answer is ours, and what was looked at is taken. */
static void refuse_unread(struct ws_conn *c, char *head, size_t len)
{
	static const char answer[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

	(void)!recv(c->fd, head, len, 0);
	(void)!send(c->fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
	ws_conn_end(c, M_WS_REFUSED_UPGRADE, false);
}

void ws_upgrade_peek(struct ws_conn *c, uint32_t events)
{
	char             head[HEAD_BYTES_MAX];
	struct http_head fields;
	ssize_t          n;
	size_t           end;

	do
		n = recv(c->fd, head, sizeof(head), MSG_PEEK);
	while (n < 0 && errno == EINTR); /* nothing would tell of these bytes again */
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	if (n <= 0) {
		ws_conn_end(c, M_WS_CLOSED_PEER, false);
		return;
	}
	end = ws_peek_end(head, (size_t)n);
	if (end == 0 && (size_t)n < sizeof(head)) {
		/* Peeking shows what came before the end of TCP for ever, and never the end. */
		if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			ws_conn_end(c, M_WS_CLOSED_PEER, false);
		return;
	}

	if (c->at_door)
		ws_door_note(c, head, end);
	if (end == 0 || has_lost_line(head, end) ||
	    ws_peek_fields(&fields, head, end, c->ws->conf->http_client_address_header) != ERR_OK) {
		refuse_unread(c, head, (size_t)n);
		return;
	}
	if (!c->at_door)
		set_client(c, fields.has_forwarded ? fields.forwarded : NULL, fields.forwarded_len);
	ws_conn_watch(c, 0);
	lws_rx_flow_control(c->wsi, 1);
}

void ws_upgrade_park(struct ws_conn *c)
{
	if (c->wsi)
		lws_rx_flow_control(c->wsi, 0);
}

void ws_upgrade_end(struct ws_conn *c, bool reset)
{
	struct ws_upgrader *u   = c->ws->upgrader;
	struct linger       now = { .l_onoff = 1, .l_linger = 0 };

	if (!c->wsi)
		return;
	if (reset)
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	lws_set_opaque_user_data(c->wsi, NULL);
	lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
	c->wsi       = NULL;
	u->has_ended = true;
}

void ws_upgrade_settle(struct ws *ws)
{
	struct ws_upgrader *u = ws->upgrader;

	/* It kills when its timers are looked at, and on libuv they are looked at only after something happened to it. */
	if (u->has_ended)
		lws_cancel_service(u->context);
	u->has_ended = false;
}

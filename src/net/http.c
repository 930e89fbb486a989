/*
 * HTTP servers over libmicrohttpd.
 *
 * The library's callbacks are doorways. In the order in which they come for one connection:
 *
 *	on_connection	accepted: a slot in the table (the listener's thread)
 *	on_first_line	a request begins (from here on the connection's own thread)
 *	on_request	the head is there: refuse it, or say nothing; then for each piece of a body; once more when the
 *			request is whole: answer
 *	on_completed	the answer was sent, or the connection broke; the next request, or a close, follows
 *	on_connection	closed: the slot's end (the listener's thread)
 *
 * A refusal is queued in the first of these calls, since the library drops the connection when an answer comes while
 * it reads a body; whatever is queued there closes the connection. Handlers run in the last one. An answer that is a
 * stream is read between it and on_completed.
 */
#include "net/http_request.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "conf/conf_lock.h"
#include "os/clock.h"
#include "os/log.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * A connection's memory besides its head; of both together, half is what is read at once. With the usual limit of a head
 * that is 32 KiB, the most for which the library asks the heap. More it maps, and clears, anew for each connection, and a
 * small request costs twice as much.
 */
#define MEMORY_BYTES (16 * 1024)

#define STACK_BYTES      (256 * 1024)
#define UNSENT_BYTES     (128 * 1024)
#define STOP_MS          2000
#define LINGER_BYTES_MAX (1024 * 1024)
#define LINGER_WAIT_MS   2000

struct http_listener {
	struct http_server *server;
	int                 fd;
	bool                is_tls;
	struct MHD_Daemon  *daemon;
	bool                is_quiet;
};

/* --- The library's callbacks --- */

/* NULL when there was no memory for it; such a connection was shut down. */
static struct http_request *request_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static int fd_of(struct MHD_Connection *mhd)
{
	return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/* The library does not say how long the address is that it kept: its family does. */
static struct addr peer_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr          *sa   = info ? info->client_addr : NULL;
	struct addr                     peer = { .family = ADDR_NONE };

	if (sa && sa->sa_family == AF_INET)
		addr_of_sockaddr(&peer, sa, sizeof(struct sockaddr_in));
	else if (sa && sa->sa_family == AF_INET6)
		addr_of_sockaddr(&peer, sa, sizeof(struct sockaddr_in6));
	else if (sa && sa->sa_family == AF_UNIX)
		addr_of_sockaddr(&peer, sa, sizeof(sa->sa_family));
	return peer;
}

static void enter(struct http_listener *l, struct MHD_Connection *mhd, void **context)
{
	struct http_server  *s    = l->server;
	struct http_request *rq   = calloc(1, sizeof(*rq));
	int                  fd   = fd_of(mhd);
	struct addr          peer = peer_of(mhd);

	if (!rq) {
		shutdown(fd, SHUT_RDWR);
		return;
	}
	rq->server = s;
	rq->mhd    = mhd;
	if (l->is_tls)
		http_session_begin(&rq->session, &s->tls, mhd);
	http_table_enter(&s->table, &rq->slot, fd, &peer);
	*context = rq;
}

static void count_failed_handshake(const struct http_request *rq)
{
	char client[ADDR_TEXT_BYTES];

	metric_inc(M_HTTP_TLS_FAILED);
	if (!log_is_on(LOG_DEBUG))
		return;
	addr_text_log(client, &rq->slot.peer);
	log_debug("http", rq->slot.id, "shakes-no-hands", "server=%s client=%s", rq->server->cfg.name, client);
}

/*
 * Newcomers are closed unseen while so many have a descriptor, those that are on their way out included: one number for
 * all listeners, so that it is known how many descriptors HTTP can take. Each listener may be one late.
 */
static enum MHD_Result on_accept(void *arg, const struct sockaddr *peer, socklen_t len)
{
	const struct http_server *s = arg;
	struct addr               from;

	addr_of_sockaddr(&from, peer, len);
	if (!s->cfg.takes_banned && ban_has_address(&from)) {
		metric_inc(M_BAN_REFUSED_HTTP);
		return MHD_NO;
	}
	return atomic_load(&s->open) < s->cfg.connections_max + s->cfg.leaving_max ? MHD_YES : MHD_NO;
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
	struct http_listener *l  = arg;
	struct http_request  *rq = *context;

	atomic_fetch_add(&l->server->open, what == MHD_CONNECTION_NOTIFY_STARTED ? 1 : -1);
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		enter(l, mhd, context);
	} else if (rq) {
		if (!http_session_end(&rq->session))
			count_failed_handshake(rq);
		http_table_leave(&l->server->table, &rq->slot);
		free(rq->query);
		free(rq);
		*context = NULL;
	}
}

/* The library takes it apart where it lies. Without memory there is none, as if it had not been sent. */
static void keep_query(struct http_request *rq, const char *mark)
{
	free(rq->query);
	rq->query = mark ? strdup(mark + 1) : NULL;
}

static void *on_first_line(void *arg, const char *uri, struct MHD_Connection *mhd)
{
	struct http_server  *s  = arg;
	struct http_request *rq = request_of(mhd);

	if (rq) {
		rq->began_us   = clock_lap_us();
		rq->target     = uri;
		rq->line_bytes = strlen(uri); /* here it has its query still */
		keep_query(rq, strchr(uri, '?'));
		http_table_hear(&s->table, &rq->slot);
	}
	return NULL;
}

/* *state is NULL in the first call for a request. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *mhd, const char *path, const char *method,
                                  const char *version, const char *data, size_t *len, void **state)
{
	struct http_request *rq = request_of(mhd);

	size_t came = *len;

	(void)arg;
	if (!rq)
		return MHD_NO;
	if (!*state) {
		*state     = rq;
		rq->method = method;
		rq->path   = path;
		return http_request_begin(rq, version);
	}
	if (came == 0)
		return http_request_finish(rq);
	*len = 0; /* taken */
	return http_request_data(rq, data, came);
}

/*
 * A close while bytes of the peer are unread makes the kernel send a reset, and a reset can destroy the answer before
 * the peer has read it. So the peer is told that nothing more comes, and what it still sends is read and forgotten, for
 * a while.
 */
static void linger(struct http_request *rq)
{
	char          sink[4096];
	struct pollfd p    = { .fd = rq->slot.fd, .events = POLLIN };
	size_t        seen = 0;

	if (!http_table_move(&rq->server->table, &rq->slot, HTTP_LINGERING))
		return;
	if (rq->session.is_tls)
		http_session_close(rq->mhd);
	shutdown(p.fd, SHUT_WR);
	while (seen < LINGER_BYTES_MAX && poll(&p, 1, LINGER_WAIT_MS) > 0) {
		ssize_t n = recv(p.fd, sink, sizeof(sink), MSG_DONTWAIT);

		if (n <= 0)
			break;
		seen += (size_t)n;
	}
}

/* Whether the peer may have said more than was read. Who sent a small body as he should is not waited for. */
static bool has_rest(const struct http_request *rq)
{
	return rq->has_body && (!rq->is_whole || http_request_has_unread(rq));
}

static void count_answer(unsigned status)
{
	static const enum metric by_class[] = { M_HTTP_REQUESTS_2XX, M_HTTP_REQUESTS_3XX, M_HTTP_REQUESTS_4XX,
		                                M_HTTP_REQUESTS_5XX };

	if (status >= 200 && status < 600)
		metric_inc(by_class[status / 100 - 2]);
}

static void log_answer(const struct http_request *rq, bool known, unsigned status)
{
	char client[ADDR_TEXT_BYTES], path[128] = "?";

	if (!log_is_on(LOG_DEBUG))
		return;
	addr_text_log(client, known ? &rq->client : &rq->slot.peer);
	if (known)
		text_escape(path, sizeof(path), rq->path, strlen(rq->path));
	log_debug("http", rq->slot.id, "answers", "server=%s client=%s path=\"%s\" status=%u ms=%lld",
	          rq->server->cfg.name, client, path, status, (long long)(clock_lap_us() - rq->began_us) / 1000);
}

/* *state is NULL when the library answered before on_request was called. */
static void on_completed(void *arg, struct MHD_Connection *mhd, void **state, enum MHD_RequestTerminationCode why)
{
	struct http_server             *s    = arg;
	struct http_request            *rq   = request_of(mhd);
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_HTTP_STATUS);
	bool                            sent = why == MHD_REQUEST_TERMINATED_COMPLETED_OK;
	bool                            ours = *state != NULL;

	if (!rq)
		return;
	if (info && ours && !rq->transfer.is_counted)
		metric_observe(H_HTTP_REQUEST, clock_lap_us() - rq->began_us);
	http_request_close(rq);
	if (info && (ours ? sent && has_rest(rq) : why == MHD_REQUEST_TERMINATED_WITH_ERROR))
		linger(rq);
	else
		http_table_move(&s->table, &rq->slot, HTTP_IDLE); /* also on its way to the close */
	rq->has_body = false;
	if (info) { /* who sees it counted sees the place free, too */
		count_answer(info->http_status);
		log_answer(rq, ours, info->http_status);
	}
}

/* %2f stays %2f, so that nobody's slash is taken for ours. */
static size_t keep_escapes(void *arg, struct MHD_Connection *mhd, char *text)
{
	(void)arg;
	(void)mhd;
	return strlen(text);
}

static void on_log(void *arg, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

static void on_log(void *arg, const char *format, va_list args)
{
	struct http_server *s = arg;
	char                text[256], line[512];

	if (!log_is_on(LOG_DEBUG))
		return;
	text_formatv(text, sizeof(text), format, args);
	text_escape(line, sizeof(line), text, strcspn(text, "\n"));
	log_debug("http", 0, "library", "server=%s says=\"%s\"", s->cfg.name, line);
}

/* --- Start and stop --- */

static struct MHD_Daemon *start_daemon(struct http_listener *l)
{
	static struct MHD_OptionItem plain[] = { { MHD_OPTION_END, 0, NULL } };

	struct http_server *s = l->server;
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC |
	                 MHD_USE_ERROR_LOG | (l->is_tls ? MHD_USE_TLS : 0);
	unsigned most = (unsigned)(s->cfg.connections_max + s->cfg.leaving_max);

	return MHD_start_daemon(flags, 0, on_accept, s, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, s,
	                        MHD_OPTION_LISTEN_SOCKET, l->fd, MHD_OPTION_CONNECTION_LIMIT, most,
	                        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)s->conf->limits.http_head + MEMORY_BYTES,
	                        MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
	                        on_connection, l, MHD_OPTION_URI_LOG_CALLBACK, on_first_line, s,
	                        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_UNESCAPE_CALLBACK,
	                        keep_escapes, s, MHD_OPTION_ARRAY, l->is_tls ? http_tls_options : plain,
	                        MHD_OPTION_END);
}

/*
 * What accepted sockets inherit. The kernel would keep megabytes for a reader who is slow on a short way; this holds for
 * what is not sent yet, so one who is fast on a long way has as much under way as before. Unix sockets do not know it.
 */
static void tune(int fd)
{
	int unsent = UNSENT_BYTES;

	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

static enum err start_daemons(struct http_server *s)
{
	for (size_t i = 0; i < s->listener_count; i++) {
		struct http_listener *l = &s->listeners[i];

		tune(l->fd);
		l->daemon = start_daemon(l);
		if (l->daemon)
			continue;
		log_error("http", 0, "fails", "server=%s cannot start its threads: %s", s->cfg.name, strerror(errno));
		l->fd = -1; /* whether the library closed it is not said, and closing twice is worse than never */
		return ERR_IO;
	}
	return ERR_OK;
}

static enum err start_table(struct http_server *s)
{
	struct http_table_config cfg = {
		.name            = s->cfg.name,
		.slots_max       = (size_t)s->cfg.connections_max,
		.per_address_max = (size_t)s->cfg.per_address_max,
		.unlimited       = &s->trusted,
		.request_ms      = s->conf->limits.http_request_ms,
		.idle_ms         = s->conf->limits.http_idle_ms,
		.push_ms         = s->conf->limits.http_answer_push_ms,
		.rate            = s->conf->limits.http_transfer_rate,
		.rate_ms         = s->conf->limits.http_transfer_rate_ms,
	};

	return http_table_init(&s->table, &cfg);
}

void http_accept_end(struct http_server *s)
{
	for (size_t i = 0; i < s->listener_count; i++) {
		struct http_listener *l = &s->listeners[i];

		if (l->daemon && !l->is_quiet)
			MHD_quiesce_daemon(l->daemon);
		l->is_quiet = true;
	}
}

static void stop_threads(struct http_server *s)
{
	http_accept_end(s);
	http_table_stop(&s->table, STOP_MS);
	/* The sockets are closed after the daemons ended: until then a thread of theirs may be about to accept. */
	for (size_t i = 0; i < s->listener_count; i++)
		MHD_stop_daemon(s->listeners[i].daemon);
	http_table_fini(&s->table);
}

/*
 * The threads that are made here, and those that they make, take no signals: signals are the loop's. Faults of a
 * thread's own are left alone, or nobody would hear of them.
 */
static enum err start_threads(struct http_server *s)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP };

	sigset_t all, before;
	enum err e;

	sigfillset(&all);
	for (size_t i = 0; i < COUNT_OF(faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = start_table(s);
	if (e == ERR_OK) {
		e = start_daemons(s);
		if (e != ERR_OK)
			stop_threads(s);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return e;
}

/* Its threads have ended or never began. */
static void free_server(struct http_server *s)
{
	for (size_t i = 0; i < s->listener_count; i++) {
		if (s->listeners[i].fd >= 0)
			close(s->listeners[i].fd);
	}
	free(s->listeners);
	http_transfers_fini(&s->transfers);
	http_tls_fini(&s->tls);
	addr_nets_fini(&s->trusted);
	free(s);
}

static struct http_server *new_server(const struct http_config *cfg, const struct conf *conf,
                                      const struct http_listen *on, size_t count, const struct http_cert *cert)
{
	struct http_server   *s         = calloc(1, sizeof(*s));
	struct http_listener *listeners = calloc(count ? count : 1, sizeof(*listeners));

	if (!s || !listeners) {
		for (size_t i = 0; i < count; i++)
			close(on[i].fd);
		free(listeners);
		free(s);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		listeners[i] = (struct http_listener){ .server = s, .fd = on[i].fd, .is_tls = on[i].is_tls };
	s->cfg  = *cfg;
	s->conf = conf;
	if (s->cfg.leaving_max == 0)
		s->cfg.leaving_max = HTTP_LEAVING_MAX;
	s->listeners      = listeners;
	s->listener_count = count;
	http_transfers_init(&s->transfers, (size_t)conf->limits.http_transfers,
	                    (size_t)conf->limits.http_transfers_per_address);
	http_tls_init(&s->tls, cert);
	return s;
}

enum err http_start(struct http_server **out, const struct http_config *cfg, const struct conf *conf,
                    const struct http_listen *on, size_t count, const struct http_cert *cert)
{
	struct http_server *s = new_server(cfg, conf, on, count, cert);
	enum err            e;

	if (!s)
		return ERR_NOMEM;
	e = addr_nets_parse(&s->trusted, conf->http_trusted_proxies.words, conf->http_trusted_proxies.count);
	if (e == ERR_OK)
		e = start_threads(s);
	if (e != ERR_OK) {
		free_server(s);
		return e;
	}
	*out = s;
	return ERR_OK;
}

void http_stop(struct http_server *s)
{
	stop_threads(s);
	free_server(s);
}

void http_poke(struct http_server *s)
{
	http_table_sweep(&s->table);
}

size_t http_ban(struct http_server *s, const struct ban *b, bool end)
{
	return s->cfg.takes_banned ? 0 : http_table_ban(&s->table, b, end);
}

void http_reload(struct http_server *s)
{
	struct addr_nets fresh, old;

	if (addr_nets_parse(&fresh, s->conf->http_trusted_proxies.words, s->conf->http_trusted_proxies.count) != ERR_OK)
		return;
	conf_hold_alone();
	old        = s->trusted;
	s->trusted = fresh;
	conf_let_go();
	addr_nets_fini(&old);
}

void http_cert_use(struct http_server *s, const struct http_cert *cert)
{
	if (cert)
		http_tls_change(&s->tls, cert);
}

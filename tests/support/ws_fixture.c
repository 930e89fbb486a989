#include "support/ws_fixture.h"

#include "net/listen.h"
#include "support/dial.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char empty[]       = "";
static char header_name[] = "X-Forwarded-For";
static char proxy[]       = WS_FIXTURE_PROXY;

static char *proxies[] = { proxy };

/* What the handler knows of one connection. */
struct echo {
	struct ws_fixture *fixture;
	struct ws_conn    *conn;
	size_t             number;
};

static void *on_opened(void *part, struct ws_conn *c, int64_t now_ms)
{
	struct ws_fixture *f = part;
	struct echo       *e = malloc(sizeof(*e));

	(void)now_ms;
	if (f->refuses || f->conn_count == WS_FIXTURE_CONNS_MAX) {
		free(e);
		return NULL;
	}
	*e = (struct echo){ .fixture = f, .conn = c, .number = f->conn_count };

	f->conns[f->conn_count++] = c;
	f->opened++;
	return e;
}

static void on_message(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct echo *e = data;

	(void)now_ms;
	e->fixture->messages++;
	if (bytes[0] == 'H') {
		ws_hand_over(e->conn, e->fixture->taker, e->conn);
		free(e);
		return;
	}
	if (bytes[0] == 'P')
		ws_pause(e->conn);
	if (bytes[0] == 'X')
		ws_close(e->conn);
	else if (bytes[0] == 'C' || bytes[0] == 'P')
		ws_send(e->conn, bytes, len);
	else
		ws_send_datagram(e->conn, bytes[0], bytes, 1, bytes + 1, len - 1);
}

static void on_closed(void *data, int64_t now_ms)
{
	struct echo *e = data;

	(void)now_ms;
	e->fixture->conns[e->number] = NULL;
	e->fixture->closed++;
	free(e);
}

static struct ws_handler handler = { .opened = on_opened, .message = on_message, .closed = on_closed };

void ws_fixture_init(struct ws_fixture *f)
{
	memset(f, 0, sizeof(*f));
	loop_thread_init(&f->on);
	limits_default(&f->conf.limits);
	f->conf.http_client_address_header = header_name;
	f->conf.http_trusted_proxies       = (struct conf_list){ .words = proxies, .count = 1 };
	f->conf.tls_cert = f->conf.tls_key = empty;
}

static int listen_on(struct ws_fixture *f, bool tls)
{
	struct addr bound;
	int         fd;

	cr_assert_eq(listen_tcp(&fd, &bound, "127.0.0.1:0", stderr), ERR_OK);
	cr_assert_eq(ws_listen(f->ws, fd, tls), ERR_OK);
	return bound.port;
}

void ws_fixture_start(struct ws_fixture *f)
{
	cr_assert_eq(ws_new(&f->ws, f->on.loop, &f->conf, stderr), ERR_OK);
	handler.part = f;
	ws_route(f->ws, NULL, &handler);
	f->port = listen_on(f, false);
	if (f->conf.tls_cert[0])
		f->tls_port = listen_on(f, true);
	loop_thread_start(&f->on);
}

struct call {
	struct ws_fixture *fixture;
	void (*what)(struct ws_fixture *f, void *arg);
	void *arg;
};

static void run_call(void *arg)
{
	struct call *c = arg;

	c->what(c->fixture, c->arg);
}

void ws_fixture_do(struct ws_fixture *f, void (*what)(struct ws_fixture *f, void *arg), void *arg)
{
	struct call c = { .fixture = f, .what = what, .arg = arg };

	loop_thread_do(&f->on, run_call, &c);
}

void ws_fixture_advance(struct ws_fixture *f, int64_t ms)
{
	loop_thread_advance(&f->on, ms);
}

static void stopped(void *loop)
{
	loop_stop(loop);
}

static void stop(void *arg)
{
	struct ws_fixture *f = arg;

	ws_stop(f->ws, stopped, f->on.loop);
}

void ws_fixture_stop(struct ws_fixture *f)
{
	if (f->on.runs)
		loop_thread_do(&f->on, stop, f);
	loop_thread_join(&f->on);
	ws_free(f->ws);
	f->ws = NULL;
	loop_thread_fini(&f->on);
}

void ws_fixture_await(enum metric metric, int64_t value)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;

	while (metric_get(metric) != value && real_now_ms() < until)
		real_sleep_ms(1);
	cr_assert_eq(metric_get(metric), value, "metric %d is %lld and not %lld", (int)metric,
	             (long long)metric_get(metric), (long long)value);
}

int ws_fixture_dial(const struct ws_fixture *f, const char *from)
{
	struct sockaddr_in me = { .sin_family = AF_INET }, to = { .sin_family = AF_INET };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_port        = htons((uint16_t)f->port);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(inet_pton(AF_INET, from, &me.sin_addr), 1);
	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&me, sizeof(me)), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

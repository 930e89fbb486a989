#include "support/tcp_fixture.h"

#include "net/listen.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static char empty[] = "";

static void put(struct tcp_echo *e, const void *bytes, size_t len)
{
	if (len > 0) {
		e->out = realloc(e->out, e->len + len);
		cr_assert_not_null(e->out);
		memcpy(e->out + e->len, bytes, len);
		e->len += len;
	}
	tcp_wake(e->conn);
}

static void pause_echo(struct tcp_echo *e)
{
	e->is_paused = true;
	tcp_pause(e->conn);
}

static void forget(struct tcp_echo *e)
{
	e->fixture->conns[e->number] = NULL;
	free(e->out);
	free(e);
}

static void take(struct tcp_echo *e)
{
	struct tcp_fixture *f  = e->fixture;
	int                 fd = tcp_take(e->conn);

	if (fd < 0) {
		f->untaken++;
		return;
	}
	forget(e);
	f->taken_fd = fd;
	f->taken++;
}

static void do_to(struct tcp_echo *e, char what)
{
	if (what == 'X')
		tcp_close(e->conn);
	else if (what == 'T')
		take(e);
}

static void *on_accepted(void *part, struct tcp_conn *c, int64_t now_ms)
{
	struct tcp_fixture *f = part;
	struct tcp_echo    *e;

	(void)now_ms;
	if (f->refuses || f->conn_count == TCP_FIXTURE_CONNS_MAX) {
		f->refused++;
		return NULL;
	}
	e = calloc(1, sizeof(*e));
	cr_assert_not_null(e);
	*e = (struct tcp_echo){ .fixture = f, .conn = c, .number = f->conn_count };

	f->conns[f->conn_count++] = e;
	f->accepted++;
	if (f->greeting)
		put(e, f->greeting, strlen(f->greeting));
	if (f->pauses)
		pause_echo(e);
	do_to(e, f->does_when_accepted);
	return e; /* taken, it is used no more */
}

static void do_to_another(struct tcp_echo *e, uint8_t what)
{
	if (what == 'K')
		tcp_reset(e->conn);
	else if (what == 'W')
		pause_echo(e);
	else
		take(e);
}

static void on_bytes(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct tcp_echo    *e = data;
	struct tcp_fixture *f = e->fixture;

	(void)now_ms;
	cr_assert_not(e->is_paused);
	cr_assert_not(e->has_ended);
	f->bytes += len;
	if (len > f->bytes_at_once)
		f->bytes_at_once = len;
	if (bytes[0] == 'N')
		return;
	if (bytes[0] == 'R') {
		tcp_reset(e->conn);
	} else if (bytes[0] == 'X') {
		put(e, bytes + 1, len - 1);
		tcp_close(e->conn);
	} else if (bytes[0] == 'F') {
		for (int i = 0; i < 2; i++) {
			put(e, bytes + 1, len - 1);
			tcp_flush(e->conn);
		}
	} else if (bytes[0] == 'P') {
		put(e, bytes + 1, len - 1);
		pause_echo(e);
	} else if (bytes[0] == 'T') {
		take(e);
	} else if (memchr("KWG", bytes[0], 3) && len > 1) {
		if (f->conns[bytes[1]])
			do_to_another(f->conns[bytes[1]], bytes[0]);
	} else {
		put(e, bytes, len);
	}
}

static size_t on_fetch(void *data, struct iovec *pieces, size_t count)
{
	struct tcp_echo *e    = data;
	size_t           size = e->fixture->piece_bytes ? e->fixture->piece_bytes : e->len;
	size_t           used = 0;

	for (size_t at = 0; at < e->len && used < count; at += size) {
		size_t left    = e->len - at;
		pieces[used++] = (struct iovec){ .iov_base = e->out + at, .iov_len = left < size ? left : size };
	}
	return used;
}

static void on_sent(void *data, size_t bytes, int64_t now_ms)
{
	struct tcp_echo *e = data;

	(void)now_ms;
	cr_assert_leq(bytes, e->len);
	memmove(e->out, e->out + bytes, e->len - bytes);
	e->len -= bytes;
	e->fixture->sent += bytes;
	e->fixture->writes++;
	do_to(e, e->fixture->does_when_sent);
}

static void on_ended(void *data, int64_t now_ms)
{
	struct tcp_echo *e = data;

	(void)now_ms;
	cr_assert_not(e->is_paused);
	cr_assert_not(e->has_ended);
	e->has_ended = true;
	e->fixture->ended++;
	do_to(e, e->fixture->does_at_end);
}

static void on_ended_unread(void *data, int64_t now_ms)
{
	struct tcp_echo *e = data;

	(void)now_ms;
	cr_assert(e->is_paused);
	cr_assert_not(e->has_ended);
	e->fixture->ended_unread++;
	do_to(e, e->fixture->does_at_end);
}

static void on_closed(void *data, enum tcp_end why, int64_t now_ms)
{
	struct tcp_echo    *e = data;
	struct tcp_fixture *f = e->fixture;

	(void)now_ms;
	cr_assert_eq(f->conns[e->number], e, "closed once");
	forget(e);
	f->closed_as[why]++;
	f->closed++;
}

static struct tcp_handler handler = {
	.accepted = on_accepted, .bytes = on_bytes, .fetch = on_fetch, .sent = on_sent, .closed = on_closed
};

void tcp_fixture_init(struct tcp_fixture *f)
{
	memset(f, 0, sizeof(*f));
	signal(SIGPIPE, SIG_IGN); /* as in the server */
	loop_thread_init(&f->on);
	limits_default(&f->conf.limits);
	f->conf.tls_cert = f->conf.tls_key = empty;
	f->listen                          = (struct tcp_listen){ .handler              = &handler,
		                                                  .sndbuf_bytes         = 32768,
		                                                  .keepalive_idle_s     = 30,
		                                                  .keepalive_interval_s = 5,
		                                                  .keepalive_probes     = 9,
		                                                  .stall_ms             = TCP_FIXTURE_STALL_MS };
}

static int listen_on(struct tcp_fixture *f, bool is_tls)
{
	struct tcp_listen on = f->listen;
	struct addr       bound;
	int               fd;

	on.is_tls = is_tls;
	cr_assert_eq(listen_tcp(&fd, &bound, "127.0.0.1:0", stderr), ERR_OK);
	cr_assert_eq(tcp_listen(f->tcp, fd, &on), ERR_OK);
	return bound.port;
}

static void reload(void *arg)
{
	struct tcp_fixture *f = arg;
	struct tls_cert    *cert;

	cr_assert_eq(tls_cert_load(&cert, &f->conf, stderr), ERR_OK);
	tcp_cert_use(f->tcp, cert);
	tls_cert_free(cert);
}

void tcp_fixture_reload(struct tcp_fixture *f)
{
	loop_thread_do(&f->on, reload, f);
}

void tcp_fixture_start(struct tcp_fixture *f)
{
	cr_assert_eq(tcp_new(&f->tcp, f->on.loop, &f->conf), ERR_OK);
	handler.part         = f;
	handler.ended        = f->hears_ends ? on_ended : NULL;
	handler.ended_unread = f->hears_unread_ends ? on_ended_unread : NULL;
	f->port              = listen_on(f, false);
	reload(f);
	if (f->conf.tls_cert[0])
		f->tls_port = listen_on(f, true);
	loop_thread_start(&f->on);
}

static void stopped(void *loop)
{
	loop_stop(loop);
}

static void stop(void *arg)
{
	struct tcp_fixture *f = arg;

	tcp_stop(f->tcp, stopped, f->on.loop);
}

void tcp_fixture_begin_stop(struct tcp_fixture *f)
{
	if (f->on.runs && !f->stops)
		loop_thread_do(&f->on, stop, f);
	f->stops = true;
}

void tcp_fixture_stop(struct tcp_fixture *f)
{
	tcp_fixture_begin_stop(f);
	loop_thread_join(&f->on);
	tcp_free(f->tcp);
	f->tcp = NULL;
	loop_thread_fini(&f->on);
	cr_expect_eq(f->closed + f->taken, f->accepted, "each is told of its end");
}

int tcp_fixture_dial(struct tcp_fixture *f, int rcvbuf_bytes)
{
	size_t before = f->accepted;
	int    fd     = dial_tcp(f->port, rcvbuf_bytes);

	cr_assert_geq(fd, 0);
	tcp_fixture_await(&f->accepted, before + 1);
	return fd;
}

struct order {
	struct tcp_fixture *fixture;
	size_t              number;
	const uint8_t      *bytes;
	size_t              len, parts;
};

static void run_put(void *arg)
{
	struct order *o = arg;

	for (size_t i = 0; i < o->parts; i++) {
		size_t from = o->len * i / o->parts, to = o->len * (i + 1) / o->parts;

		put(o->fixture->conns[o->number], o->bytes + from, to - from);
	}
}

void tcp_fixture_put_parts(struct tcp_fixture *f, size_t number, const void *bytes, size_t len, size_t parts)
{
	struct order o = { .fixture = f, .number = number, .bytes = bytes, .len = len, .parts = parts };

	loop_thread_do(&f->on, run_put, &o);
}

void tcp_fixture_put(struct tcp_fixture *f, size_t number, const void *bytes, size_t len)
{
	tcp_fixture_put_parts(f, number, bytes, len, 1);
}

static void run_close(void *arg)
{
	struct order *o = arg;

	if (o->fixture->conns[o->number])
		tcp_close(o->fixture->conns[o->number]->conn);
}

void tcp_fixture_close(struct tcp_fixture *f, size_t number)
{
	struct order o = { .fixture = f, .number = number };

	loop_thread_do(&f->on, run_close, &o);
}

static void run_pause(void *arg)
{
	struct order *o = arg;

	pause_echo(o->fixture->conns[o->number]);
}

void tcp_fixture_pause(struct tcp_fixture *f, size_t number)
{
	struct order o = { .fixture = f, .number = number };

	loop_thread_do(&f->on, run_pause, &o);
}

static void run_resume(void *arg)
{
	struct order *o = arg;

	o->fixture->conns[o->number]->is_paused = false;
	tcp_resume(o->fixture->conns[o->number]->conn);
}

void tcp_fixture_resume(struct tcp_fixture *f, size_t number)
{
	struct order o = { .fixture = f, .number = number };

	loop_thread_do(&f->on, run_resume, &o);
}

static void run_take(void *arg)
{
	struct order *o = arg;

	take(o->fixture->conns[o->number]);
}

void tcp_fixture_take(struct tcp_fixture *f, size_t number)
{
	struct order o = { .fixture = f, .number = number };

	loop_thread_do(&f->on, run_take, &o);
}

static void run_reset(void *arg)
{
	struct order *o = arg;

	if (o->fixture->conns[o->number])
		tcp_reset(o->fixture->conns[o->number]->conn);
}

void tcp_fixture_reset(struct tcp_fixture *f, size_t number)
{
	struct order o = { .fixture = f, .number = number };

	loop_thread_do(&f->on, run_reset, &o);
}

void tcp_fixture_await(const _Atomic size_t *counter, size_t value)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;

	while (*counter != value && real_now_ms() < until)
		real_sleep_ms(1);
	cr_assert_eq(*counter, value, "it is %zu and not %zu", (size_t)*counter, value);
}

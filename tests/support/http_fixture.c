#include "support/http_fixture.h"

#include "base/metric.h"
#include "net/listen.h"
#include "os/clock.h"
#include "support/dial.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_BYTES_MAX 8192

static char header_name[] = "X-Forwarded-For";
static char proxy[]       = HTTP_FIXTURE_PROXY;

static char none[] = "";

static char *proxies[] = { proxy };

static int make_clock(void)
{
	char path[] = "/tmp/coopd-clock-XXXXXX";
	int  fd     = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, 16), 0);
	setenv("COOP_TEST_CLOCK", path, 1);
	clock_init();
	unlink(path);
	return fd;
}

void http_fixture_init(struct http_fixture *f)
{
	*f = (struct http_fixture){ .address = "127.0.0.1", .clock_fd = make_clock() };
	limits_default(&f->conf.limits);
	f->conf.http_client_address_header = header_name;
	f->conf.tls_cert                   = none;
	f->conf.tls_key                    = none;
	f->conf.http_trusted_proxies       = (struct conf_list){ .words = proxies, .count = 1 };
}

/* All of 127.0.0.0/8 is this machine, and clients come from several of its addresses. */
static struct http_listen listen_on(const char *address, int *port, bool is_tls)
{
	struct http_listen l = { .is_tls = is_tls };
	struct addr        bound;
	char               text[100];

	snprintf(text, sizeof(text), "%s:0", address);
	cr_assert_eq(listen_tcp(&l.fd, &bound, text, stderr), ERR_OK);
	*port = bound.port;
	return l;
}

void http_fixture_start(struct http_fixture *f, const struct http_route *routes, http_handler guard)
{
	struct http_config cfg = {
		.name            = "test",
		.routes          = routes,
		.part            = f,
		.guard           = guard,
		.stray_post      = f->stray_post,
		.stray_part      = f,
		.errors          = f->errors,
		.connections_max = f->conf.limits.http_connections,
		.per_address_max = f->conf.limits.http_per_address,
	};
	struct http_listen on[2];
	size_t             count = 0;
	struct http_cert  *cert;

	cr_assert_eq(http_cert_load(&cert, &f->conf, stderr), ERR_OK);
	on[count++] = listen_on(f->address, &f->port, false);
	if (cert)
		on[count++] = listen_on(f->address, &f->tls_port, true);
	cr_assert_eq(http_start(&f->server, &cfg, &f->conf, on, count, cert), ERR_OK);
	http_cert_free(cert);
}

void http_fixture_stop(struct http_fixture *f)
{
	if (f->server)
		http_stop(f->server);
	f->server = NULL;
	if (f->clock_fd >= 0)
		close(f->clock_fd);
	f->clock_fd = -1;
}

void http_fixture_advance(struct http_fixture *f, int64_t ms)
{
	f->moved_ms += ms;
	cr_assert_eq(pwrite(f->clock_fd, &f->moved_ms, sizeof(f->moved_ms), 0), (ssize_t)sizeof(f->moved_ms));
	http_poke(f->server);
}

int http_fixture_dial(const struct http_fixture *f, const char *from)
{
	return http_fixture_dial_port(f->port, from);
}

int http_fixture_socket(const char *from)
{
	struct sockaddr_in me = { .sin_family = AF_INET };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(inet_pton(AF_INET, from, &me.sin_addr), 1);
	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&me, sizeof(me)), 0);
	return fd;
}

void http_fixture_connect(int fd, int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET };

	to.sin_port        = htons((uint16_t)port);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

int http_fixture_dial_port(int port, const char *from)
{
	int fd = http_fixture_socket(from);

	http_fixture_connect(fd, port);
	return fd;
}

void http_fixture_await_connections(int64_t count)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;

	while (metric_get(M_HTTP_CONNECTIONS) != count && real_now_ms() < until)
		real_sleep_ms(1);
	cr_assert_eq(metric_get(M_HTTP_CONNECTIONS), count, "%lld connections are counted",
	             (long long)metric_get(M_HTTP_CONNECTIONS));
}

bool http_say(int fd, const char *text)
{
	return dial_send(fd, text, strlen(text), DIAL_PATIENCE_MS);
}

/* Reads a byte at a time: what follows the head stays in the socket. */
static void hear_head_bytes(int fd, char *out)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;
	size_t  len   = 0;

	while (len < HEAD_BYTES_MAX - 1 && (len < 4 || memcmp(out + len - 4, "\r\n\r\n", 4) != 0)) {
		if (dial_read(fd, out + len, 1, until) != 1)
			break;
		len++;
	}
	out[len] = '\0';
}

static void hear_body(int fd, struct http_result *r)
{
	char    length[32];
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;
	size_t  want  = strtoul(http_result_header(r, "Content-Length", length, sizeof(length)), NULL, 10);

	r->body = realloc(r->body, want + 1);
	cr_assert_not_null(r->body);
	while (r->body_len < want) {
		ssize_t got = dial_read(fd, r->body + r->body_len, want - r->body_len, until);

		cr_assert_gt(got, 0, "%zu of %zu bytes of the body", r->body_len, want);
		r->body_len += (size_t)got;
	}
	r->body[want] = '\0';
}

struct http_result http_hear_head(int fd)
{
	struct http_result r = { .head = malloc(HEAD_BYTES_MAX), .body = calloc(1, 1) };

	cr_assert(r.head && r.body);
	hear_head_bytes(fd, r.head);
	if (strncmp(r.head, "HTTP/1.", 7) == 0)
		r.status = (int)strtol(r.head + strcspn(r.head, " "), NULL, 10);
	return r;
}

struct http_result http_hear(int fd)
{
	struct http_result r = http_hear_head(fd);

	if (r.status)
		hear_body(fd, &r);
	return r;
}

bool http_is_closed(int fd)
{
	char    byte;
	ssize_t got = dial_read(fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS);

	return got == 0 || got == DIAL_RESET;
}

bool http_is_silent(int fd, int real_ms)
{
	char byte;

	return dial_read(fd, &byte, 1, real_now_ms() + real_ms) == DIAL_LATE;
}

#include "support/signal_client.h"

#include "base/hex.h"

#include <criterion/criterion.h>

#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM_BYTES 16384

const char *const signal_way_names[SIGNAL_WAYS] = { "plain", "TLS", "WebSocket" };

/* What a failed test leaves open is still known here, so that no leak is reported on top of the failure. */
static struct signal_client *clients;

/* Coming and going */

static char cert_folder[40];

static void remove_cert(void)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/cert.pem", cert_folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/key.pem", cert_folder);
	unlink(path);
	rmdir(cert_folder);
}

const char *const *signal_tls_sets(const char *const *more)
{
	static char        cert[80], key[80];
	static const char *sets[32];
	size_t             count = 0;

	if (!*cert_folder) {
		strcpy(cert_folder, "/tmp/coopd-cert-XXXXXX");
		cr_assert_not_null(mkdtemp(cert_folder));
		atexit(remove_cert);
	}
	snprintf(cert, sizeof(cert), "tls.cert=%s/cert.pem", cert_folder);
	snprintf(key, sizeof(key), "tls.key=%s/key.pem", cert_folder);
	tls_make_cert(cert + strlen("tls.cert="), key + strlen("tls.key="), "first.example");
	sets[count++] = cert;
	sets[count++] = key;
	sets[count++] = "limits.signal_tls_rate=100000"; /* tests are in a hurry; a later setting takes it back */
	for (; more && *more; more++)
		sets[count++] = *more;
	sets[count] = NULL;
	return sets;
}

static void open_ws(struct signal_client *c, const struct server *s, const char *from, int rcvbuf_bytes)
{
	char                     header[80];
	struct ws_client_options o = { .path = "/signal", .rcvbuf_bytes = rcvbuf_bytes, .takes_text = true };

	snprintf(header, sizeof(header), "X-Forwarded-For: %s\r\n", from ? from : "");
	if (from)
		o.headers = header;
	c->ws = ws_client_open(s->tunnel_port, &o);
}

struct signal_client *signal_dial_from(const struct server *s, enum signal_way way, const char *from, int rcvbuf_bytes)
{
	struct signal_client *c = calloc(1, sizeof(*c));

	cr_assert_not_null(c);
	c->way  = way;
	c->fd   = -1;
	c->next = clients;
	clients = c;
	if (way == SIGNAL_WEBSOCKET) {
		open_ws(c, s, from, rcvbuf_bytes);
		return c;
	}

	int port = way == SIGNAL_TLS ? s->signal_tls_port : s->signal_port;

	c->fd = dial_tcp_from(from, port, rcvbuf_bytes);
	cr_assert_geq(c->fd, 0, "nobody listens for signaling on port %d", port);
	if (way == SIGNAL_TLS) {
		signal(SIGPIPE, SIG_IGN); /* the library writes to who has closed already */
		c->has_tls = true;
		if (!tls_client_shake(&c->tls, c->fd, NULL, 0)) {
			tls_client_close(&c->tls);
			c->has_tls = false;
			c->fd      = -1;
		}
	}
	return c;
}

struct signal_client *signal_dial(const struct server *s, enum signal_way way)
{
	return signal_dial_from(s, way, NULL, 0);
}

static void hang_up(struct signal_client *c)
{
	if (c->has_tls)
		tls_client_close(&c->tls);
	else if (c->fd >= 0)
		close(c->fd);
	c->has_tls = false;
	c->fd      = -1;
}

void signal_client_free(struct signal_client *c)
{
	struct signal_client **at = &clients;

	if (!c)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	hang_up(c);
	ws_client_free(c->ws);
	free(c->in);
	free(c);
}

/* Sending */

bool signal_send(struct signal_client *c, const void *bytes, size_t len)
{
	if (c->ws)
		return ws_client_send_frame(c->ws, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, bytes, len);
	if (c->has_tls)
		return tls_client_send(&c->tls, bytes, len);
	return c->fd >= 0 && dial_send(c->fd, bytes, len, DIAL_PATIENCE_MS);
}

bool signal_say(struct signal_client *c, const char *format, ...)
{
	static char text[16384];
	va_list     args;

	va_start(args, format);
	int len = vsnprintf(text, sizeof(text) - 1, format, args);
	va_end(args);
	cr_assert(len >= 0 && (size_t)len < sizeof(text) - 1);
	if (!c->ws)
		text[len++] = '\n';
	return signal_send(c, text, (size_t)len);
}

/* Receiving */

static void make_room(struct signal_client *c, size_t bytes)
{
	if (c->in_len + bytes + 1 <= c->in_cap)
		return;
	c->in_cap = c->in_len + bytes + 1 + ROOM_BYTES;
	c->in     = realloc(c->in, c->in_cap);
	cr_assert_not_null(c->in);
}

static enum signal_got read_ws(struct signal_client *c, int64_t deadline_ms)
{
	int64_t                left = deadline_ms - real_now_ms();
	struct ws_client_event e    = ws_client_receive(c->ws, left > 0 ? (int)left : 0);

	if (e.what == WS_SILENCE)
		return SIGNAL_GOT_NOTHING;
	if (e.what != WS_MESSAGE)
		return SIGNAL_GOT_END;
	c->in_len = 0;
	make_room(c, e.len + 1);
	memcpy(c->in, e.data, e.len);
	c->in[e.len] = '\n'; /* as on the other ways */
	c->in_len    = e.len + 1;
	c->is_text   = e.is_text;
	return SIGNAL_GOT_LINE;
}

/* What came; 0 at the end, DIAL_LATE at the deadline. */
static ssize_t read_stream(struct signal_client *c, int64_t deadline_ms)
{
	if (!c->has_tls)
		return c->fd < 0 ? 0 : dial_read(c->fd, c->in + c->in_len, ROOM_BYTES, deadline_ms);
	for (;;) {
		int           n    = SSL_read(c->tls.ssl, c->in + c->in_len, ROOM_BYTES);
		int64_t       left = deadline_ms - real_now_ms();
		struct pollfd p    = { .fd = c->fd, .events = POLLIN };

		if (n > 0)
			return n;
		if (SSL_get_error(c->tls.ssl, n) != SSL_ERROR_WANT_READ)
			return 0;
		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			return DIAL_LATE;
	}
}

enum signal_got signal_read_line(struct signal_client *c, int patience_ms)
{
	int64_t deadline_ms = real_now_ms() + patience_ms;
	char   *lf;

	if (c->has_line) {
		c->in_len -= c->line_len + 1;
		memmove(c->in, c->in + c->line_len + 1, c->in_len);
		c->has_line = false;
	}
	while (!(lf = c->in_len ? memchr(c->in, '\n', c->in_len) : NULL)) {
		ssize_t n;

		if (c->ws) {
			enum signal_got got = read_ws(c, deadline_ms);

			if (got != SIGNAL_GOT_LINE)
				return got;
			continue;
		}
		make_room(c, ROOM_BYTES);
		n = read_stream(c, deadline_ms);
		if (n == DIAL_LATE)
			return SIGNAL_GOT_NOTHING;
		if (n <= 0) {
			hang_up(c);
			return SIGNAL_GOT_END;
		}
		c->in_len += (size_t)n;
	}
	*lf         = '\0';
	c->has_line = true;
	c->line_len = (size_t)(lf - c->in);
	return SIGNAL_GOT_LINE;
}

/* Registering */

void signal_greet(struct signal_client *c, const struct identity *who)
{
	signal_say(c, SERVER_SIGNAL_TOKEN " %s", who->text);
}

void signal_take_nonce(struct signal_client *c)
{
	enum signal_got got = signal_read_line(c, DIAL_PATIENCE_MS);

	cr_assert_eq(got, SIGNAL_GOT_LINE, "%s instead of a nonce", got == SIGNAL_GOT_END ? "the end" : "silence");
	cr_assert_eq(c->line_len, 70, "%s", c->in);
	cr_assert(memcmp(c->in, "nonce ", 6) == 0 && strspn(c->in + 6, "0123456789abcdef") == 64, "%s", c->in);
	strcpy(c->nonce, c->in + 6);
}

void signal_proof_hex(char out[129], const struct identity *who, const char *nonce)
{
	char    text[164];
	uint8_t sig[64];

	/* Put together here once more, and not by the server's own function, which it is to test. */
	snprintf(text, sizeof(text), "multivoid-signaling-register-v1%s%.64s", who->text, nonce);
	identity_sign(sig, who, text, strlen(text));
	hex_encode(out, sig, sizeof(sig));
}

void signal_prove(struct signal_client *c, const struct identity *who)
{
	char hex[129];

	signal_proof_hex(hex, who, c->nonce);
	signal_say(c, "auth %s", hex);
}

void signal_test_self(struct signal_client *c, const struct identity *who)
{
	char echo[80];

	snprintf(echo, sizeof(echo), "%s ", who->text);
	signal_say(c, "%s", echo);
	do
		cr_assert_eq(signal_read_line(c, DIAL_PATIENCE_MS), SIGNAL_GOT_LINE, "no echo of a self test");
	while (strcmp(c->in, echo) != 0);
}

void signal_register(struct signal_client *c, const struct identity *who)
{
	signal_greet(c, who);
	signal_take_nonce(c);
	signal_prove(c, who);
	signal_test_self(c, who);
}

struct signal_client *signal_registered(const struct server *s, enum signal_way way, const struct identity *who)
{
	struct signal_client *c = signal_dial(s, way);

	signal_register(c, who);
	return c;
}

/* Expectations */

void signal_expect_at(const char *file, int line, struct signal_client *c, const char *format, ...)
{
	char           *want = NULL;
	enum signal_got got  = signal_read_line(c, DIAL_PATIENCE_MS);
	va_list         args;

	va_start(args, format);
	cr_assert_geq(vasprintf(&want, format, args), 0);
	va_end(args);

	bool is_it = got == SIGNAL_GOT_LINE && c->line_len == strlen(want) && strcmp(c->in, want) == 0;

	cr_assert(is_it, "%s:%d: %s instead of \"%.200s\"", file, line,
	          got == SIGNAL_GOT_END       ? "the end"
	          : got == SIGNAL_GOT_NOTHING ? "silence"
	                                      : c->in,
	          want);
	free(want);
}

void signal_expect_silence_at(const char *file, int line, struct signal_client *c, int real_ms)
{
	enum signal_got got = signal_read_line(c, real_ms);

	cr_assert_eq(got, SIGNAL_GOT_NOTHING, "%s:%d: %s instead of silence", file, line,
	             got == SIGNAL_GOT_END ? "the end" : c->in);
}

void signal_expect_end_at(const char *file, int line, struct signal_client *c, const char *of)
{
	enum signal_got got = signal_read_line(c, DIAL_PATIENCE_MS);

	cr_assert_eq(got, SIGNAL_GOT_END, "%s:%d: %s: %s instead of the end", file, line, of ? of : "",
	             got == SIGNAL_GOT_NOTHING ? "silence" : c->in);
}

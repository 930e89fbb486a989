/*
 * The TLS wire. The library makes the session and its handshake; once the connection is open we read and write through the
 * session ourselves.
 */
#include "net/ws_conn.h"

#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#define PIECES_MAX 16

static ssize_t read_tls(struct ws_conn *c, uint8_t *out, size_t cap)
{
	return wire_tls_read(c->ssl, out, cap);
}

static bool holds_tls(const struct ws_conn *c)
{
	return SSL_pending(c->ssl) > 0;
}

/* As much of the queue as makes one record. */
static size_t gather(const struct ws_conn *c, uint8_t out[WIRE_RECORD_BYTES_MAX])
{
	struct iovec pieces[PIECES_MAX];
	size_t       count = ws_queue_pieces(&c->queue, pieces, PIECES_MAX);

	return wire_gather(out, WIRE_RECORD_BYTES_MAX, pieces, count);
}

static ssize_t write_tls(struct ws_conn *c)
{
	static uint8_t record[WIRE_RECORD_BYTES_MAX]; /* there is one loop thread */
	ssize_t        total = 0;
	ssize_t        n     = wire_tls_write_rest(c->ssl, &c->rest);

	if (n < 0)
		return n;
	while (ws_queue_bytes(&c->queue) > 0) {
		size_t len = gather(c, record);

		n = wire_tls_write(c->ssl, &c->rest, record, len);
		if (n == WIRE_BROKEN)
			return n;
		ws_queue_sent(&c->queue, len);
		if (n == WIRE_AGAIN)
			return n;
		total += n;
	}
	return total;
}

static void finish_tls(struct ws_conn *c)
{
	ERR_clear_error();
	SSL_shutdown(c->ssl);
	shutdown(c->fd, SHUT_WR);
}

static void fini_tls(struct ws_conn *c)
{
	wire_rest_free(c->rest);
	c->rest = NULL;
	c->ssl  = NULL; /* the library's, which frees it with the socket */
}

const struct ws_wire ws_wire_tls = {
	.read   = read_tls,
	.write  = write_tls,
	.holds  = holds_tls,
	.finish = finish_tls,
	.fini   = fini_tls,
};

void ws_cert_use(struct ws *ws, const struct tls_cert *cert)
{
	if (cert && ws->tls)
		tls_cert_use(ws->tls, cert);
}

enum err ws_tls_check(const struct ws *ws, FILE *report)
{
	struct tls_cert *cert;
	enum err         e = tls_cert_load(&cert, ws->conf, report);

	tls_cert_free(cert);
	return e;
}

void ws_tls_set_up(struct ws *ws, void *ssl_ctx)
{
	ws->tls = ssl_ctx;
	tls_context_set_up(ws->tls);
}

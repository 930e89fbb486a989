/* The TLS wire: a session of libssl on the socket, which never waits; epoll says when to ask it again. */
#include "net/tcp_conn.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>

#define PIECES_MAX 64

bool tcp_tls_begin(struct tcp_conn *c)
{
	c->ssl = SSL_new(c->tcp->tls);
	if (!c->ssl || SSL_set_fd(c->ssl, c->fd) != 1)
		return false;
	SSL_set_accept_state(c->ssl);
	return true;
}

ssize_t tcp_tls_shake(struct tcp_conn *c)
{
	int done;

	ERR_clear_error();
	done = SSL_do_handshake(c->ssl);
	if (done == 1)
		return 1;

	ssize_t why = wire_tls_why(c->ssl, done);

	return why == WIRE_END ? WIRE_BROKEN : why;
}

/*
 * Asked for new keys while a record is half sent, OpenSSL 3.0 wants to answer in the middle of that record and fails: such a
 * peer loses its connection. None asks for them before it has sent very much, and who reads what it gets is not in danger.
 *
 * A record must find room whole: what the session held back would wait unseen, since the socket is not readable then.
 */
static ssize_t read_tls(struct tcp_conn *c, uint8_t *out, size_t cap, size_t *len)
{
	ssize_t n;

	*len = 0;
	do {
		n = wire_tls_read(c->ssl, out + *len, cap - *len);
		if (n > 0)
			*len += (size_t)n;
	} while (n > 0 && cap - *len >= WIRE_RECORD_BYTES_MAX);
	return n;
}

/* As much of what the part has as makes one record. */
static size_t fetch_record(struct tcp_conn *c, uint8_t out[WIRE_RECORD_BYTES_MAX])
{
	struct iovec pieces[PIECES_MAX];
	size_t       count = c->listener->on.handler->fetch(c->data, pieces, PIECES_MAX);
	size_t       len   = wire_gather(out, WIRE_RECORD_BYTES_MAX, pieces, count);

	assert(count == 0 || len > 0);
	return len;
}

static ssize_t write_tls(struct tcp_conn *c, int64_t now_ms)
{
	static uint8_t record[WIRE_RECORD_BYTES_MAX]; /* there is one loop thread */
	ssize_t        total = 0;
	ssize_t        n     = wire_tls_write_rest(c->ssl, &c->rest);
	size_t         len;

	if (n < 0)
		return n;
	while ((len = fetch_record(c, record)) > 0 && c->phase != TCP_CONN_GONE) {
		n = wire_tls_write(c->ssl, &c->rest, record, len);
		if (n == WIRE_BROKEN)
			return n;
		metric_add(M_TCP_BYTES_OUT, (int64_t)len);
		c->listener->on.handler->sent(c->data, len, now_ms);
		total += (ssize_t)len;
		if (n == WIRE_AGAIN || (size_t)total >= c->tcp->turn_cap || c->phase == TCP_CONN_GONE)
			return WIRE_AGAIN;
	}
	return total;
}

void tcp_tls_finish(struct tcp_conn *c)
{
	ERR_clear_error();
	SSL_shutdown(c->ssl);
}

void tcp_tls_fini(struct tcp_conn *c)
{
	wire_rest_free(c->rest);
	c->rest = NULL;
	SSL_free(c->ssl);
	c->ssl = NULL;
}

static uint64_t written_tls(const struct tcp_conn *c)
{
	return BIO_number_written(SSL_get_wbio(c->ssl));
}

const struct tcp_wire tcp_wire_tls = { .read = read_tls, .write = write_tls, .written = written_tls };

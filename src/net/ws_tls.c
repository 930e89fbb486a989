/*
 * The TLS wire, and certificates. The library makes the session and its handshake; once the connection is open we read
 * and write through the session ourselves.
 */
#include "net/ws_conn.h"

#include "base/auto.h"
#include "os/file.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RECORD_BYTES_MAX 16384
#define PIECES_MAX       16
#define PEM_BYTES_MAX    ((size_t)1024 * 1024)

/*
 * A record that TLS has made but not sent whole. It insists on being asked again for the same bytes, while our queue
 * may change before that: so these are kept apart, and the queue thinks them sent.
 */
struct ws_tls_rest {
	size_t  len;
	uint8_t bytes[];
};

static ssize_t why(const struct ws_conn *c, int result)
{
	switch (SSL_get_error(c->ssl, result)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return WS_WIRE_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return WS_WIRE_END;
	default:
		return WS_WIRE_BROKEN;
	}
}

static ssize_t read_tls(struct ws_conn *c, uint8_t *out, size_t cap)
{
	ERR_clear_error(); /* what another session left there would be taken for this one's */
	int n = SSL_read(c->ssl, out, cap < INT32_MAX ? (int)cap : INT32_MAX);
	return n > 0 ? n : why(c, n);
}

static bool holds_tls(const struct ws_conn *c)
{
	return SSL_pending(c->ssl) > 0;
}

/* All of it, AGAIN (TLS has taken it and wants to be asked again), or BROKEN. */
static ssize_t write_record(struct ws_conn *c, const uint8_t *bytes, size_t len)
{
	ERR_clear_error();
	int n = SSL_write(c->ssl, bytes, (int)len);
	return n > 0 ? n : why(c, n);
}

static ssize_t write_rest(struct ws_conn *c)
{
	ssize_t n = c->rest ? write_record(c, c->rest->bytes, c->rest->len) : 0;

	if (n >= 0) {
		free(c->rest);
		c->rest = NULL;
	}
	return n;
}

static bool keep_rest(struct ws_conn *c, const uint8_t *bytes, size_t len)
{
	c->rest = malloc(sizeof(*c->rest) + len);
	if (!c->rest)
		return false;
	c->rest->len = len;
	memcpy(c->rest->bytes, bytes, len);
	return true;
}

/* As much of the queue as makes one record. */
static size_t gather(const struct ws_conn *c, uint8_t out[RECORD_BYTES_MAX])
{
	struct iovec pieces[PIECES_MAX];
	size_t       count = ws_queue_pieces(&c->queue, pieces, PIECES_MAX);
	size_t       len   = 0;

	for (size_t i = 0; i < count && len < RECORD_BYTES_MAX; i++) {
		size_t room = RECORD_BYTES_MAX - len;
		size_t take = pieces[i].iov_len < room ? pieces[i].iov_len : room;

		memcpy(out + len, pieces[i].iov_base, take);
		len += take;
	}
	return len;
}

static ssize_t write_tls(struct ws_conn *c)
{
	static uint8_t record[RECORD_BYTES_MAX]; /* there is one loop thread */
	ssize_t        total = 0;
	ssize_t        n     = write_rest(c);

	if (n < 0)
		return n;
	while (ws_queue_bytes(&c->queue) > 0) {
		size_t len = gather(c, record);

		n = write_record(c, record, len);
		if (n == WS_WIRE_AGAIN && !keep_rest(c, record, len))
			return WS_WIRE_BROKEN;
		if (n != WS_WIRE_AGAIN && n <= 0)
			return WS_WIRE_BROKEN;
		ws_queue_sent(&c->queue, len);
		if (n == WS_WIRE_AGAIN)
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
	free(c->rest);
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

/* Certificates */

struct ws_cert {
	SSL_CTX *ctx; /* serves nobody: it holds chain and key, checked against each
                   other */
};

void ws_cert_free(struct ws_cert *cert)
{
	if (!cert)
		return;
	SSL_CTX_free(cert->ctx);
	free(cert);
}

static enum err refuse(FILE *report, const char *setting, const char *path, const char *why)
{
	fprintf(report, "%s: %s cannot be used: %s\n", setting, path, why);
	return ERR_MALFORMED;
}

/* What the library does not like about it; the first thing it says says most. */
static enum err refuse_content(FILE *report, const char *setting, const char *path)
{
	char text[160];

	ERR_error_string_n(ERR_peek_error(), text, sizeof(text));
	return refuse(report, setting, path, text);
}

/* A PEM file in memory. The library would open a pipe and wait for its writer, for ever perhaps. */
struct pem {
	char  *text;
	size_t len;
	BIO   *bio; /* over text */
};

static void pem_fini(struct pem *p)
{
	BIO_free(p->bio);
	if (p->text)
		OPENSSL_cleanse(p->text, p->len); /* it may be the key */
	free(p->text);
}

static enum err read_pem(struct pem *p, const char *setting, const char *path, FILE *report)
{
	enum err e;

	errno = 0;
	e     = file_read(&p->text, &p->len, path, PEM_BYTES_MAX);
	if (e == ERR_NOMEM)
		return e;
	if (e == ERR_TOO_BIG)
		return refuse(report, setting, path, "it is much larger than a PEM file");
	if (e != ERR_OK)
		return refuse(report, setting, path, errno ? strerror(errno) : "it cannot be read");
	p->bio = BIO_new_mem_buf(p->text, (int)p->len);
	return p->bio ? ERR_OK : ERR_NOMEM;
}

/* The certificate, then those of the authorities above it, up to the end of the file. */
static bool use_chain(SSL_CTX *ctx, BIO *bio)
{
	X509 *cert = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
	bool  ok   = cert && SSL_CTX_use_certificate(ctx, cert) == 1;

	X509_free(cert);
	while (ok && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		ok = SSL_CTX_add0_chain_cert(ctx, cert) == 1;
		if (!ok)
			X509_free(cert);
	}
	if (!ok || ERR_GET_LIB(ERR_peek_last_error()) != ERR_LIB_PEM ||
	    ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		return false;
	ERR_clear_error(); /* that was the end */
	return true;
}

static enum err load_chain(SSL_CTX *ctx, const char *path, FILE *report)
{
	AUTO(pem_fini) struct pem p = { 0 };
	enum err                  e = read_pem(&p, "tls.cert", path, report);

	if (e != ERR_OK)
		return e;
	return use_chain(ctx, p.bio) ? ERR_OK : refuse_content(report, "tls.cert", path);
}

/* Nobody is there to be asked for the password of a key, which would be asked for on the terminal. */
static int know_no_password(char *out, int cap, int rwflag, void *arg)
{
	(void)out;
	(void)cap;
	(void)rwflag;
	(void)arg;
	return -1;
}

static enum err load_key(SSL_CTX *ctx, const char *path, FILE *report)
{
	AUTO(pem_fini) struct pem p   = { 0 };
	enum err                  e   = read_pem(&p, "tls.key", path, report);
	EVP_PKEY                 *key = NULL;
	bool                      ok;

	if (e != ERR_OK)
		return e;
	key = PEM_read_bio_PrivateKey(p.bio, NULL, know_no_password, NULL);
	ok  = key && SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1;
	EVP_PKEY_free(key);
	return ok ? ERR_OK : refuse_content(report, "tls.key", path);
}

static enum err load(SSL_CTX *ctx, const struct conf *conf, FILE *report)
{
	enum err e;

	ERR_clear_error();
	e = load_chain(ctx, conf->tls_cert, report);
	return e == ERR_OK ? load_key(ctx, conf->tls_key, report) : e;
}

enum err ws_cert_load(struct ws_cert **out, const struct conf *conf, FILE *report)
{
	struct ws_cert *cert;
	enum err        e;

	*out = NULL;
	if (conf->tls_cert[0] == '\0')
		return ERR_OK;
	cert = calloc(1, sizeof(*cert));
	if (cert)
		cert->ctx = SSL_CTX_new(TLS_server_method());
	e = cert && cert->ctx ? load(cert->ctx, conf, report) : ERR_NOMEM;
	if (e != ERR_OK) {
		ws_cert_free(cert);
		return e;
	}
	*out = cert;
	return ERR_OK;
}

void ws_cert_use(struct ws *ws, const struct ws_cert *cert)
{
	STACK_OF(X509) *chain = NULL;

	if (!cert || !ws->tls)
		return;
	/* Certificate first: a key is refused while it does not belong to the certificate that is there. */
	SSL_CTX_use_certificate(ws->tls, SSL_CTX_get0_certificate(cert->ctx));
	SSL_CTX_use_PrivateKey(ws->tls, SSL_CTX_get0_privatekey(cert->ctx));
	SSL_CTX_get0_chain_certs(cert->ctx, &chain);
	SSL_CTX_set1_chain(ws->tls, chain);
}

enum err ws_tls_check(const struct ws *ws, FILE *report)
{
	struct ws_cert *cert;
	enum err        e = ws_cert_load(&cert, ws->conf, report);

	ws_cert_free(cert);
	return e;
}

void ws_tls_set_up(struct ws *ws, void *ssl_ctx)
{
	ws->tls = ssl_ctx;
	SSL_CTX_set_min_proto_version(ws->tls, TLS1_2_VERSION);
	/* The queue gives the bytes of a record from another place each time. */
	SSL_CTX_set_mode(ws->tls, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}

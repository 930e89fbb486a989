#include "net/tls.h"

#include "base/auto.h"
#include "os/file.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PEM_BYTES_MAX ((size_t)1024 * 1024)

/*
 * A context that serves nobody: it holds chain and key, checked against each other, and counts who uses them.
 */
struct tls_cert {
	SSL_CTX         *holder;
	struct tls_dates dates;
};

/*
 * No code of an old kind: whoever comes by the key later cannot read what was recorded today. Schannel of old Windows knows
 * only those with CBC for RSA certificates, so these stay.
 */
#define CIPHERS_OF_1_2 "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES256:ECDHE+AES128:!aNULL"

void tls_cert_free(struct tls_cert *cert)
{
	if (!cert)
		return;
	SSL_CTX_free(cert->holder);
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
static bool use_chain(SSL_CTX *holder, BIO *bio)
{
	X509 *cert = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
	bool  ok   = cert && SSL_CTX_use_certificate(holder, cert) == 1;

	X509_free(cert);
	while (ok && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		ok = SSL_CTX_add0_chain_cert(holder, cert) == 1;
		if (!ok)
			X509_free(cert);
	}
	if (!ok || ERR_GET_LIB(ERR_peek_last_error()) != ERR_LIB_PEM ||
	    ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		return false;
	ERR_clear_error(); /* that was the end */
	return true;
}

static enum err load_chain(SSL_CTX *holder, const char *path, FILE *report)
{
	AUTO(pem_fini) struct pem p = { 0 };
	enum err                  e = read_pem(&p, "tls.cert", path, report);

	if (e != ERR_OK)
		return e;
	return use_chain(holder, p.bio) ? ERR_OK : refuse_content(report, "tls.cert", path);
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

static enum err load_key(SSL_CTX *holder, const char *path, FILE *report)
{
	AUTO(pem_fini) struct pem p   = { 0 };
	enum err                  e   = read_pem(&p, "tls.key", path, report);
	EVP_PKEY                 *key = NULL;
	bool                      ok;

	if (e != ERR_OK)
		return e;
	key = PEM_read_bio_PrivateKey(p.bio, NULL, know_no_password, NULL);
	ok  = key && SSL_CTX_use_PrivateKey(holder, key) == 1 && SSL_CTX_check_private_key(holder) == 1;
	EVP_PKEY_free(key);
	return ok ? ERR_OK : refuse_content(report, "tls.key", path);
}

static enum err load(SSL_CTX *holder, const struct conf *conf, FILE *report)
{
	enum err e;

	ERR_clear_error();
	e = load_chain(holder, conf->tls_cert, report);
	return e == ERR_OK ? load_key(holder, conf->tls_key, report) : e;
}

static int64_t seconds_of(const ASN1_TIME *time)
{
	struct tm tm;

	return time && ASN1_TIME_to_tm(time, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static void note_dates(struct tls_cert *cert)
{
	const X509 *x = SSL_CTX_get0_certificate(cert->holder);

	cert->dates = (struct tls_dates){ .from_s  = seconds_of(X509_get0_notBefore(x)),
		                          .until_s = seconds_of(X509_get0_notAfter(x)) };
}

struct tls_dates tls_cert_dates(const struct tls_cert *cert)
{
	return cert->dates;
}

enum err tls_cert_load(struct tls_cert **out, const struct conf *conf, FILE *report)
{
	struct tls_cert *cert;
	enum err         e;

	*out = NULL;
	if (conf->tls_cert[0] == '\0')
		return ERR_OK;
	cert = calloc(1, sizeof(*cert));
	if (cert)
		cert->holder = SSL_CTX_new(TLS_server_method());
	e = cert && cert->holder ? load(cert->holder, conf, report) : ERR_NOMEM;
	if (e != ERR_OK) {
		tls_cert_free(cert);
		return e;
	}
	note_dates(cert);
	*out = cert;
	return ERR_OK;
}

void tls_context_set_up(SSL_CTX *ctx)
{
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_cipher_list(ctx, CIPHERS_OF_1_2);
	/* A queue gives the bytes of a record from another place each time. */
	SSL_CTX_set_mode(ctx, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}

SSL_CTX *tls_context_new(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	if (!ctx)
		return NULL;
	tls_context_set_up(ctx);
	/* Connections last for hours: nothing is kept, or sent, to make the next handshake of the same peer shorter. */
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_num_tickets(ctx, 0);
	/* A peer that sends nothing but records of TLS's own gets its turn like any other, not the whole loop. */
	SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY);
	return ctx;
}

/* The holder of a context's certificate goes with the context, which may be somebody else's. */
static void free_holder(void *parent, void *holder, CRYPTO_EX_DATA *data, int index, long argl, void *argp)
{
	(void)parent;
	(void)data;
	(void)index;
	(void)argl;
	(void)argp;
	SSL_CTX_free(holder);
}

static int holder_index(void)
{
	static int index = -1; /* only the loop comes here */

	if (index < 0)
		index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_holder);
	return index;
}

/*
 * Each session gets it at its handshake. Given to the context itself, a certificate would replace only one with the same
 * kind of key, and who prefers the other kind would go on getting the old one.
 */
static int give(SSL *ssl, void *arg)
{
	SSL_CTX *holder       = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), holder_index());
	STACK_OF(X509) *chain = NULL;

	(void)arg;
	SSL_certs_clear(ssl);
	SSL_CTX_get0_chain_certs(holder, &chain);
	return SSL_use_cert_and_key(ssl, SSL_CTX_get0_certificate(holder), SSL_CTX_get0_privatekey(holder), chain, 1);
}

void tls_cert_use(SSL_CTX *ctx, const struct tls_cert *cert)
{
	SSL_CTX *old = SSL_CTX_get_ex_data(ctx, holder_index());

	SSL_CTX_up_ref(cert->holder);
	if (SSL_CTX_set_ex_data(ctx, holder_index(), cert->holder) != 1) {
		SSL_CTX_free(cert->holder); /* out of memory: the old one stays */
		return;
	}
	SSL_CTX_free(old);
	SSL_CTX_set_cert_cb(ctx, give, NULL);
}

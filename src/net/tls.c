#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>

/*
 * A context that serves nobody: it holds chain and key, checked against each other, and counts who uses them.
 */
struct tls_cert {
	SSL_CTX *holder;
};

void tls_cert_free(struct tls_cert *cert)
{
	if (!cert)
		return;
	SSL_CTX_free(cert->holder);
	free(cert);
}

static enum err refuse(FILE *report, const char *setting, const char *path)
{
	char text[160];

	ERR_error_string_n(ERR_peek_error(), text, sizeof(text)); /* the first says most: "No such file" */
	fprintf(report, "%s: %s cannot be used: %s\n", setting, path, text);
	return ERR_MALFORMED;
}

static enum err load(SSL_CTX *holder, const struct conf *conf, FILE *report)
{
	ERR_clear_error();
	if (SSL_CTX_use_certificate_chain_file(holder, conf->tls_cert) != 1)
		return refuse(report, "tls.cert", conf->tls_cert);
	if (SSL_CTX_use_PrivateKey_file(holder, conf->tls_key, SSL_FILETYPE_PEM) != 1)
		return refuse(report, "tls.key", conf->tls_key);
	if (SSL_CTX_check_private_key(holder) != 1)
		return refuse(report, "tls.key", conf->tls_key);
	return ERR_OK;
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
	*out = cert;
	return ERR_OK;
}

void tls_context_set_up(SSL_CTX *ctx)
{
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
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

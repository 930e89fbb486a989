/*
 * TLS of HTTP connections.
 *
 * Each connection holds the credentials that were there when it was accepted, so a new certificate neither waits for old
 * connections nor disturbs them.
 */
#include "net/http_tls.h"

#include "base/auto.h"
#include "os/file.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PEM_BYTES_MAX ((size_t)1024 * 1024)

/* --- Credentials --- */

struct http_credentials {
	_Atomic size_t                   users;
	gnutls_certificate_credentials_t gnutls;
};

static struct http_credentials *use(struct http_credentials *c)
{
	if (c)
		atomic_fetch_add(&c->users, 1);
	return c;
}

static void drop(struct http_credentials *c)
{
	if (!c || atomic_fetch_sub(&c->users, 1) != 1)
		return;
	gnutls_certificate_free_credentials(c->gnutls);
	free(c);
}

/* --- Certificates --- */

struct http_cert {
	struct http_credentials *credentials;
};

/* A PEM file and what was made of it. */
struct pem {
	char                 *text;
	size_t                len;
	gnutls_x509_crt_t    *chain;
	unsigned              chain_len;
	gnutls_x509_privkey_t key;
};

static void pem_fini(struct pem *p)
{
	for (unsigned i = 0; i < p->chain_len; i++)
		gnutls_x509_crt_deinit(p->chain[i]);
	gnutls_free(p->chain);
	gnutls_x509_privkey_deinit(p->key);
	if (p->text)
		gnutls_memset(p->text, 0, p->len); /* it may be the key */
	free(p->text);
}

static enum err refuse(FILE *report, const char *setting, const char *path, const char *why)
{
	fprintf(report, "%s: %s cannot be used: %s\n", setting, path, why);
	return ERR_MALFORMED;
}

static enum err read_pem(struct pem *p, const char *setting, const char *path, FILE *report)
{
	enum err e;

	errno = 0;
	e     = file_read(&p->text, &p->len, path, PEM_BYTES_MAX);
	if (e == ERR_OK || e == ERR_NOMEM)
		return e;
	if (e == ERR_TOO_BIG)
		return refuse(report, setting, path, "it is much larger than a PEM file");
	return refuse(report, setting, path, errno ? strerror(errno) : "it cannot be read");
}

static enum err read_chain(struct pem *p, const char *path, FILE *report)
{
	enum err       e = read_pem(p, "tls.cert", path, report);
	gnutls_datum_t text;
	int            result;

	if (e != ERR_OK)
		return e;
	text   = (gnutls_datum_t){ .data = (unsigned char *)p->text, .size = (unsigned)p->len };
	result = gnutls_x509_crt_list_import2(&p->chain, &p->chain_len, &text, GNUTLS_X509_FMT_PEM, 0);
	return result >= 0 ? ERR_OK : refuse(report, "tls.cert", path, gnutls_strerror(result));
}

static enum err read_key(struct pem *p, const char *path, FILE *report)
{
	enum err       e = read_pem(p, "tls.key", path, report);
	gnutls_datum_t text;
	int            result;

	if (e != ERR_OK)
		return e;
	text = (gnutls_datum_t){ .data = (unsigned char *)p->text, .size = (unsigned)p->len };
	if (gnutls_x509_privkey_init(&p->key) < 0)
		return ERR_NOMEM;
	result = gnutls_x509_privkey_import2(p->key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
	return result >= 0 ? ERR_OK : refuse(report, "tls.key", path, gnutls_strerror(result));
}

/* Both files; whether they belong together is seen when they meet. */
static enum err load(gnutls_certificate_credentials_t into, const struct conf *conf, FILE *report)
{
	AUTO(pem_fini) struct pem cert = { 0 }, key = { 0 };
	enum err                  e = read_chain(&cert, conf->tls_cert, report);
	int                       result;

	if (e == ERR_OK)
		e = read_key(&key, conf->tls_key, report);
	if (e != ERR_OK)
		return e;
	result = gnutls_certificate_set_x509_key(into, cert.chain, (int)cert.chain_len, key.key);
	return result >= 0 ? ERR_OK : refuse(report, "tls.key", conf->tls_key, gnutls_strerror(result));
}

static struct http_credentials *new_credentials(void)
{
	struct http_credentials *c = calloc(1, sizeof(*c));

	if (c && gnutls_certificate_allocate_credentials(&c->gnutls) < 0) {
		free(c);
		return NULL;
	}
	if (c)
		atomic_init(&c->users, 1);
	return c;
}

enum err http_cert_load(struct http_cert **out, const struct conf *conf, FILE *report)
{
	AUTO(auto_free) struct http_cert *cert = NULL;
	enum err                          e;

	*out = NULL;
	if (conf->tls_cert[0] == '\0')
		return ERR_OK;
	cert = calloc(1, sizeof(*cert));
	if (!cert)
		return ERR_NOMEM;
	cert->credentials = new_credentials();
	e                 = cert->credentials ? load(cert->credentials->gnutls, conf, report) : ERR_NOMEM;
	if (e != ERR_OK) {
		drop(cert->credentials);
		return e;
	}
	*out = TAKE(cert);
	return ERR_OK;
}

void http_cert_free(struct http_cert *cert)
{
	if (cert)
		drop(cert->credentials);
	free(cert);
}

/* --- A server's --- */

void http_tls_init(struct http_tls *t, const struct http_cert *cert)
{
	pthread_mutex_init(&t->lock, NULL);
	t->now = use(cert ? cert->credentials : NULL);
}

void http_tls_fini(struct http_tls *t)
{
	drop(t->now);
	pthread_mutex_destroy(&t->lock);
}

void http_tls_change(struct http_tls *t, const struct http_cert *cert)
{
	struct http_credentials *before;

	pthread_mutex_lock(&t->lock);
	before = t->now;
	t->now = use(cert->credentials);
	pthread_mutex_unlock(&t->lock);
	drop(before);
}

/* --- Sessions --- */

/* Asked for when a session has no credentials of its own. */
static int have_none(gnutls_session_t session, const struct gnutls_cert_retr_st *info, gnutls_pcert_st **certs,
                     unsigned *cert_count, gnutls_ocsp_data_st **ocsp, unsigned *ocsp_count, gnutls_privkey_t *key,
                     unsigned *flags)
{
	(void)session, (void)info, (void)certs, (void)cert_count, (void)ocsp, (void)ocsp_count, (void)key, (void)flags;
	return -1;
}

/* As net/tls.c says it to the other library: forward secrecy, in 1.2 too. */
static char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-DHE-RSA";

struct MHD_OptionItem http_tls_options[] = {
	{ MHD_OPTION_HTTPS_PRIORITIES, 0, priorities },
	{ MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, have_none },
	{ MHD_OPTION_END, 0, NULL },
};

static gnutls_session_t session_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	return info ? info->tls_session : NULL;
}

/* The peer's last message of a handshake. */
static int on_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                       const gnutls_datum_t *message)
{
	struct http_session *s = gnutls_session_get_ptr(session);

	(void)type, (void)when, (void)message;
	if (incoming)
		s->is_open = true;
	return 0;
}

void http_session_begin(struct http_session *s, struct http_tls *t, struct MHD_Connection *mhd)
{
	gnutls_session_t session = session_of(mhd);

	pthread_mutex_lock(&t->lock);
	*s = (struct http_session){ .is_tls = true, .credentials = use(t->now) };
	pthread_mutex_unlock(&t->lock);
	if (!session || !s->credentials)
		return;
	gnutls_session_set_ptr(session, s);
	gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST, on_finished);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, s->credentials->gnutls);
}

bool http_session_end(struct http_session *s)
{
	drop(s->credentials);
	s->credentials = NULL;
	return s->is_open || !s->is_tls;
}

void http_session_close(struct MHD_Connection *mhd)
{
	gnutls_session_t session = session_of(mhd);

	if (session)
		gnutls_bye(session, GNUTLS_SHUT_WR);
}

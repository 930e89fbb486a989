/*
 * TLS for the loop's own connections, over libssl: certificates, loaded on any thread and used on the loop.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "base/err.h"
#include "conf/conf.h"

#include <stdint.h>
#include <stdio.h>

/* The certificate chain and key of tls.cert and tls.key, checked against each other. */
struct tls_cert;

/*
 * File work: not on the loop thread. ERR_MALFORMED with a line in report, ERR_NOMEM; *out is NULL without tls.cert.
 */
enum err tls_cert_load(struct tls_cert **out, const struct conf *conf, FILE *report);
void     tls_cert_free(struct tls_cert *cert); /* NULL is fine */

/* From when to when it is good, in Unix seconds. */
struct tls_dates {
	int64_t from_s, until_s;
};
struct tls_dates tls_cert_dates(const struct tls_cert *cert);

struct ssl_ctx_st;

/* A context of ours for new sessions: TLS 1.2 and 1.3. NULL when out of memory. The certificate comes by tls_cert_use. */
struct ssl_ctx_st *tls_context_new(void);
void               tls_context_set_up(struct ssl_ctx_st *ctx); /* our settings, for a context that somebody else made */

/* New sessions of ctx get this certificate from now on. */
void tls_cert_use(struct ssl_ctx_st *ctx, const struct tls_cert *cert);

#endif

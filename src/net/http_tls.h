/*
 * Inside net/http: TLS of its connections. The library (GnuTLS behind it) shakes hands, reads and writes; here are the
 * certificates, which may change at any time, and what becomes of a handshake.
 */
#ifndef NET_HTTP_TLS_H
#define NET_HTTP_TLS_H

#include "net/http.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>

/* Chain and key as GnuTLS wants them: never changed, counted, freed with the last connection that began with them. */
struct http_credentials;

/* What a server's new connections get. */
struct http_tls {
	pthread_mutex_t          lock;
	struct http_credentials *now; /* NULL: none yet, and every handshake fails; under the lock */
};

/* Of one connection. */
struct http_session {
	bool                     is_tls, is_open; /* open: hands were shaken */
	struct http_credentials *credentials;
};

void http_tls_init(struct http_tls *t, const struct http_cert *cert); /* NULL: none */
void http_tls_fini(struct http_tls *t);                               /* all connections are gone */

/* From now on, for new connections; not NULL. Any thread. */
void http_tls_change(struct http_tls *t, const struct http_cert *cert);

/* What the library is to be told for a listener with TLS, as MHD_OPTION_ARRAY; besides MHD_USE_TLS. */
extern struct MHD_OptionItem http_tls_options[];

/* The connection was accepted, and has said nothing yet: *s, which stays where it is, gets the certificate of now. */
void http_session_begin(struct http_session *s, struct http_tls *t, struct MHD_Connection *mhd);

/* The library is done with it. False when hands were never shaken. */
bool http_session_end(struct http_session *s);

/* Tells the peer that nothing more comes. */
void http_session_close(struct MHD_Connection *mhd);

#endif

/*
 * Watches over the dates of the certificate: figures of them, and a line of log at the start, at each reload, and daily while it
 * needs somebody.
 *
 *	certificate	 it is good for more than 14 days
 *	certificate-ends, certificate-ended, certificate-early	 warnings
 */
#ifndef NET_TLS_WATCH_H
#define NET_TLS_WATCH_H

#include "net/loop.h"
#include "net/tls.h"

struct tls_watch {
	struct loop     *loop;
	struct timer     daily;
	struct tls_dates dates;
};

/* Loop thread, or before it runs. The watch stays where it is as long as the loop. cert NULL: there is none, and nothing is said. */
void tls_watch_start(struct tls_watch *w, struct loop *l, const struct tls_cert *cert);

/* Another one took its place. NULL: none did. */
void tls_watch_use(struct tls_watch *w, const struct tls_cert *cert);

#endif

/*
 * Inside net/http: what is behind http_shared_new (net/http.h).
 */
#ifndef NET_HTTP_SHARED_H
#define NET_HTTP_SHARED_H

#include "net/http.h"

#include <stdatomic.h>
#include <stddef.h>

struct http_shared {
	_Atomic size_t users;
	char          *bytes;
	size_t         len;
};

#endif

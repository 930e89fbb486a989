/*
 * What a client says it has and takes: If-None-Match and Accept-Encoding, read line by line. Pure.
 */
#ifndef NET_HTTP_MATCH_H
#define NET_HTTP_MATCH_H

#include <stdbool.h>

/*
 * Whether one line of If-None-Match has this etag, quotes and all: compared weakly, so that W/ in front of either does not
 * count; * has every one. What stands behind the first thing that is no etag is not looked at.
 */
bool http_match_etag(const char *line, const char *etag);

/* Lines of Accept-Encoding, collected one after the other; all false in the beginning. */
struct http_codings {
	bool takes_gzip, refuses_gzip; /* named, as gzip or x-gzip, with a weight, or with none or a bad one */
	bool takes_any;                /* a * with a weight */
};

void http_codings_add(struct http_codings *c, const char *line);

/* gzip, if it was named; else what * says. */
bool http_codings_have_gzip(const struct http_codings *c);

#endif

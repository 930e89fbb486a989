/*
 * The Range field of a request, read strictly. Pure.
 */
#ifndef NET_HTTP_RANGE_H
#define NET_HTTP_RANGE_H

#include <stdint.h>

enum http_range {
	HTTP_RANGE_NONE,  /* not one range of bytes (several, another unit, not well formed): the whole is sent */
	HTTP_RANGE_PART,  /* *first and *count say which */
	HTTP_RANGE_BEYOND /* none of it is there: 416 */
};

/*
 * "bytes=a-b", "bytes=a-" or "bytes=-n" (the last n) of a whole of total bytes, cut to what there is. first and count
 * are touched for HTTP_RANGE_PART only; count is at least 1 then.
 */
enum http_range http_range_parse(uint64_t *first, uint64_t *count, const char *text, uint64_t total);

#endif

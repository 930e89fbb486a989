#define ZLIB_CONST /* what goes in is not written to */

#include "base/gzip.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#define LEVEL       6
#define WINDOW_GZIP (15 + 16) /* the largest window; 16 more is how zlib is asked for gzip's head and end */
#define MEMORY      8

enum err gzip_bytes(char **out, size_t *out_len, const void *data, size_t len)
{
	z_stream z = { 0 };
	char    *bytes;
	uLong    cap;
	int      ended;

	if (len > UINT_MAX / 2 || deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return ERR_NOMEM;
	cap   = deflateBound(&z, len);
	bytes = malloc(cap);
	if (!bytes) {
		deflateEnd(&z);
		return ERR_NOMEM;
	}
	z.next_in   = data;
	z.avail_in  = (uInt)len;
	z.next_out  = (Bytef *)bytes;
	z.avail_out = (uInt)cap;
	ended       = deflate(&z, Z_FINISH);
	*out_len    = z.total_out;
	deflateEnd(&z);
	if (ended != Z_STREAM_END) { /* with so much room, never */
		free(bytes);
		return ERR_NOMEM;
	}
	*out = bytes;
	return ERR_OK;
}

uint32_t gzip_crc(const void *data, size_t len)
{
	return (uint32_t)crc32_z(0, data, len);
}

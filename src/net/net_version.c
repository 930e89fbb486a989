#include "net/net_version.h"

#include <libwebsockets.h>
#include <microhttpd.h>
#include <string.h>
#include <uv.h>

void net_print_versions(FILE *out)
{
	/* libwebsockets adds where it was built, which is nobody's business. */
	const char *lws = lws_get_library_version();

	fprintf(out, "libwebsockets %.*s\n", (int)strcspn(lws, "-"), lws);
	fprintf(out, "libuv %s\n", uv_version_string());
	fprintf(out, "libmicrohttpd %s\n", MHD_get_version());
}

/* Where the events are: beside the API. */
#include "coopctl/stream.h"

#include "base/auto.h"
#include "base/text.h"
#include "coopctl/client.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS_PART "admin-events"
#define EVENTS_NAME "events.sock"
#define HTTPS_PORT  443
#define NO_LISTENER "the server has no listener for events over TCP (admin.events_listen)"
#define OTHER_PLACE                                                                                                  \
	"the server's events are on another address than the URL's (admin.events_listen), where the token could be " \
	"read"
#define BAD_URL      "the URL has no host"
#define SCHEME_HTTPS "https://"

/* "127.0.0.1:80" or "[::1]:80" into both; the brackets go. Without a port it is `port`. */
static bool split(char *host, size_t cap, int *port, const char *address)
{
	const char *end   = strchr(address, '/') ? strchr(address, '/') : address + strlen(address);
	const char *close = address[0] == '[' ? strchr(address, ']') : NULL;
	const char *colon = strchr(close ? close : address, ':');
	const char *from  = close ? address + 1 : address;
	const char *to    = close ? close : colon && colon < end ? colon : end;

	if (colon && colon < end)
		*port = (int)strtol(colon + 1, NULL, 10);
	return to > from && text_format(host, cap, "%.*s", (int)(to - from), from);
}

static bool is_any(const char *host)
{
	return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static bool is_loopback(const char *host)
{
	return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 || strcmp(host, "localhost") == 0;
}

const char *stream_place_of(struct stream_place *out, const char *url, const json_t *listeners)
{
	const json_t *l;
	size_t        i;
	bool          found = false;

	*out = (struct stream_place){ .is_tls = strncmp(url, SCHEME_HTTPS, strlen(SCHEME_HTTPS)) == 0,
		                      .port   = HTTPS_PORT };
	if (!strstr(url, "://") || !split(out->host, sizeof(out->host), &out->port, strstr(url, "://") + 3))
		return BAD_URL;
	if (out->is_tls)
		return NULL;
	json_array_foreach(listeners, i, l)
	{
		const char *part      = json_string_value(json_object_get(l, "part"));
		const char *address   = json_string_value(json_object_get(l, "address"));
		char        host[256] = "";
		int         port      = 0;

		if (!part || !address || strcmp(part, EVENTS_PART) != 0 || address[0] == '/' ||
		    strncmp(address, "unix:", 5) == 0 || !split(host, sizeof(host), &port, address))
			continue;
		found     = true;
		out->port = port;
		/* By the URL's own name: it may be the near end of a tunnel. */
		if (is_any(host) || strcmp(host, out->host) == 0 || (is_loopback(host) && is_loopback(out->host)))
			return NULL;
	}
	return found ? OTHER_PLACE : NO_LISTENER;
}

static enum ctl_exit find_by_url(struct stream_place *out, struct ctl *c)
{
	json_t       *status = NULL;
	enum ctl_exit e      = client_get(&status, c, "/status");
	const char   *why;

	if (e != CTL_OK)
		return e;
	why = stream_place_of(out, c->where.url, json_object_get(status, "listeners"));
	if (why)
		e = ctl_fail(c, CTL_REFUSED, "no_listener", "%s; use --socket on the server's machine", why);
	json_decref(status);
	return e;
}

enum ctl_exit stream_find(struct stream_place *out, struct ctl *c, const char *events_socket)
{
	const char *slash = c->where.socket ? strrchr(c->where.socket, '/') : NULL;
	int         dir   = slash ? (int)(slash + 1 - c->where.socket) : 0;

	*out = (struct stream_place){ .port = 0 };
	if (!events_socket && c->where.url)
		return find_by_url(out, c);
	if (events_socket ? text_copy(out->socket, sizeof(out->socket), events_socket)
	                  : text_format(out->socket, sizeof(out->socket), "%.*s" EVENTS_NAME, dir, c->where.socket))
		return CTL_OK;
	return ctl_fail(c, CTL_USAGE, "usage", "the path of the events' socket is too long");
}

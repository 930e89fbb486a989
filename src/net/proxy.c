#include "net/proxy.h"

_Static_assert(M_PROXY_WS_MISSING == M_PROXY_WS_SEEN + 1 && M_PROXY_WS_BAD == M_PROXY_WS_SEEN + 2 &&
                       M_PROXY_HTTP_MISSING == M_PROXY_HTTP_SEEN + 1 && M_PROXY_HTTP_BAD == M_PROXY_HTTP_SEEN + 2,
               "rows of metric.def stand in the order that proxy_client counts in");

enum err proxy_client(struct addr *out, bool *forwarded, const struct addr *peer, const struct addr_nets *trusted,
                      const char *value, size_t len, enum metric seen)
{
	enum err e = addr_client(out, forwarded, peer, trusted, value, len);

	if (addr_nets_contain(trusted, peer))
		metric_inc((enum metric)(seen + (e != ERR_OK ? 2 : *forwarded ? 0 : 1)));
	return e;
}

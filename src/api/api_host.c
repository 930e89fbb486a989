/*
 * By which name a request came, and from which page: a page of somebody else's must reach nothing here, also when its name
 * leads to this machine.
 */
#include "api/api.h"
#include "base/text.h"
#include "conf/conf_lock.h"
#include "net/addr.h"

#include <string.h>

#define HOST_BYTES_MAX 255

/* The length of the name before the port, brackets included; 0: it is none with a port that can be. */
static size_t name_length(const char *host)
{
	const char *end  = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');
	size_t      name = !end ? strlen(host) : (size_t)(end - host) + (*end == ']');
	const char *port = host + name;
	int64_t     number;

	if (host[0] == '[' && !end)
		return 0;
	if (*port == '\0')
		return name;
	return *port == ':' && port[1] != '-' && text_to_int(&number, port + 1, 0, 65535) == ERR_OK ? name : 0;
}

static bool is_loopback_name(const char *name)
{
	struct addr a;

	if (text_same_nocase(name, "localhost"))
		return true;
	if (name[0] != '[' && strchr(name, ':'))
		return false;
	return addr_parse(&a, name, strlen(name), false) == ERR_OK && addr_is_loopback(&a);
}

bool api_host_is_ours(const struct conf *conf, const char *host)
{
	const struct conf_list *own = &conf->admin_hosts;
	char                    name[HOST_BYTES_MAX + 1];
	bool                    is_own = false;
	size_t                  len    = host && strlen(host) <= HOST_BYTES_MAX ? name_length(host) : 0;

	if (len == 0)
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	if (is_loopback_name(name))
		return true;
	conf_hold();
	for (size_t i = 0; i < own->count && !is_own; i++)
		is_own = text_same_nocase(own->words[i], name) || text_same_nocase(own->words[i], host);
	conf_let_go();
	return is_own;
}

bool api_origin_is_own(const char *origin, const char *host)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t i = 0; origin && host && *host && i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t len = strlen(schemes[i]);

		if (strncmp(origin, schemes[i], len) == 0 && text_same_nocase(origin + len, host))
			return true;
	}
	return false;
}

/*
 * Network addresses.
 *
 * Reading is strict, because a text that two programs read differently is how a stranger gets another's rights: glibc's
 * inet_pton takes no leading zeros, no zone and no blanks, and what it leaves open (a NUL inside, the length, brackets
 * and port) is checked here.
 */
#include "net/addr.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORWARDED_BYTES_MAX 1024
#define MAPPED_BITS         96 /* of ::ffff:0:0/96, IPv4 inside IPv6 */

/* The last byte of a key; it keeps the kinds apart, since no prefix reaches that far. */
enum key_kind { KEY_NONE = ADDR_NONE, KEY_UNIX = ADDR_UNIX, KEY_IPV4 = ADDR_IPV4, KEY_IPV6 = ADDR_IPV6, KEY_IPV6_WIDE };

static atomic_bool log_whole;

static bool is_mapped(const uint8_t ip[16])
{
	static const uint8_t prefix[MAPPED_BITS / 8] = { [10] = 0xff, [11] = 0xff };

	return memcmp(ip, prefix, sizeof(prefix)) == 0;
}

static void set_ipv4(struct addr *out, const void *ip)
{
	out->family = ADDR_IPV4;
	memset(out->ip, 0, sizeof(out->ip));
	memcpy(out->ip, ip, 4);
}

static void set_ipv6(struct addr *out, const void *ip)
{
	out->family = ADDR_IPV6;
	memcpy(out->ip, ip, sizeof(out->ip));
	if (is_mapped(out->ip))
		set_ipv4(out, (const uint8_t *)ip + MAPPED_BITS / 8);
}

void addr_of_sockaddr(struct addr *out, const struct sockaddr *sa, socklen_t len)
{
	struct sockaddr_in  in4;
	struct sockaddr_in6 in6;

	*out = (struct addr){ .family = ADDR_NONE };
	if (len < sizeof(sa->sa_family))
		return;
	if (sa->sa_family == AF_UNIX) {
		out->family = ADDR_UNIX;
	} else if (sa->sa_family == AF_INET && len >= sizeof(in4)) {
		memcpy(&in4, sa, sizeof(in4));
		set_ipv4(out, &in4.sin_addr);
		out->port = ntohs(in4.sin_port);
	} else if (sa->sa_family == AF_INET6 && len >= sizeof(in6)) {
		memcpy(&in6, sa, sizeof(in6));
		set_ipv6(out, &in6.sin6_addr);
		out->port = ntohs(in6.sin6_port);
	}
}

void addr_to_sockaddr(struct sockaddr_storage *out, socklen_t *len, const struct addr *a)
{
	memset(out, 0, sizeof(*out));
	if (a->family == ADDR_IPV4) {
		struct sockaddr_in in4 = { .sin_family = AF_INET, .sin_port = htons(a->port) };

		memcpy(&in4.sin_addr, a->ip, sizeof(in4.sin_addr));
		memcpy(out, &in4, sizeof(in4));
		*len = sizeof(in4);
	} else {
		struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(a->port) };

		memcpy(&in6.sin6_addr, a->ip, sizeof(in6.sin6_addr));
		memcpy(out, &in6, sizeof(in6));
		*len = sizeof(in6);
	}
}

/* Digits without a leading zero, at most max. */
static enum err parse_number(unsigned *out, const char *text, size_t len, unsigned max)
{
	unsigned n = 0;

	if (len == 0 || len > 5 || (len > 1 && text[0] == '0'))
		return ERR_MALFORMED;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return ERR_MALFORMED;
		n = n * 10 + (unsigned)(text[i] - '0');
	}
	if (n > max)
		return ERR_MALFORMED;
	*out = n;
	return ERR_OK;
}

static enum err parse_ip(struct addr *out, enum addr_family family, const char *text, size_t len)
{
	char            word[INET6_ADDRSTRLEN + 1];
	struct in_addr  in4;
	struct in6_addr in6;

	if (len == 0 || len >= sizeof(word) || memchr(text, '\0', len))
		return ERR_MALFORMED;
	memcpy(word, text, len);
	word[len] = '\0';

	*out = (struct addr){ .family = ADDR_NONE };
	if (family == ADDR_IPV4 && inet_pton(AF_INET, word, &in4) == 1)
		set_ipv4(out, &in4);
	else if (family == ADDR_IPV6 && inet_pton(AF_INET6, word, &in6) == 1)
		set_ipv6(out, &in6);
	return out->family == ADDR_NONE ? ERR_MALFORMED : ERR_OK;
}

/* How a text may end: a proxy writes an entry with or without a port. */
enum port_rule { PORT_NEVER, PORT_MAYBE, PORT_ALWAYS };

static enum err parse_with(struct addr *out, const char *text, size_t len, enum port_rule rule)
{
	struct addr      a;
	enum addr_family family = ADDR_IPV6;
	const char      *ip = text, *port = NULL;
	size_t           ip_len = len;
	unsigned         number = 0;

	if (len > 0 && text[0] == '[') {
		const char *bracket = memchr(text, ']', len);

		if (!bracket)
			return ERR_MALFORMED;
		ip     = text + 1;
		ip_len = (size_t)(bracket - ip);
		if (bracket + 1 < text + len)
			port = bracket + 1;
	} else if (len > 0) {
		const char *colon = memchr(text, ':', len);
		size_t      after = colon ? (size_t)(text + len - colon - 1) : 0;

		if (!colon) {
			family = ADDR_IPV4;
		} else if (!memchr(colon + 1, ':', after)) {
			family = ADDR_IPV4;
			ip_len = (size_t)(colon - text);
			port   = colon;
		}
	}

	if (parse_ip(&a, family, ip, ip_len) != ERR_OK)
		return ERR_MALFORMED;
	if (port ? rule == PORT_NEVER : rule == PORT_ALWAYS)
		return ERR_MALFORMED;
	if (port && (*port != ':' || parse_number(&number, port + 1, (size_t)(text + len - port - 1), 65535) != ERR_OK))
		return ERR_MALFORMED;
	a.port = (uint16_t)number;
	*out   = a;
	return ERR_OK;
}

enum err addr_parse(struct addr *out, const char *text, size_t len, bool port)
{
	return parse_with(out, text, len, port ? PORT_ALWAYS : PORT_NEVER);
}

static enum err parse_net(struct addr_net *out, const char *word)
{
	size_t      len    = strlen(word);
	const char *slash  = memchr(word, '/', len);
	size_t      ip_len = slash ? (size_t)(slash - word) : len;
	unsigned    prefix;

	/* How long a prefix may be depends on how the address is written: ::ffff:1.2.3.0/120 is 1.2.3.0/24. */
	bool     written_ipv6 = memchr(word, ':', ip_len) != NULL;
	unsigned longest      = written_ipv6 ? 128 : 32;

	if (addr_parse(&out->base, word, ip_len, false) != ERR_OK)
		return ERR_MALFORMED;
	prefix = longest;
	if (slash && parse_number(&prefix, slash + 1, len - ip_len - 1, longest) != ERR_OK)
		return ERR_MALFORMED;
	if (written_ipv6 && out->base.family == ADDR_IPV4) {
		if (prefix < MAPPED_BITS)
			return ERR_MALFORMED;
		prefix -= MAPPED_BITS;
	}
	out->prefix = (uint8_t)prefix;
	return ERR_OK;
}

enum err addr_nets_parse(struct addr_nets *out, char *const *words, size_t count)
{
	*out = (struct addr_nets){ 0 };
	if (count == 0 || (count == 1 && strcmp(words[0], "none") == 0))
		return ERR_OK;
	out->nets = calloc(count, sizeof(*out->nets));
	if (!out->nets)
		return ERR_NOMEM;
	for (; out->count < count; out->count++) {
		if (parse_net(&out->nets[out->count], words[out->count]) != ERR_OK) {
			addr_nets_fini(out);
			return ERR_MALFORMED;
		}
	}
	return ERR_OK;
}

void addr_nets_fini(struct addr_nets *nets)
{
	free(nets->nets);
	*nets = (struct addr_nets){ 0 };
}

/* Whether both begin with the same so many bits. */
static bool begin_alike(const struct addr *a, const struct addr *b, size_t bits)
{
	size_t  whole = bits / 8, rest = bits % 8;
	uint8_t mask = (uint8_t)(0xff00 >> rest);

	if (a->family != b->family || memcmp(a->ip, b->ip, whole) != 0)
		return false;
	return rest == 0 || ((a->ip[whole] ^ b->ip[whole]) & mask) == 0;
}

bool addr_net_contains(const struct addr_net *net, const struct addr *a)
{
	return begin_alike(&net->base, a, net->prefix);
}

bool addr_net_meets(const struct addr_net *a, const struct addr_net *b)
{
	return begin_alike(&a->base, &b->base, a->prefix < b->prefix ? a->prefix : b->prefix);
}

enum err addr_net_parse(struct addr_net *out, const char *word)
{
	struct addr_net net;
	size_t          whole, rest;

	if (parse_net(&net, word) != ERR_OK)
		return ERR_MALFORMED;
	whole = net.prefix / 8;
	rest  = net.prefix % 8;
	if (rest > 0)
		net.base.ip[whole] &= (uint8_t)(0xff00 >> rest);
	whole += rest > 0;
	memset(net.base.ip + whole, 0, sizeof(net.base.ip) - whole);
	*out = net;
	return ERR_OK;
}

void addr_net_text(char out[ADDR_NET_TEXT_BYTES], const struct addr_net *net)
{
	char ip[ADDR_TEXT_BYTES];

	addr_text(ip, &net->base);
	if (net->prefix == (net->base.family == ADDR_IPV4 ? 32 : 128))
		text_copy(out, ADDR_NET_TEXT_BYTES, ip);
	else
		text_format(out, ADDR_NET_TEXT_BYTES, "%s/%u", ip, (unsigned)net->prefix);
}

bool addr_nets_contain(const struct addr_nets *nets, const struct addr *a)
{
	for (size_t i = 0; i < nets->count; i++) {
		if (addr_net_contains(&nets->nets[i], a))
			return true;
	}
	return false;
}

bool addr_is_loopback(const struct addr *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	return (a->family == ADDR_IPV4 && a->ip[0] == 127) ||
	       (a->family == ADDR_IPV6 && memcmp(a->ip, one, sizeof(one)) == 0);
}

void addr_text(char out[ADDR_TEXT_BYTES], const struct addr *a)
{
	if (a->family == ADDR_IPV4)
		inet_ntop(AF_INET, a->ip, out, ADDR_TEXT_BYTES);
	else if (a->family == ADDR_IPV6)
		inet_ntop(AF_INET6, a->ip, out, ADDR_TEXT_BYTES);
	else
		text_copy(out, ADDR_TEXT_BYTES, a->family == ADDR_UNIX ? "unix" : "none");
}

void addr_text_port(char out[ADDR_TEXT_BYTES], const struct addr *a)
{
	char ip[INET6_ADDRSTRLEN];

	if (a->family == ADDR_IPV4) {
		inet_ntop(AF_INET, a->ip, ip, sizeof(ip));
		text_format(out, ADDR_TEXT_BYTES, "%s:%u", ip, a->port);
	} else if (a->family == ADDR_IPV6) {
		inet_ntop(AF_INET6, a->ip, ip, sizeof(ip));
		text_format(out, ADDR_TEXT_BYTES, "[%s]:%u", ip, a->port);
	} else {
		addr_text(out, a);
	}
}

void addr_log_whole(bool whole)
{
	atomic_store(&log_whole, whole);
}

void addr_text_log(char out[ADDR_TEXT_BYTES], const struct addr *a)
{
	bool        is_ip = a->family == ADDR_IPV4 || a->family == ADDR_IPV6;
	size_t      keep  = a->family == ADDR_IPV4 ? 3 : 6;
	struct addr cut   = *a;
	size_t      len;

	if (!is_ip || atomic_load(&log_whole)) {
		addr_text(out, a);
		return;
	}
	memset(cut.ip + keep, 0, sizeof(cut.ip) - keep);
	addr_text(out, &cut);
	len = strlen(out);
	text_format(out + len, ADDR_TEXT_BYTES - len, "/%zu", keep * 8);
}

static void make_key(uint8_t out[ADDR_KEY_BYTES], const struct addr *a, size_t bytes, enum key_kind kind)
{
	memset(out, 0, ADDR_KEY_BYTES);
	memcpy(out, a->ip, bytes);
	out[ADDR_KEY_BYTES - 1] = (uint8_t)kind;
}

void addr_key(uint8_t out[ADDR_KEY_BYTES], const struct addr *a)
{
	static const uint8_t bytes[] = { [ADDR_IPV4] = 4, [ADDR_IPV6] = 8 };

	make_key(out, a, bytes[a->family], (enum key_kind)a->family);
}

bool addr_key_wide(uint8_t out[ADDR_KEY_BYTES], const struct addr *a)
{
	if (a->family != ADDR_IPV6)
		return false;
	make_key(out, a, 6, KEY_IPV6_WIDE);
	return true;
}

/* Cuts the last entry off value: *entry is it without blanks, and what is left ends before its comma. */
static bool take_last(const char *value, size_t *len, const char **entry, size_t *entry_len)
{
	size_t at = *len;

	while (at > 0 && value[at - 1] != ',')
		at--;
	*entry     = value + at;
	*entry_len = *len - at;
	text_trim(entry, entry_len);
	*len = at > 0 ? at - 1 : 0;
	return at > 0;
}

enum err addr_client(struct addr *out, bool *forwarded, const struct addr *peer, const struct addr_nets *trusted,
                     const char *value, size_t len)
{
	const char *entry     = value;
	size_t      entry_len = len;
	struct addr hop;
	bool        more;

	*forwarded = false;
	*out       = *peer;
	if (!value || !addr_nets_contain(trusted, peer))
		return ERR_OK;
	text_trim(&entry, &entry_len);
	if (entry_len == 0)
		return ERR_OK;
	if (len > FORWARDED_BYTES_MAX)
		return ERR_MALFORMED;

	do {
		more = take_last(value, &len, &entry, &entry_len);
		if (parse_with(&hop, entry, entry_len, PORT_MAYBE) != ERR_OK)
			return ERR_MALFORMED;
	} while (more && addr_nets_contain(trusted, &hop));

	/* The port a proxy may name is one of its connection to the client, not of anything that is used here. */
	hop.port   = 0;
	*out       = hop;
	*forwarded = true;
	return ERR_OK;
}

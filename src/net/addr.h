/*
 * Network addresses: parsed, printed, put into buckets for limits, and found in the forwarding field of a proxy.
 *
 * Nothing here asks the system for anything. IPv4 inside IPv6 (::ffff:1.2.3.4) is IPv4 everywhere.
 */
#ifndef NET_ADDR_H
#define NET_ADDR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDR_TEXT_BYTES 56 /* "[" IPv6 "]:65535" and a NUL */
#define ADDR_KEY_BYTES  16

enum addr_family { ADDR_NONE, ADDR_UNIX, ADDR_IPV4, ADDR_IPV6 };

struct addr {
	enum addr_family family;
	uint8_t          ip[16]; /* network order; IPv4 uses the first 4, the rest are 0 */
	uint16_t         port;
};

/* A set of networks: trusted proxies, allow lists. */
struct addr_net {
	struct addr base;
	uint8_t     prefix; /* leading bits that count */
};
struct addr_nets {
	struct addr_net *nets;
	size_t           count;
};

/* From what accept or getpeername gave. */
void addr_of_sockaddr(struct addr *out, const struct sockaddr *sa, socklen_t len);

/* The sockaddr for bind or connect; *len is its length. IPv4 and IPv6 only. */
void addr_to_sockaddr(struct sockaddr_storage *out, socklen_t *len, const struct addr *a);

/* "1.2.3.4", "::1", "[::1]"; with a port when port is true ("1.2.3.4:80", "[::1]:80"). ERR_MALFORMED otherwise. */
enum err addr_parse(struct addr *out, const char *text, size_t len, bool port);

/*
 * "1.2.3.4" or "1.2.3.0/24" words; the single word "none" or no word: an empty set. For addr_nets_fini.
 * ERR_MALFORMED, ERR_NOMEM; the set is empty then.
 */
enum err addr_nets_parse(struct addr_nets *out, char *const *words, size_t count);
void     addr_nets_fini(struct addr_nets *nets);
bool     addr_nets_contain(const struct addr_nets *nets, const struct addr *a);

/*
 * One of them. What the prefix does not cover of the base is zeros: 1.2.3.4/24 is 1.2.3.0/24. ERR_MALFORMED. Its text is the
 * same for the same network, and has no prefix when that is the whole address.
 */
#define ADDR_NET_TEXT_BYTES (ADDR_TEXT_BYTES + 4)
enum err addr_net_parse(struct addr_net *out, const char *word);
void     addr_net_text(char out[ADDR_NET_TEXT_BYTES], const struct addr_net *net);
bool     addr_net_contains(const struct addr_net *net, const struct addr *a);
bool     addr_net_meets(const struct addr_net *a, const struct addr_net *b); /* they share an address */

bool addr_is_loopback(const struct addr *a);

/* Without port; with port. "unix" and "none" for what has no number. */
void addr_text(char out[ADDR_TEXT_BYTES], const struct addr *a);
void addr_text_port(char out[ADDR_TEXT_BYTES], const struct addr *a);

/* For logs: cut to /24 and /48 unless addr_log_whole(true) was called. */
void addr_text_log(char out[ADDR_TEXT_BYTES], const struct addr *a);
void addr_log_whole(bool whole);

/* What limits count by: IPv4 whole, IPv6 as /64, all of AF_UNIX as one. Unequal families give unequal keys. */
void addr_key(uint8_t out[ADDR_KEY_BYTES], const struct addr *a);

/* The wider one: IPv6 as /48; false for the others, which have none. */
bool addr_key_wide(uint8_t out[ADDR_KEY_BYTES], const struct addr *a);

/*
 * The client behind a proxy. value is the content of the forwarding field, several lines joined in order by commas;
 * NULL or blank: there was none. From a peer that is not in trusted, or without a field, the client is the peer, and
 * *forwarded is false. Otherwise the entries are walked from the right past those that are themselves in trusted, and
 * the first other one counts (the leftmost when all are). An entry may carry a port, which is ignored: the result has
 * port 0. ERR_MALFORMED when an entry that is looked at is no address, or value is over 1024 bytes; *out is peer then.
 */
enum err addr_client(struct addr *out, bool *forwarded, const struct addr *peer, const struct addr_nets *trusted,
                     const char *value, size_t len);

#endif

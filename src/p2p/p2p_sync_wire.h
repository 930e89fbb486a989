/*
 * The sync payload: three keys, then the users of a room with their addresses.
 *
 *	encryption key 16 | IV 16 | MAC key 16 | users...
 *	user	id size u32 | id | list size u32 | list, in base64
 *	list	(address size u32 | address as text)...		the first is the public one
 *
 * Integers are big endian.  Pure.
 */
#ifndef P2P_P2P_SYNC_WIRE_H
#define P2P_P2P_SYNC_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define P2P_SYNC_KEYS_BYTES    48
#define P2P_SYNC_BYTES_MAX     65535
#define P2P_USERS_MAX          64
#define P2P_USER_ID_BYTES      64
#define P2P_ADDRESSES_MAX      9 /* the public one and eight local ones */
#define P2P_ADDRESS_TEXT_BYTES 64

struct p2p_sync_user {
	const char *id;
	size_t      id_len;
	size_t      address_count;
	struct {
		const char *text;
		size_t      len;
	} addresses[P2P_ADDRESSES_MAX];
};

enum p2p_sync_says {
	P2P_SYNC_FINE,
	P2P_SYNC_BAD_USER_ID,
	P2P_SYNC_TOO_LARGE,
	P2P_SYNC_BAD_ADDRESS,
	P2P_SYNC_SHORT_KEYS,
	P2P_SYNC_TRUNCATED,
	P2P_SYNC_BAD_BASE64
};

/* Writes at most cap bytes (P2P_SYNC_BYTES_MAX is enough for any); *len is untouched unless FINE, out may hold anything then. */
enum p2p_sync_says p2p_sync_build(uint8_t *out, size_t cap, size_t *len, const uint8_t keys[P2P_SYNC_KEYS_BYTES],
                                  const struct p2p_sync_user *users, size_t count);

/*
 * Reads one: each is called for every user, in order, only when all of it is right (it is looked through first). Addresses lie
 * in scratch, which is as large as the payload. Addresses are not judged, but an empty one, or one over
 * P2P_ADDRESS_TEXT_BYTES, is BAD_ADDRESS; more than P2P_ADDRESSES_MAX of them, more than P2P_USERS_MAX users, or a payload over
 * P2P_SYNC_BYTES_MAX is TOO_LARGE, so that what is read here can be built again.
 */
enum p2p_sync_says p2p_sync_parse(const uint8_t *payload, size_t len, uint8_t *scratch,
                                  void (*each)(void *arg, const struct p2p_sync_user *user), void *arg);

#endif

/*
 * Who may not come in: the bans, as every listener asks them at every connection, request and UDP datagram.
 *
 *	sql --server_bans--> ban_add ... ban_has_address, ban_has_player, ban_has_identity, ban_has_name --> refused
 *	operator --> ban_add, then for each part X_ban(part, ban, true): who is there already is ended
 *
 * There is one table in a process, as there is one of figures and one log: whoever accepts anything asks it, and none of
 * them could do without. Any thread may call any of these. Without a ban of that kind an answer costs one atomic load; with
 * ten thousand a few look-ups in hash tables, one for each length of prefix that is in use.
 *
 * Add a ban first and end connections then: what comes in between is refused already, so that nobody slips through.
 */
#ifndef NET_BAN_H
#define NET_BAN_H

#include "base/err.h"
#include "net/addr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As the database has them. */
enum ban_kind { BAN_ADDRESS, BAN_PLAYER, BAN_IDENTITY, BAN_NAME, BAN_KINDS };

#define BAN_VALUE_BYTES    72 /* with a NUL */
#define BAN_PLAYER_BYTES   8  /* of a player's id */
#define BAN_IDENTITY_BYTES 32 /* the key of lobbies and signaling */
#define BAN_TITLE_BYTES    12 /* of the rooms; shorter ones are filled with zeros, as names are */
#define BAN_NAME_BYTES     16

struct ban {
	int64_t         id;
	enum ban_kind   kind;
	int64_t         until_ms; /* wall; 0: for ever */
	struct addr_net net;
	uint8_t         player[BAN_PLAYER_BYTES];
	uint8_t         identity[BAN_IDENTITY_BYTES];
	bool            has_title; /* NAME: in this title only */
	uint8_t         title[BAN_TITLE_BYTES];
	uint8_t         name[BAN_NAME_BYTES];   /* folded */
	char            value[BAN_VALUE_BYTES]; /* as people read it: the same text for the same ban */
};

const char *ban_kind_name(enum ban_kind kind);                 /* "address", "player", "identity", "name" */
bool        ban_kind_of(enum ban_kind *out, const char *name); /* false: it is none */

/*
 * What is banned, from text: an address or a network of them ("::ffff:1.2.3.4" is 1.2.3.4); 16 hex digits; 64 hex digits, with
 * "gen:" before them or not; an online id, or a title, a slash and an online id. An online id or title that has a slash or
 * begins with ~ is written as ~ and its bytes in hex, as api_put_key writes it. ERR_MALFORMED. id and until_ms are 0.
 */
enum err ban_parse(struct ban *out, enum ban_kind kind, const char *value);

/* Whether the ban is meant for this one; false for a ban of another kind. name: in any case. */
bool ban_is_address(const struct ban *b, const struct addr *a);
bool ban_is_player(const struct ban *b, const uint8_t id[BAN_PLAYER_BYTES]);
bool ban_is_identity(const struct ban *b, const uint8_t key[BAN_IDENTITY_BYTES]);
bool ban_is_name(const struct ban *b, const uint8_t title[BAN_TITLE_BYTES], const uint8_t name[BAN_NAME_BYTES]);

/* Whether this one is banned now, by the wall clock. Each true counts as a hit of the ban. */
bool ban_has_address(const struct addr *a);
bool ban_has_player(const uint8_t id[BAN_PLAYER_BYTES]);
bool ban_has_identity(const uint8_t key[BAN_IDENTITY_BYTES]);
bool ban_has_name(const uint8_t title[BAN_TITLE_BYTES], const uint8_t name[BAN_NAME_BYTES]);

/* The same of a player without a hit: for those who only show him. */
bool ban_holds_player(const uint8_t id[BAN_PLAYER_BYTES]);

/* Copies it; in place of one of the same value that is over. ERR_EXISTS: its value or its id is there; ERR_NOMEM. */
enum err ban_add(const struct ban *b);
void     ban_remove(int64_t id); /* nothing when it is not there */

/* How often it refused somebody since the start, or since it was added; 0 for one that is not there. */
int64_t ban_hits(int64_t id);

size_t ban_count(void); /* that hold now */
void   ban_sweep(void); /* forgets those that are over */
void   ban_clear(void); /* all of them; the last thing in a process */

#endif

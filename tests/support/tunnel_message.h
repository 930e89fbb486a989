/*
 * The messages of the game tunnel as patterns, for tests to send and to expect. They are put together here a second
 * time, straight from the layouts of the protocol and without the server's own code, so that a mistake there shows.
 *
 * Each function clears p and writes one message. Names are those of the opcodes; _1 is the form of protocol 1.
 */
#ifndef TESTS_TUNNEL_MESSAGE_H
#define TESTS_TUNNEL_MESSAGE_H

#include "support/pattern.h"

#include <stddef.h>
#include <stdint.h>

#define KEY_BYTES    16
#define ID_BYTES     8
#define TOKEN_BYTES  8
#define SECRET_BYTES 8
#define PATH_BYTES   6

enum { STATE_RESTARTING = 1, STATE_READY, STATE_LOST, STATE_CLOSED };

/*
 * Keys and tokens go by name in tests: "A" is the first bytes of a hash of "A". A name of exactly the right number of
 * hex digits stands for those bytes instead.
 */
void key_of(uint8_t key[KEY_BYTES], const char *name);
void id_of(uint8_t id[ID_BYTES], const char *key_name);
void token_of(uint8_t token[TOKEN_BYTES], const char *name);

/* From a client. token NULL: none in the message; paths are 6 bytes each. */
void msg_host_open(struct pattern *p, const char *key);
void msg_host_open_1(struct pattern *p, unsigned code, const uint8_t secret[SECRET_BYTES]);
void msg_join(struct pattern *p, uint32_t code, const char *token, const char *key);
void msg_join_1(struct pattern *p, unsigned code, const char *token);
void msg_echo(struct pattern *p, uint32_t clock);
void msg_from_host(struct pattern *p, unsigned number, const void *data, size_t len);
void msg_from_friend(struct pattern *p, const void *data, size_t len);
void msg_paths_from_friend(struct pattern *p, const char *token, unsigned count, const void *paths, size_t paths_len);
void msg_paths_from_host(struct pattern *p, unsigned number, unsigned count, const void *paths, size_t paths_len);

/* Both ways. */
void msg_game_state(struct pattern *p, unsigned state);

/* From the server. Code and secret are left open; HOST_OPENED's numbers begin at byte 1. */
void msg_host_opened(struct pattern *p, const char *key);
void msg_host_opened_1(struct pattern *p);
void msg_fault(struct pattern *p, unsigned fault);
void msg_joined(struct pattern *p, unsigned state);
void msg_joined_1(struct pattern *p);
void msg_friend_is(struct pattern *p, unsigned number, const char *key);
void msg_friend_gone(struct pattern *p, unsigned number);
void msg_to_host(struct pattern *p, unsigned number, const void *data, size_t len);
void msg_to_friend(struct pattern *p, const void *data, size_t len);
void msg_paths_to_host(struct pattern *p, unsigned number, const char *token, unsigned count, const void *paths,
                       size_t paths_len);
void msg_paths_to_friend(struct pattern *p, unsigned count, const void *paths, size_t paths_len);

/* Numbers of a received message. */
unsigned read_u16(const uint8_t *data);
uint32_t read_u32(const uint8_t *data);

#endif

/*
 * Hosts and friends for tests: a WebSocket client and the messages of the tunnel. What they expect ends the test when
 * it does not come. Keys and tokens go by name (tunnel_message.h).
 *
 *	uint32_t          code;
 *	struct ws_client *host   = host_open(port, "A", &code);
 *	struct ws_client *friend = friend_join(port, code, "visit", "B");
 *
 *	host_expect_friend(host, 1, "B");
 *	friend_send(friend, "hi", 2);
 *	host_expect_datagram(host, 1, "hi", 2);
 */
#ifndef TESTS_TUNNEL_CLIENT_H
#define TESTS_TUNNEL_CLIENT_H

#include "support/tunnel_message.h"
#include "support/ws_client.h"

#include <stddef.h>
#include <stdint.h>

/* A protocol 1 host's right to his game. */
struct tunnel_ticket {
	unsigned code;
	uint8_t  secret[SECRET_BYTES];
};

/* A connection without a role; from NULL, or the client address that a proxy would name. */
struct ws_client *tunnel_connect(int port, const char *from);

/* Opens on a new connection and waits for the answer. code may be NULL. */
struct ws_client *host_open(int port, const char *key, uint32_t *code);
struct ws_client *host_open_from(int port, const char *from, const char *key, uint32_t *code);

/* Protocol 1: old NULL for a new game. *got is the code and secret of the answer. */
struct ws_client *host_open_1(int port, const struct tunnel_ticket *old, struct tunnel_ticket *got);

/* Joins on a new connection and expects JOINED with this state. */
struct ws_client *friend_join_state(int port, uint32_t code, const char *token, const char *key, unsigned state);
struct ws_client *friend_join(int port, uint32_t code, const char *token, const char *key); /* STATE_READY */
struct ws_client *friend_join_1(int port, unsigned code, const char *token);

/* Datagrams. */
bool host_send(struct ws_client *host, unsigned number, const void *data, size_t len);
bool friend_send(struct ws_client *c, const void *data, size_t len);
#define host_expect_datagram(c, number, data, len) host_expect_datagram_at(__FILE__, __LINE__, c, number, data, len)
#define friend_expect_datagram(c, data, len)       friend_expect_datagram_at(__FILE__, __LINE__, c, data, len)
void host_expect_datagram_at(const char *file, int line, struct ws_client *c, unsigned number, const void *data,
                             size_t len);
void friend_expect_datagram_at(const char *file, int line, struct ws_client *c, const void *data, size_t len);

/* What hosts and friends are told. */
bool host_send_state(struct ws_client *host, unsigned state);
#define host_expect_friend(c, number, key) host_expect_friend_at(__FILE__, __LINE__, c, number, key)
#define host_expect_gone(c, number)        host_expect_gone_at(__FILE__, __LINE__, c, number)
#define friend_expect_state(c, state)      friend_expect_state_at(__FILE__, __LINE__, c, state)
#define tunnel_expect_fault(c, fault)      tunnel_expect_fault_at(__FILE__, __LINE__, c, fault)
void host_expect_friend_at(const char *file, int line, struct ws_client *c, unsigned number, const char *key);
void host_expect_gone_at(const char *file, int line, struct ws_client *c, unsigned number);
void friend_expect_state_at(const char *file, int line, struct ws_client *c, unsigned state);
void tunnel_expect_fault_at(const char *file, int line, struct ws_client *c, unsigned fault); /* and the close */

/*
 * Sends ECHO and waits for its answer as the next message: whatever the server did about this connection's earlier
 * messages is done then.
 */
#define tunnel_echo(c) tunnel_echo_at(__FILE__, __LINE__, c)
void tunnel_echo_at(const char *file, int line, struct ws_client *c);

#endif

/*
 * A bare control channel of peer to peer: a test says and hears its texts as they are.
 *
 *	struct ws_client *c = p2p_raw_open(server, NULL);
 *
 *	p2p_raw_hello(c, 1);
 *	cr_expect(strstr(p2p_raw_ask(c, "{\"op\":\"nat.get\",\"id\":%d}", 7), "\"ok\":true"));
 *	ws_client_free(c);
 *
 * What does not come within DIAL_PATIENCE_MS ends the test.
 */
#ifndef TESTS_P2P_RAW_H
#define TESTS_P2P_RAW_H

#include "support/server.h"
#include "support/ws_client.h"

/* It answers pings. client: whom a proxy names (limits hold for him); NULL: this machine (they do not). */
struct ws_client *p2p_raw_open(const struct server *s, const char *client);

/* The same, but nothing is answered by itself. */
struct ws_client *p2p_raw_open_mute(const struct server *s);

void p2p_raw_say(struct ws_client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next text, until the next call. */
const char *p2p_raw_hear(struct ws_client *c);

/* Both. */
const char *p2p_raw_ask(struct ws_client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* p2p.hello of the player of this number, which must be welcome: the answer. */
const char *p2p_raw_hello(struct ws_client *c, int player);

/* The payload of the next ping, of a mute one. */
void p2p_raw_ping(uint8_t payload[8], struct ws_client *c);

/* How it ends, whatever comes before: the status of the close, 0 without one. */
int p2p_raw_end(struct ws_client *c);

/* The text of a member of an object in text, copied to out; ends the test when there is none. */
void p2p_raw_text(char *out, size_t cap, const char *text, const char *key);

/* Whether text has all of these, which are separated by blanks. */
bool p2p_raw_has(const char *text, const char *parts);

#endif

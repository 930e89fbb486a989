/*
 * What the files of the peer-to-peer client share, for them alone. on_... is told what came, tick_... does what is due and
 * returns when it next is (INT64_MAX: never).
 */
#ifndef TESTS_P2P_CLIENT_INSIDE_H
#define TESTS_P2P_CLIENT_INSIDE_H

#include "support/p2p_client.h"

#include <jansson.h>

/* p2p_client.c */
int  p2p_client_socket(struct p2p_client *c); /* a new one, in its namespace; -1: none to be had */
void p2p_client_datagram(struct p2p_client *c, int fd, const struct p2p_client_address *to, const void *bytes,
                         size_t len);
/* The same to another player: it may get lost. */
void p2p_client_to_player(struct p2p_client *c, const struct p2p_client_address *to, const void *bytes, size_t len);

/* p2p_client_channel.c */
void    p2p_client_on_text(struct p2p_client *c, const uint8_t *text, size_t len, int64_t now_ms);
int64_t p2p_client_send(struct p2p_client *c, const char *op, const char *members); /* the request's id */
void    p2p_client_tell(struct p2p_client *c, const char *op, const char *members); /* without an id: no answer */
void    p2p_client_frame(struct p2p_client *c, const struct p2p_client_frame *f);
void    p2p_client_copy_text(char *out, size_t cap, const json_t *j, const char *key); /* "" when it is not there */

/* p2p_client_nat.c */
void    p2p_client_begin_hello(struct p2p_client *c, int64_t now_ms);
void    p2p_client_on_mapped(struct p2p_client *c, const json_t *j);
void    p2p_client_on_step(struct p2p_client *c, const json_t *j, int64_t now_ms);
void    p2p_client_on_checked(struct p2p_client *c, const json_t *j);
void    p2p_client_on_packet(struct p2p_client *c, int fd, const struct p2p_client_packet *p,
                             const struct p2p_client_address *from, int64_t now_ms);
int64_t p2p_client_tick_nat(struct p2p_client *c, int64_t now_ms);

/* p2p_client_punch.c */
void p2p_client_on_sync(struct p2p_client *c, const struct p2p_client_frame *f);
void p2p_client_on_started(struct p2p_client *c, const json_t *j, int64_t now_ms);
void p2p_client_on_addr(struct p2p_client *c, const json_t *j);
void p2p_client_on_member(struct p2p_client *c, const json_t *j);
void p2p_client_on_player(struct p2p_client *c, const uint8_t *bytes, size_t len, const struct p2p_client_address *from,
                          int64_t now_ms);
int64_t        p2p_client_tick_punch(struct p2p_client *c, int64_t now_ms);
const uint8_t *p2p_client_mac(const struct p2p_client *c);

/* p2p_client_link.c */
void    p2p_client_on_groups(struct p2p_client *c, const json_t *j);
void    p2p_client_on_sent(struct p2p_client *c, const json_t *j);
void    p2p_client_on_done(struct p2p_client *c, const json_t *j);
void    p2p_client_on_frame(struct p2p_client *c, const struct p2p_client_frame *f, int64_t now_ms);
void    p2p_client_on_link(struct p2p_client *c, const struct p2p_client_link *l, const struct p2p_client_address *from,
                           int64_t now_ms);
int64_t p2p_client_tick_link(struct p2p_client *c, int64_t now_ms);

#endif

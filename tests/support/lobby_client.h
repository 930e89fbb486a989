/*
 * Hosts and players of the lobby master: each request on a connection of its own, from whatever address the test says
 * (as a proxy on this machine would).
 *
 *	struct master_host h;
 *
 *	master_open(&h, s, "203.0.113.7", J("'name':'island'"));
 *	cr_expect_eq(master_beat(&h, s, J("'players_cur':2")), 200);
 *	cr_expect(master_is_listed(s, h.id));
 *
 * Answers are read with the rest_ functions of rest_client.h.
 */
#ifndef TESTS_LOBBY_CLIENT_H
#define TESTS_LOBBY_CLIENT_H

#include "support/rest_client.h"
#include "support/server.h"

#include <stdbool.h>

#define LOBBY_PATIENCE_MS 30000

/* An identity that is well-formed, and nobody's. */
#define LOBBY_IDENTITY "gen:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define LOBBY_GAME     "0.9.0a"

/* Settings under which the list shows a change at once; the first of a test's own. */
#define LOBBY_PROMPT "limits.lobby_list_ms=0"

/* JSON as it can be read in a test, with ' for ". Until the eighth call after this one. */
const char *master_json(const char *text);
#define J master_json

/* What a host has of his lobby. */
struct master_host {
	char from[64]; /* his address */
	char session[40], id[24], token[40], identity[72];
};

/* A POST of this body from this address (NULL: without a forwarding field, as somebody on this machine). */
struct http_result master_post(const struct server *s, const char *from, const char *path, const char *body);

/* The same with further lines of the head, each with its CR LF. */
struct http_result master_post_with(const struct server *s, const char *fields, const char *path, const char *body);

/* A GET with further lines of the head, or "". */
struct http_result master_get(const struct server *s, const char *path, const char *fields);

/* Bytes as they are, from this address of the loopback network. */
struct http_result master_raw(const struct server *s, const char *bind_to, const void *bytes, size_t len);

/* The body of a good announce with further members ("" or J("'name':'x',..."), which win over ours. Until the next call. */
const char *master_announce_body(const char *members);

/* Announces and expects to be welcome; the test ends otherwise. */
void master_open(struct master_host *h, const struct server *s, const char *from, const char *members);

/* The same where it may be refused: the status. */
int master_try_open(struct master_host *h, const struct server *s, const char *from, const char *members);

/* The status; members as above. */
int                master_beat(const struct master_host *h, const struct server *s, const char *members);
struct http_result master_beat_asked(const struct master_host *h, const struct server *s, const char *members);
int                master_leave(const struct master_host *h, const struct server *s);
int                master_show(const struct master_host *h, const struct server *s, const char *listed);
struct http_result master_join(const struct server *s, const char *from, const char *id);
int                master_join_status(const struct server *s, const char *from, const char *id);

/* Of the list as it is served now. */
struct http_result master_list(const struct server *s);
bool               master_is_listed(const struct server *s, const char *id);
size_t             master_listed(const struct server *s);

/* The way to a member of its row in an answer with a list: "lobbies.3.name". The test ends when it has no row. */
const char *master_way(const struct http_result *list, const char *id, const char *member);

/* /healthz says so many. */
int64_t master_health(const struct server *s);

/* The test continues, and fails, unless the answer is this error: {"error":text}, with the fields that every answer has. */
#define master_expect_error(r, status, text) master_expect_error_at(__FILE__, __LINE__, r, status, text)
void master_expect_error_at(const char *file, int line, const struct http_result *r, int status, const char *text);

#endif

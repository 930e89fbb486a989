#include "support/lobby_client.h"

#include "base/auto.h"
#include "support/dial.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_BYTES_MAX 8192

const char *master_json(const char *text)
{
	static char   texts[8][HEAD_BYTES_MAX];
	static size_t turn;
	char         *out = texts[turn++ % COUNT_OF(texts)];

	snprintf(out, sizeof(texts[0]), "%s", text);
	for (char *c = out; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return out;
}

/* --- Requests --- */

struct http_result master_post_with(const struct server *s, const char *fields, const char *path, const char *body)
{
	return rest_ask(s, NULL, "POST", path, fields, body, strlen(body));
}

struct http_result master_post(const struct server *s, const char *from, const char *path, const char *body)
{
	char fields[128] = "";

	if (from)
		snprintf(fields, sizeof(fields), "X-Forwarded-For: %s\r\n", from);
	return master_post_with(s, fields, path, body);
}

struct http_result master_get(const struct server *s, const char *path, const char *fields)
{
	return rest_ask(s, NULL, "GET", path, fields, NULL, 0);
}

static int dial_from(int port, const char *bind_to)
{
	struct sockaddr_in me = { .sin_family = AF_INET }, to = { .sin_family = AF_INET };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_port        = htons((uint16_t)port);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(inet_pton(AF_INET, bind_to, &me.sin_addr), 1);
	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&me, sizeof(me)), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

struct http_result master_raw(const struct server *s, const char *bind_to, const void *bytes, size_t len)
{
	return http_exchange_on(dial_from(s->http_port, bind_to), bytes, len, LOBBY_PATIENCE_MS);
}

/* --- Hosts --- */

const char *master_announce_body(const char *members)
{
	static char body[HEAD_BYTES_MAX];

	snprintf(body, sizeof(body), "{\"identity\":\"%s\",\"game\":\"%s\"%s%s}", LOBBY_IDENTITY, LOBBY_GAME,
	         *members ? "," : "", members);
	return body;
}

int master_try_open(struct master_host *h, const struct server *s, const char *from, const char *members)
{
	AUTO(rest_freep) struct http_result r = master_post(s, from, "/v1/host", master_announce_body(members));

	*h = (struct master_host){ 0 };
	snprintf(h->from, sizeof(h->from), "%s", from ? from : "");
	if (r.status != 200)
		return r.status;
	rest_text(&r, "sessionId", h->session, sizeof(h->session));
	rest_text(&r, "lobbyId", h->id, sizeof(h->id));
	rest_text(&r, "token", h->token, sizeof(h->token));
	rest_text(&r, "hostIdentity", h->identity, sizeof(h->identity));
	return 200;
}

void master_open(struct master_host *h, const struct server *s, const char *from, const char *members)
{
	int status = master_try_open(h, s, from, members);

	cr_assert_eq(status, 200, "an announce from %s is answered %d", from ? from : "here", status);
}

static const char *from_of(const struct master_host *h)
{
	return *h->from ? h->from : NULL;
}

struct http_result master_beat_asked(const struct master_host *h, const struct server *s, const char *members)
{
	char body[HEAD_BYTES_MAX];

	snprintf(body, sizeof(body), "{\"sessionId\":\"%s\",\"token\":\"%s\"%s%s}", h->session, h->token,
	         *members ? "," : "", members);
	return master_post(s, from_of(h), "/v1/heartbeat", body);
}

static int status_of(struct http_result r)
{
	int status = r.status;

	http_result_free(&r);
	return status;
}

int master_beat(const struct master_host *h, const struct server *s, const char *members)
{
	return status_of(master_beat_asked(h, s, members));
}

int master_leave(const struct master_host *h, const struct server *s)
{
	char body[256];

	snprintf(body, sizeof(body), "{\"sessionId\":\"%s\",\"token\":\"%s\"}", h->session, h->token);
	return status_of(master_post(s, from_of(h), "/v1/leave", body));
}

int master_show(const struct master_host *h, const struct server *s, const char *listed)
{
	char body[256];

	snprintf(body, sizeof(body), "{\"lobbyId\":\"%s\",\"token\":\"%s\",\"listed\":%s}", h->id, h->token, listed);
	return status_of(master_post(s, from_of(h), "/v1/visibility", body));
}

struct http_result master_join(const struct server *s, const char *from, const char *id)
{
	char body[256];

	snprintf(body, sizeof(body), "{\"lobbyId\":\"%s\"}", id);
	return master_post(s, from, "/v1/join", body);
}

int master_join_status(const struct server *s, const char *from, const char *id)
{
	return status_of(master_join(s, from, id));
}

/* --- The list --- */

struct http_result master_list(const struct server *s)
{
	struct http_result r = master_get(s, "/v1/lobbies", "");

	cr_assert_eq(r.status, 200, "the list is answered %d %s", r.status, r.body);
	return r;
}

size_t master_listed(const struct server *s)
{
	AUTO(rest_freep) struct http_result r = master_list(s);

	return rest_count(&r, "lobbies");
}

/* -1: it has no row. */
static int find_row(const struct http_result *list, const char *id)
{
	json_t *root = json_loads(list->body, 0, NULL), *row;
	size_t  i;
	int     found = -1;

	cr_assert_not_null(root, "no JSON: %s", list->body);
	json_array_foreach(json_object_get(root, "lobbies"), i, row)
	{
		if (strcmp(json_string_value(json_object_get(row, "lobbyId")), id) == 0)
			found = (int)i;
	}
	json_decref(root);
	return found;
}

bool master_is_listed(const struct server *s, const char *id)
{
	AUTO(rest_freep) struct http_result r = master_list(s);

	return find_row(&r, id) >= 0;
}

const char *master_way(const struct http_result *list, const char *id, const char *member)
{
	static char way[100];
	int         row = find_row(list, id);

	cr_assert_geq(row, 0, "%s is not in %s", id, list->body);
	snprintf(way, sizeof(way), "lobbies.%d.%s", row, member);
	return way;
}

int64_t master_health(const struct server *s)
{
	AUTO(rest_freep) struct http_result r = http_get(s->http_port, "/healthz");

	return rest_int(&r, "lobbies");
}

/* --- Errors --- */

void master_expect_error_at(const char *file, int line, const struct http_result *r, int status, const char *text)
{
	char said[256] = "", field[64];

	cr_expect_eq(r->status, status, "%s:%d: %d instead of %d: %s", file, line, r->status, status, r->body);
	if (rest_has(r, "error"))
		rest_text(r, "error", said, sizeof(said));
	cr_expect_str_eq(said, text, "%s:%d: \"%s\" instead of \"%s\"", file, line, said, text);
	cr_expect_str_eq(http_result_header(r, "Content-Type", field, sizeof(field)), "application/json", "%s:%d", file,
	                 line);
	cr_expect_str_eq(http_result_header(r, "Connection", field, sizeof(field)), "close", "%s:%d", file, line);
	cr_expect_str_eq(http_result_header(r, "Cache-Control", field, sizeof(field)), "no-store", "%s:%d", file, line);
}

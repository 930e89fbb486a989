/*
 * The door: who comes in beside the players, whatever they do to the places that are meant for them.
 */
#include "net/ws_conn.h"

#include "base/auto.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- Places --- */

static struct ws_conn *oldest_head(struct ws *ws)
{
	for (struct list *at = ws->at_door.next; at != &ws->at_door; at = at->next) {
		struct ws_conn *c = CONTAINER(at, struct ws_conn, in_door);

		if (c->phase == WS_HEAD)
			return c;
	}
	return NULL;
}

/* Whoever has said nothing yet waits best somewhere else; then the part is asked. */
static bool make_room(struct ws *ws)
{
	struct ws_conn *c = oldest_head(ws);

	if (!c)
		return ws->door.make_room(ws->door.handler->part);
	ws_conn_end(c, M_WS_CLOSED_SERVER, true);
	return true;
}

static void note_uid(struct ws_caller *who, int fd)
{
	struct ucred peer;
	socklen_t    len = sizeof(peer);

	who->has_uid = who->is_unix && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0;
	who->uid     = who->has_uid ? peer.uid : 0;
}

/* False: there is no memory. */
static bool come_in(struct ws_conn *c)
{
	c->caller = calloc(1, sizeof(*c->caller));
	if (!c->caller)
		return false;
	c->at_door         = true;
	c->has_client      = true;
	c->is_exempt       = true;
	c->caller->is_unix = c->peer.family == ADDR_UNIX;
	note_uid(c->caller, c->fd);
	list_append(&c->ws->at_door, &c->in_door);
	c->ws->door_count++;
	return true;
}

void ws_door_take(struct ws *ws, int fd, const struct addr *peer, int64_t now_ms)
{
	struct ws_conn *c = NULL;

	/* One that was made to go is counted until the end of the turn; its place is taken already. */
	if (ws->door_count >= ws->door.connections_max && !make_room(ws)) {
		metric_inc(M_WS_REFUSED_TOTAL);
		close(fd);
		return;
	}
	c = ws_conn_new(ws, fd, peer, now_ms);
	if (!c) {
		metric_inc(M_WS_REFUSED_MEMORY);
		close(fd);
		return;
	}
	if (!ws_upgrade_begin(c, fd, false) || !come_in(c))
		ws_conn_end(c, M_WS_REFUSED_MEMORY, true);
}

void ws_door_release(struct ws_conn *c)
{
	free(c->caller);
	if (!c->at_door)
		return;
	list_remove(&c->in_door);
	c->ws->door_count--;
}

/* --- What the head says --- */

static bool is_of_proxy(const char *name, size_t len)
{
	static const char *const names[] = { "Forwarded", "Via", "X-Real-IP" };
	static const char        begin[] = "X-Forwarded-";

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (strlen(names[i]) == len && strncasecmp(names[i], name, len) == 0)
			return true;
	}
	return len >= sizeof(begin) - 1 && strncasecmp(begin, name, sizeof(begin) - 1) == 0;
}

static void take_value(char out[WS_CALLER_BYTES], const char *value, size_t len)
{
	while (len > 0 && strchr(" \t", *value)) {
		value++;
		len--;
	}
	while (len > 0 && strchr(" \t\r", value[len - 1]))
		len--;
	out[0] = '\0';
	if (len >= WS_CALLER_BYTES)
		return;
	memcpy(out, value, len);
	out[len] = '\0';
}

static void note_field(struct ws_caller *who, const char *line, size_t len)
{
	const char *colon    = memchr(line, ':', len);
	size_t      name_len = colon ? (size_t)(colon - line) : 0;
	const char *value    = line + name_len + 1;
	size_t      left     = colon ? len - name_len - 1 : 0;

	if (!colon)
		return;
	if (is_of_proxy(line, name_len))
		who->is_forwarded = true;
	if (name_len == strlen("Host") && strncasecmp(line, "Host", name_len) == 0)
		take_value(who->host, value, left);
	if (name_len != strlen("Origin") || strncasecmp(line, "Origin", name_len) != 0)
		return;
	if (who->has_origin) /* two of them: neither is believed */
		left = 0;
	who->has_origin = true;
	take_value(who->origin, value, left);
}

/* A head of which two programs could think differently, with two Hosts for one, is refused elsewhere. */
void ws_door_note(struct ws_conn *c, const char *head, size_t len)
{
	const char *end = head + len;
	const char *at  = memchr(head, '\n', len);

	while (at && ++at < end) {
		const char *brk = memchr(at, '\n', (size_t)(end - at));

		note_field(c->caller, at, (size_t)((brk ? brk : end) - at));
		at = brk;
	}
}

/*
 * Rooms, live: who makes one, comes and leaves.
 */
#include "base/event.h"
#include "p2p/p2p_inside.h"

#include "base/metric.h"
#include "base/text.h"
#include "crypt/hash.h"
#include "os/log.h"
#include "os/random.h"

#include <string.h>

#define NAME_CHARS  8
#define NAME_TRIES  16
#define GAME_PREFIX "game:"
#define GAME_DIGITS 6

/* Without what is easily taken for something else. */
static const char alphabet[] = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/* --- Coming and going --- */

static struct json *member_news(const struct p2p_session *s, const char *event)
{
	struct json *j = p2p_message("p2p.member");

	if (!j)
		return NULL;
	json_put_text(j, "uid", s->member.uid);
	json_put_int(j, "seat", s->member.seat);
	json_put_text(j, "event", event);
	return j;
}

static void tell_member(struct p2p_session *s, const char *event)
{
	p2p_tell_room(s->member.room, s, member_news(s, event));
}

static void publish(const struct p2p *p)
{
	metric_set(M_P2P_ROOMS, (int64_t)p->rooms.count);
}

static void close_room(struct p2p *p, struct p2p_room *room)
{
	event_emit(E_P2P_ROOM_CLOSED, event_word("room", room->name));
	p2p_groups_clear(room);
	p2p_link_clear(room);
	wipe_secret(room->keys, sizeof(room->keys));
	if (room->is_counted)
		p2p_guard_room_gone(p->guard, &room->maker, false);
	p2p_room_close(&p->rooms, room);
	publish(p);
}

void p2p_session_leave(struct p2p_session *s, int64_t now_ms)
{
	struct p2p_room *room = s->member.room;

	if (!room)
		return;
	tell_member(s, "left");
	p2p_links_leave(s, now_ms);
	p2p_room_leave(&s->member);
	if (room->count == 0)
		close_room(s->p2p, room);
	else
		p2p_tell_if_settled(room);
}

/* The others see the same uid on the same seat, so they are told of groups only. */
void p2p_session_take_over(struct p2p_session *from, struct p2p_session *s, int64_t now_ms)
{
	if (!from->member.room)
		return;
	p2p_links_leave(from, now_ms);
	p2p_room_take_over(&from->member, &s->member);
}

static void answer_room(struct p2p_session *s, const struct p2p_request *r)
{
	const struct p2p_room *room    = s->member.room;
	struct json           *j       = p2p_answer(r);
	struct json           *members = json_array_new();

	for (size_t i = 0; members && i < room->count; i++) {
		struct json *m = json_object_new();

		if (m) {
			json_put_text(m, "uid", room->members[i]->uid);
			json_put_int(m, "seat", room->members[i]->seat);
		}
		json_add_json(members, m);
	}
	if (j) {
		json_put_text(j, "room", room->name);
		json_put_int(j, "seat", s->member.seat);
		json_put_json(j, "members", members);
	} else {
		json_free(members);
	}
	p2p_tell(s, j);
}

static void draw_name(char name[P2P_ROOM_NAME_BYTES])
{
	for (size_t i = 0; i < NAME_CHARS; i++)
		name[i] = alphabet[random_below(sizeof(alphabet) - 1)];
	name[NAME_CHARS] = '\0';
}

static enum p2p_error error_of(enum p2p_room_says says)
{
	static const enum p2p_error errors[] = { [P2P_ROOM_FINE]  = P2P_ERR_NONE,
		                                 [P2P_ROOM_FULL]  = P2P_ERR_ROOM_FULL,
		                                 [P2P_ROOM_LIMIT] = P2P_ERR_ROOM_LIMIT,
		                                 [P2P_ROOM_TAKEN] = P2P_ERR_ROOM_LIMIT,
		                                 [P2P_ROOM_NOMEM] = P2P_ERR_NO_MEMORY };

	return errors[says];
}

static enum p2p_error make_room(struct p2p_room **out, struct p2p_session *s, size_t max)
{
	struct p2p        *p    = s->p2p;
	enum p2p_room_says says = P2P_ROOM_TAKEN;
	char               name[P2P_ROOM_NAME_BYTES];

	if (p->is_draining || !p2p_guard_room(p->guard, &s->addr, s->is_exempt))
		return P2P_ERR_ROOM_LIMIT;
	for (int i = 0; i < NAME_TRIES && says == P2P_ROOM_TAKEN; i++) {
		draw_name(name);
		says = p2p_room_make(out, &p->rooms, name, max);
	}
	if (says != P2P_ROOM_FINE) {
		p2p_guard_room_gone(p->guard, &s->addr, s->is_exempt);
		return error_of(says);
	}
	event_emit(E_P2P_ROOM_MADE, event_word("room", (*out)->name), event_word("player", s->member.uid));
	(*out)->is_counted = !s->is_exempt;
	(*out)->maker      = s->addr;
	return P2P_ERR_NONE;
}

/* One room at a time: whoever comes into another one leaves the first. */
static void enter(struct p2p_session *s, const struct p2p_request *r, struct p2p_room *room, int64_t now_ms)
{
	enum p2p_room_says says;

	p2p_session_leave(s, now_ms);
	says = p2p_room_join(room, &s->member);
	if (says != P2P_ROOM_FINE) {
		p2p_refuse(s, r, error_of(says));
		return;
	}
	publish(s->p2p);
	answer_room(s, r);
	tell_member(s, "joined");
	log_debug("p2p", s->id, "joins", "player=%s seat=%u members=%zu", s->member.uid, s->member.seat, room->count);
}

void p2p_on_create(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	int64_t          max  = s->p2p->conf->limits.p2p_members;
	enum err         read = json_get_int(&max, r->json, "max");
	struct p2p_room *room = NULL;
	enum p2p_error   e    = P2P_ERR_NONE;

	if (read != ERR_OK && read != ERR_NOT_FOUND)
		e = P2P_ERR_BAD_REQUEST;
	else if (max < 1 || max > s->p2p->conf->limits.p2p_members)
		e = P2P_ERR_BAD_MAX;
	else
		e = make_room(&room, s, (size_t)max);
	if (e != P2P_ERR_NONE)
		p2p_refuse(s, r, e);
	else
		enter(s, r, room, now_ms);
}

/* --- Rooms of games --- */

static bool is_game(const char *name, uint32_t *code)
{
	int64_t digits;

	if (strncmp(name, GAME_PREFIX, strlen(GAME_PREFIX)) != 0 || strlen(name) != strlen(GAME_PREFIX) + GAME_DIGITS ||
	    text_to_int(&digits, name + strlen(GAME_PREFIX), 0, 999999) != ERR_OK)
		return false;
	*code = (uint32_t)digits;
	return true;
}

static enum p2p_error find_game(struct p2p_room **out, struct p2p_session *s, const char *name, uint32_t code)
{
	struct p2p *p = s->p2p;
	enum err    may;

	if (!p->ask_game)
		return P2P_ERR_NO_ROOM;
	may = p->ask_game(p->ask_game_arg, code, s->digest);
	if (may != ERR_OK)
		return may == ERR_NOT_ALLOWED ? P2P_ERR_NOT_ALLOWED : P2P_ERR_NO_ROOM;
	*out = p2p_room_find(&p->rooms, name);
	if (*out)
		return P2P_ERR_NONE;

	enum p2p_error e = error_of(p2p_room_make(out, &p->rooms, name, (size_t)p->conf->limits.p2p_members));

	if (e != P2P_ERR_NONE)
		return e;
	(*out)->is_game = true;
	event_emit(E_P2P_ROOM_MADE, event_word("room", name), event_null("player"));
	return e;
}

void p2p_set_games(struct p2p *p, p2p_game_asker ask, void *arg)
{
	p->ask_game     = ask;
	p->ask_game_arg = arg;
}

/* The last one who leaves closes it. */
void p2p_room_empty(struct p2p *p, struct p2p_room *room)
{
	for (size_t left = room->count; left > 0; left--) {
		struct p2p_session *s = p2p_session_of(room->members[left - 1]);

		p2p_tell(s, member_news(s, "left"));
		p2p_session_leave(s, loop_now_ms(p->loop));
	}
}

void p2p_game_over(struct p2p *p, uint32_t code)
{
	char             name[P2P_ROOM_NAME_BYTES];
	struct p2p_room *room;

	text_format(name, sizeof(name), GAME_PREFIX "%06u", code);
	room = p2p_room_find(&p->rooms, name);
	if (room)
		p2p_room_empty(p, room);
}

/* --- p2p.join and p2p.leave --- */

static enum p2p_error find_room(struct p2p_room **out, struct p2p_session *s, const char *name, int64_t now_ms)
{
	struct p2p    *p = s->p2p;
	uint32_t       code;
	enum p2p_error e = P2P_ERR_NONE;

	if (!p2p_guard_may_join(p->guard, &s->addr, s->is_exempt, now_ms))
		return P2P_ERR_BUSY;
	if (is_game(name, &code)) {
		e = find_game(out, s, name, code);
	} else {
		*out = p2p_room_find(&p->rooms, name);
		e    = *out ? P2P_ERR_NONE : P2P_ERR_NO_ROOM;
	}
	if (e == P2P_ERR_NO_ROOM || e == P2P_ERR_NOT_ALLOWED)
		p2p_guard_join_failed(p->guard, &s->addr, s->is_exempt, now_ms);
	return e;
}

void p2p_on_join(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	struct p2p_room *room = NULL;
	const char      *name;
	enum p2p_error   e = P2P_ERR_BAD_REQUEST;

	if (json_get_text(&name, r->json, "room") == ERR_OK)
		e = find_room(&room, s, name, now_ms);
	if (e == P2P_ERR_NONE && room != s->member.room && p2p_room_is_full(room))
		e = P2P_ERR_ROOM_FULL;
	/* Each takes a seat that is not given again. */
	if (e == P2P_ERR_NONE && room != s->member.room &&
	    !p2p_guard_join(s->p2p->guard, &s->addr, s->is_exempt, now_ms))
		e = P2P_ERR_BUSY;
	if (e != P2P_ERR_NONE)
		p2p_refuse(s, r, e);
	else if (room == s->member.room)
		answer_room(s, r);
	else
		enter(s, r, room, now_ms);
}

void p2p_on_leave(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	p2p_session_leave(s, now_ms);
	p2p_done(s, r);
}

/* Of another room than its own it learns whether it is there, so this counts like a join: names are not to be guessed here. */
static enum p2p_error other_room(const struct p2p_session *s, const char *name)
{
	struct p2p *p      = s->p2p;
	int64_t     now_ms = loop_now_ms(p->loop);

	if (!p2p_guard_may_join(p->guard, &s->addr, s->is_exempt, now_ms))
		return P2P_ERR_BUSY;
	if (p2p_room_find(&p->rooms, name))
		return P2P_ERR_NOT_IN_ROOM;
	p2p_guard_join_failed(p->guard, &s->addr, s->is_exempt, now_ms);
	return P2P_ERR_NO_ROOM;
}

/* A room that a request names has to be the one that the session is in. */
enum p2p_error p2p_own_room(const struct p2p_session *s, const struct p2p_request *r)
{
	const char *name;

	switch (json_get_text(&name, r->json, "room")) {
	case ERR_OK:
		if (s->member.room && strcmp(s->member.room->name, name) == 0)
			return P2P_ERR_NONE;
		return other_room(s, name);
	case ERR_NOT_FOUND:
		return s->member.room ? P2P_ERR_NONE : P2P_ERR_NOT_IN_ROOM;
	default:
		return P2P_ERR_BAD_REQUEST;
	}
}

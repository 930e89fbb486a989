/*
 * Tables of players: one thread is a host and his friends, who play for a while, lose their connections and come back.
 *
 * A friend's datagram carries where it comes from, a running number and the time; the host sends it back. What must hold: it is
 * the friend's own, numbers only rise, a host keeps his code for ever, and in protocol 2 a friend who comes back with his token,
 * also before his host and after a restart, gets in and keeps his number.
 */
#include "soak.h"
#include "soak_wire.h"

#include "bench/lib_bytes.h"
#include "crypt/hash.h"

#include <poll.h>
#include <string.h>

enum { FRIENDS = 3, TURN_MS = 20, SEND_EVERY_MS = 60, ECHO_EVERY_MS = 5000, PAYLOAD = 72, OLD_SECRET = 8 };
enum { PATHS_FROM_FRIEND = 12, STATE_RESTARTING = 1, STATE_READY, STATE_LOST, STATE_CLOSED };
enum { FAULT_NO_GAME = 3 };

struct seat {
	struct soak_wire wire;
	bool             in;
	uint8_t          token[TUNNEL_TOKEN_BYTES], id[TUNNEL_ID_BYTES];
	uint32_t         visit;  /* of how manieth person, from 1 */
	uint16_t         number; /* as the host is told; 0: not yet */
	uint32_t         sent, heard;
	int64_t          next_ms, joined_ms;
};

struct table {
	bool             old; /* protocol 1 */
	struct soak_wire host;
	bool             host_in;
	uint32_t         code;               /* protocol 2: for ever; 0: not yet */
	uint8_t          secret[OLD_SECRET]; /* protocol 1 */
	bool             resumes;            /* the last visit ended with the server, in the middle of the game */
	int64_t          opened_ms, echo_ms;
	struct seat      friends[FRIENDS];
};

/* --- Roles --- */

/* Of a seat's person: with each token there comes another one. The host, at seat 0, is always the same. */
static void key_of(uint8_t out[TUNNEL_KEY_BYTES], const struct soak_actor *a, unsigned seat, uint32_t person)
{
	soak_key(out, "soak %s %u seat %u person %u", a->part->name, a->number, seat, person);
}

static void new_token(struct soak_actor *a, struct seat *f, unsigned seat)
{
	uint8_t key[TUNNEL_KEY_BYTES], hash[HASH_SHA256_BYTES];

	f->visit++;
	f->number = 0;
	f->heard = f->sent = 0;
	soak_random(a, f->token, sizeof(f->token));
	key_of(key, a, seat, f->visit);
	hash_sha256(hash, key, sizeof(key));
	memcpy(f->id, hash, sizeof(f->id));
}

/* Connected, with the role asked for; the answer is still to come. */
static bool enter(struct soak_actor *a, struct soak_wire *w, unsigned seat, const uint8_t *role, size_t len)
{
	char address[16];

	soak_address(address, a, seat);
	if (!soak_dial(w, NULL, soak.ports.tunnel, 0))
		return soak_fault(a, "cannot connect to the tunnel");

	int status = soak_upgrade(w, "/", address);

	if (status != 101 || !soak_ws_say(w, SOAK_WS_BINARY, role, len)) {
		soak_hang_up(w);
		return soak_fault(a, "the tunnel's upgrade is answered %d", status);
	}
	return true;
}

static size_t build_host_open(uint8_t out[32], const struct soak_actor *a, const struct table *t)
{
	out[0] = OP_HOST_OPEN;
	out[1] = t->old ? 1 : 2;
	if (!t->old) {
		key_of(out + 2, a, 0, 0);
		return 2 + TUNNEL_KEY_BYTES;
	}
	put_u16(out + 2, (uint16_t)t->code);
	memcpy(out + 4, t->secret, sizeof(t->secret));
	return 4 + OLD_SECRET;
}

static bool take_host_opened(struct soak_actor *a, struct table *t, const struct soak_message *m)
{
	if (m->op != SOAK_WS_BINARY || m->len < (t->old ? 11U : 13U) || m->data[0] != OP_HOST_OPENED)
		return soak_fault(a, "HOST_OPEN is answered by %d, %d", m->len > 0 ? m->data[0] : -1,
		                  m->len > 1 ? m->data[1] : -1);

	uint32_t code = t->old ? get_u16(m->data + 1) : get_u32(m->data + 1);

	if (!t->old && t->code)
		soak_promise(a, code == t->code, "code %u became %u", t->code, code);
	t->code = code;
	if (t->old)
		memcpy(t->secret, m->data + 3, sizeof(t->secret));
	return true;
}

static bool open_host(struct soak_actor *a, struct table *t)
{
	uint8_t role[32];
	int64_t from_ns = soak_now_ns();

	if (!enter(a, &t->host, 0, role, build_host_open(role, a, t)))
		return false;

	struct soak_message m = soak_ws_hear(&t->host, SOAK_PATIENCE_MS);

	t->host_in = take_host_opened(a, t, &m);
	if (!t->host_in) {
		soak_hang_up(&t->host);
		return false;
	}
	soak_took(SOAK_ROLE, from_ns);
	t->opened_ms = soak_now_ms();
	return soak_ws_say(&t->host, SOAK_WS_BINARY, (const uint8_t[]){ OP_GAME_STATE, STATE_READY }, 2);
}

static size_t build_join(uint8_t out[32], const struct soak_actor *a, const struct table *t, const struct seat *f)
{
	size_t at = t->old ? 4 : 6;

	out[0] = OP_JOIN;
	out[1] = t->old ? 1 : 2;
	if (t->old)
		put_u16(out + 2, (uint16_t)t->code);
	else
		put_u32(out + 2, t->code);
	memcpy(out + at, f->token, sizeof(f->token));
	if (t->old)
		return at + sizeof(f->token);
	key_of(out + at + sizeof(f->token), a, (unsigned)(f - t->friends) + 1, f->visit);
	return at + sizeof(f->token) + TUNNEL_KEY_BYTES;
}

/* What must be true of a friend's return: the game is known, after a restart too. */
static bool take_no_game(struct soak_actor *a, const struct table *t, const struct seat *f)
{
	if (f->joined_ms && !soak_must_be_kept(f->joined_ms))
		return false;
	if (t->resumes && !t->host_in)
		return soak_promise(a, false, "a friend who comes back to %u is told that there is no such game",
		                    t->code);
	return soak_fault(a, "there is no game %u", t->code);
}

static bool join(struct soak_actor *a, struct table *t, struct seat *f)
{
	uint8_t role[32];
	int64_t from_ns = soak_now_ns();

	if (!enter(a, &f->wire, (unsigned)(f - t->friends) + 1, role, build_join(role, a, t, f)))
		return false;

	struct soak_message m = soak_ws_hear(&f->wire, SOAK_PATIENCE_MS);

	f->in = m.op == SOAK_WS_BINARY && m.len >= 1 && m.data[0] == OP_JOINED;
	if (f->in) {
		soak_took(SOAK_ROLE, from_ns);
		if (t->resumes && f->joined_ms)
			soak_promise(a, true, "%s", "");
		f->joined_ms = soak_now_ms();
		return true;
	}
	if (m.op == SOAK_WS_BINARY && m.len == 2 && m.data[0] == OP_FAULT && m.data[1] == FAULT_NO_GAME)
		take_no_game(a, t, f);
	else
		soak_fault(a, "JOIN is answered by %d, %d", m.len > 0 ? m.data[0] : -1, m.len > 1 ? m.data[1] : -1);
	soak_hang_up(&f->wire);
	return false;
}

/* --- Datagrams --- */

static void send_datagram(struct soak_actor *a, struct seat *f, unsigned seat)
{
	uint8_t m[1 + PAYLOAD] = { OP_FROM_FRIEND };
	size_t  len            = 1 + 32 + soak_dice(a, PAYLOAD - 31);

	put_u32(m + 1, a->number);
	put_u32(m + 5, seat);
	put_u32(m + 9, f->visit);
	put_u32(m + 13, ++f->sent);
	put_u64(m + 17, (uint64_t)soak_now_ns());
	if (soak_ws_say(&f->wire, SOAK_WS_BINARY, m, len))
		soak.datagrams_sent++;
}

static void on_friend_is(struct soak_actor *a, struct table *t, const uint8_t *m)
{
	for (int i = 0; i < FRIENDS; i++) {
		struct seat *f = &t->friends[i];

		if (memcmp(f->id, m + 3, sizeof(f->id)) != 0)
			continue;
		if (f->number && t->resumes && f->joined_ms < t->opened_ms && soak_must_be_kept(f->joined_ms))
			soak_promise(a, f->number == get_u16(m + 1), "a friend's number %u became %u", f->number,
			             get_u16(m + 1));
		f->number = get_u16(m + 1);
		return;
	}
	/* Nobody of now: one who left, and is within his grace. */
}

static void on_host_message(struct soak_actor *a, struct table *t, const struct soak_message *m)
{
	uint8_t back[3 + PAYLOAD];

	switch (m->data[0]) {
	case OP_TO_HOST:
		if (m->len < 3 || m->len > sizeof(back)) {
			soak_fault(a, "the host gets a datagram of %zu bytes", m->len);
			return;
		}
		memcpy(back, m->data, m->len);
		back[0] = OP_FROM_HOST;
		soak_ws_say(&t->host, SOAK_WS_BINARY, back, m->len);
		return;
	case OP_FRIEND_IS:
		if (m->len == 3 + TUNNEL_ID_BYTES)
			on_friend_is(a, t, m->data);
		return;
	case OP_FAULT:
		soak_fault(a, "the host gets fault %d", m->len > 1 ? m->data[1] : -1);
		return;
	default:
		return; /* ECHO, FRIEND_GONE, candidates */
	}
}

static void on_datagram(struct soak_actor *a, struct seat *f, unsigned seat, const uint8_t *p, size_t len)
{
	if (len < 32 || get_u32(p) != a->number || get_u32(p + 4) != seat || get_u32(p + 8) != f->visit) {
		soak_fault(a, "seat %u gets a datagram that is not his", seat);
		return;
	}
	if (get_u32(p + 12) <= f->heard)
		soak_fault(a, "seat %u gets datagram %u after %u", seat, get_u32(p + 12), f->heard);
	f->heard = get_u32(p + 12);
	soak.datagrams_back++;
	soak_took(SOAK_TUNNEL, (int64_t)get_u64(p + 16));
}

static void on_friend_message(struct soak_actor *a, struct table *t, struct seat *f, const struct soak_message *m)
{
	if (m->data[0] == OP_TO_FRIEND)
		on_datagram(a, f, (unsigned)(f - t->friends) + 1, m->data + 1, m->len - 1);
	else if (m->data[0] == OP_FAULT || (m->data[0] == OP_GAME_STATE && m->len > 1 && m->data[1] == STATE_CLOSED))
		soak_fault(a, "a friend is thrown out by %d, %d", m->data[0], m->len > 1 ? m->data[1] : -1);
}

/* False: the connection has ended. */
static bool hear_all(struct soak_actor *a, struct table *t, struct soak_wire *w, struct seat *f)
{
	for (;;) {
		struct soak_message m = soak_ws_hear(w, 0);

		if (m.op == SOAK_WS_CLOSE || (m.op == SOAK_WS_NONE && !w->late))
			return false;
		if (m.op == SOAK_WS_NONE)
			return true;
		if (m.len > 0 && f)
			on_friend_message(a, t, f, &m);
		else if (m.len > 0)
			on_host_message(a, t, &m);
	}
}

static void send_echoes(struct table *t, int64_t now_ms)
{
	static const uint8_t echo[5] = { OP_ECHO };

	if (now_ms < t->echo_ms)
		return;
	t->echo_ms = now_ms + ECHO_EVERY_MS;
	soak_ws_say(&t->host, SOAK_WS_BINARY, echo, sizeof(echo));
	for (int i = 0; i < FRIENDS; i++)
		if (t->friends[i].in)
			soak_ws_say(&t->friends[i].wire, SOAK_WS_BINARY, echo, sizeof(echo));
}

/* One turn: who is due sends, what came is dealt with. False: a connection has ended without having been told to. */
static bool play(struct soak_actor *a, struct table *t)
{
	struct pollfd ready[1 + FRIENDS] = { { .fd = t->host.fd, .events = POLLIN } };
	int64_t       now_ms             = soak_now_ms();

	send_echoes(t, now_ms);
	for (int i = 0; i < FRIENDS; i++) {
		struct seat *f = &t->friends[i];

		ready[1 + i] = (struct pollfd){ .fd = f->in ? f->wire.fd : -1, .events = POLLIN };
		if (f->in && now_ms >= f->next_ms) {
			f->next_ms = now_ms + SEND_EVERY_MS / 2 + soak_dice(a, SEND_EVERY_MS);
			send_datagram(a, f, (unsigned)i + 1);
		}
	}
	poll(ready, 1 + FRIENDS, TURN_MS);
	if (!hear_all(a, t, &t->host, NULL))
		return soak_fault(a, "the host's connection ends");
	for (int i = 0; i < FRIENDS; i++)
		if (t->friends[i].in && !hear_all(a, t, &t->friends[i].wire, &t->friends[i]))
			return soak_fault(a, "a friend's connection ends");
	return true;
}

/* --- Coming and going --- */

static void drop_friend(struct soak_actor *a, struct seat *f)
{
	f->in = false;
	if (soak_dice(a, 2))
		soak_abort(&f->wire);
	else
		soak_hang_up(&f->wire);
}

/* A short loss: he is back with his token, and nobody noticed. */
static bool friend_returns(struct soak_actor *a, struct table *t)
{
	struct seat *f = &t->friends[soak_dice(a, FRIENDS)];

	if (!f->in)
		return true;
	drop_friend(a, f);
	return join(a, t, f);
}

/* Somebody else comes in his place; the seat is free again after the grace. */
static bool friend_changes(struct soak_actor *a, struct table *t)
{
	struct seat *f = &t->friends[soak_dice(a, FRIENDS)];

	if (!f->in)
		return true;
	drop_friend(a, f);
	new_token(a, f, (unsigned)(f - t->friends) + 1);
	return join(a, t, f);
}

/* The friends wait for him. What they send meanwhile is lost, so nobody sends. */
static bool host_returns(struct soak_actor *a, struct table *t)
{
	t->host_in = false;
	soak_hang_up(&t->host);
	soak_pause(a, (int)soak_dice(a, 500));
	return soak_goes_on(a) && open_host(a, t);
}

static bool host_loads(struct soak_actor *a, struct table *t)
{
	(void)a;
	return soak_ws_say(&t->host, SOAK_WS_BINARY, (const uint8_t[]){ OP_GAME_STATE, STATE_RESTARTING }, 2) &&
	       soak_ws_say(&t->host, SOAK_WS_BINARY, (const uint8_t[]){ OP_GAME_STATE, STATE_READY }, 2);
}

static bool friend_tells_paths(struct soak_actor *a, struct table *t)
{
	struct seat *f                                 = &t->friends[soak_dice(a, FRIENDS)];
	uint8_t      m[1 + TUNNEL_TOKEN_BYTES + 1 + 6] = { PATHS_FROM_FRIEND };

	if (!f->in)
		return true;
	memcpy(m + 1, f->token, sizeof(f->token));
	m[1 + TUNNEL_TOKEN_BYTES] = 1;
	soak_random(a, m + 2 + TUNNEL_TOKEN_BYTES, 6);
	return soak_ws_say(&f->wire, SOAK_WS_BINARY, m, sizeof(m));
}

static bool something_happens(struct soak_actor *a, struct table *t)
{
	switch (soak_dice(a, 1500)) {
	case 0:
	case 1:
	case 2:
	case 3:
		return friend_returns(a, t);
	case 4:
		return friend_changes(a, t);
	case 5:
		return t->old || host_returns(a, t); /* protocol 1 may give another code then */
	case 6:
	case 7:
		return host_loads(a, t);
	case 8:
	case 9:
		return t->old || friend_tells_paths(a, t);
	default:
		return true;
	}
}

static bool gather(struct soak_actor *a, struct table *t)
{
	/* After a restart anybody may be back first; a new game begins with its host. */
	bool friends_first = t->resumes && !t->old && soak_dice(a, 2);

	if (!friends_first && !open_host(a, t))
		return false;
	for (int i = 0; i < FRIENDS; i++) {
		struct seat *f = &t->friends[i];

		if (!t->resumes || !f->joined_ms)
			new_token(a, f, (unsigned)i + 1);
		join(a, t, f);
	}
	return !friends_first || open_host(a, t);
}

static void leave(struct table *t, bool resumes)
{
	soak_hang_up(&t->host);
	t->host_in = false;
	for (int i = 0; i < FRIENDS; i++) {
		soak_hang_up(&t->friends[i].wire);
		t->friends[i].in = false;
		if (!resumes)
			t->friends[i].joined_ms = 0;
	}
	t->resumes = resumes;
}

static void visit(struct soak_actor *a)
{
	struct table *t        = a->own;
	int64_t       until_ms = soak_now_ms() + 15000 + soak_dice(a, 30000);
	bool          goes_on;

	t->host = SOAK_WIRE_NONE;
	for (int i = 0; i < FRIENDS; i++)
		t->friends[i].wire = SOAK_WIRE_NONE;
	for (goes_on = gather(a, t); goes_on && soak_goes_on(a) && soak_now_ms() < until_ms;)
		goes_on = play(a, t) && something_happens(a, t);
	leave(t, t->opened_ms && !soak_goes_on(a));
}

static void visit_old(struct soak_actor *a)
{
	((struct table *)a->own)->old = true;
	visit(a);
}

/* Anew by his key: the code is the same for ever. */
static void check(struct soak_actor *a)
{
	struct table *t = a->own;

	t->host = SOAK_WIRE_NONE;
	if (t->code && soak.ending)
		open_host(a, t);
	soak_hang_up(&t->host);
	t->host_in = false;
}

const struct soak_part soak_part_games = {
	.name = "game", .actors = 24, .own_bytes = sizeof(struct table), .visit = visit, .check = check
};
const struct soak_part soak_part_old_games = {
	.name = "protocol 1 game", .actors = 4, .own_bytes = sizeof(struct table), .visit = visit_old
};

/* --- Hosts who come, look at their code, and go: a person each, many of them for one actor --- */

enum { PEOPLE = 24 };

struct crowd {
	uint32_t codes[PEOPLE];
};

static void greet(struct soak_actor *a, struct crowd *c, unsigned who)
{
	struct table t                          = { .host = SOAK_WIRE_NONE, .code = c->codes[who] };
	uint8_t      role[2 + TUNNEL_KEY_BYTES] = { OP_HOST_OPEN, 2 };
	int64_t      from_ns                    = soak_now_ns();

	soak_key(role + 2, "soak host %u person %u", a->number, who);
	if (!enter(a, &t.host, who, role, sizeof(role)))
		return;

	struct soak_message m = soak_ws_hear(&t.host, SOAK_PATIENCE_MS);

	if (take_host_opened(a, &t, &m)) {
		soak_took(SOAK_ROLE, from_ns);
		c->codes[who] = t.code;
	}
	if (soak_dice(a, 3) == 0)
		soak_ws_say(&t.host, SOAK_WS_CLOSE, NULL, 0);
	soak_hang_up(&t.host);
}

static void visit_hosts(struct soak_actor *a)
{
	greet(a, a->own, soak_dice(a, PEOPLE));
}

static void check_hosts(struct soak_actor *a)
{
	const struct crowd *c = a->own;

	for (unsigned i = 0; i < PEOPLE && (soak.ending || soak_goes_on(a)); i++)
		if (c->codes[i])
			greet(a, a->own, i);
}

const struct soak_part soak_part_hosts = {
	.name = "hosts", .actors = 4, .own_bytes = sizeof(struct crowd), .visit = visit_hosts, .check = check_hosts
};

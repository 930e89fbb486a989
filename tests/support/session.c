#include "support/session.h"

#include "base/auto.h"
#include "support/attempt.h"
#include "support/dial.h"
#include "support/p2p_peer.h"
#include "support/rooms_path.h"
#include "support/signal_client.h"
#include "support/transfer.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACT_MS     6000
#define SAVE_BYTES 150000
#define TITLE      "NPWR00860_00"
#define BOARD      7
#define SCORE      4711
#define NAME       "alice"

struct act {
	const char *name;
	void (*run)(void *session);
};

/* --- Tunnel --- */

static void play(void *arg)
{
	struct session   *x    = arg;
	int               port = x->s->tunnel_port;
	uint32_t          code, again;
	struct ws_client *host = host_open(port, "host", &code), *friend;

	x->p->code = code;
	friend     = friend_join(port, code, "visit", "friend");
	host_expect_friend(host, 1, "friend");
	friend_send(friend, "hi", 2);
	host_expect_datagram(host, 1, "hi", 2);
	host_send(host, 1, "ho", 2);
	friend_expect_datagram(friend, "ho", 2);

	/* He comes back under his number, and so does the host. */
	ws_client_drop(friend);
	friend = friend_join(port, code, "visit", "friend");
	friend_send(friend, "me", 2);
	host_expect_datagram(host, 1, "me", 2);
	ws_client_drop(host);
	friend_expect_state(friend, STATE_LOST);
	host = host_open(port, "host", &again);
	cr_assert_eq(again, code);
	host_expect_friend(host, 1, "friend");
}

/* --- Checkpoints --- */

static void expect_bytes(uint8_t *got, size_t len, const struct transfer_bytes *want)
{
	bool is_same = got && len == want->len && memcmp(got, want->bytes, len) == 0;

	free(got);
	cr_assert(is_same, "the checkpoint is not the one that was stored");
}

static void store_by_ws(void *arg)
{
	struct session       *x = arg;
	struct transfer_bytes c = transfer_make("by ws", 1, SAVE_BYTES);
	size_t                len;

	cr_assert_eq(transfer_put(x->s, TRANSFER_WS, "host", &c).what, TRANSFER_DONE);
	x->p->by_ws  = true;
	uint8_t *got = transfer_get_ws(&len, x->s, "host", "by ws");

	expect_bytes(got, len, &c);
}

static void store_by_rest(void *arg)
{
	struct session       *x = arg;
	struct transfer_bytes c = transfer_make("by rest", 2, SAVE_BYTES);
	size_t                len;

	cr_assert_eq(transfer_put(x->s, TRANSFER_REST, "host", &c).what, TRANSFER_DONE);
	x->p->by_rest = true;
	uint8_t *got  = transfer_get(&len, x->s, "host", "by rest", 0);

	expect_bytes(got, len, &c);
}

static void look_at_campaigns(void *arg)
{
	struct session                     *x = arg;
	AUTO(rest_freep) struct http_result r = rest_get(x->s, "host", "/v1/campaigns");

	cr_assert_eq(r.status, 200);
}

static void ask_new_code(void *arg)
{
	struct session *x = arg;

	x->p->new_code_asked                  = true;
	AUTO(rest_freep) struct http_result r = rest_ask(x->s, "host", "POST", "/v1/me/code", "", "", 0);

	cr_assert_eq(r.status, 200, "%d", r.status);
	x->p->new_code = (uint32_t)rest_int(&r, "code");
}

/* --- Lobbies, signaling --- */

static void announce(void *arg)
{
	struct session    *x = arg;
	struct master_host gone;

	master_open(&x->p->lobby, x->s, NULL, J("'name':'island','signaling':true"));
	x->p->has_lobby = true;
	cr_assert_eq(master_beat(&x->p->lobby, x->s, J("'players_cur':2")), 200);
	cr_assert_eq(master_join_status(x->s, NULL, x->p->lobby.id), 200);
	cr_assert(master_is_listed(x->s, x->p->lobby.id));
	master_open(&gone, x->s, NULL, J("'name':'gone'"));
	cr_assert_eq(master_leave(&gone, x->s), 200);
}

static void signal_each_other(void *arg)
{
	struct session       *x     = arg;
	struct identity       alice = identity_of(1), bob = identity_of(2);
	struct signal_client *a = signal_registered(x->s, SIGNAL_PLAIN, &alice);
	struct signal_client *b = signal_registered(x->s, SIGNAL_WEBSOCKET, &bob);

	signal_say(a, "%s c0ffee", bob.text);
	signal_expect(b, "%s c0ffee", alice.text);
	signal_say(b, "%s abba", alice.text);
	signal_expect(a, "%s abba", bob.text);
}

/* --- Rooms --- */

static void meet(void *arg)
{
	struct session   *x = arg;
	struct gamer     *alice, *bob;
	struct gamer_leg *of_a, *of_b;
	uint64_t          room = gamer_meet(x->s, TITLE, &alice, &bob);

	gamer_set(alice, room, 0, TEXT("map=5"));
	gamer_expect_push(bob, PUSH_ROOM_DATA);
	gamer_say(bob, room, 0, TEXT("hello"));
	gamer_expect_push(alice, PUSH_ROOM_MSG);
	gamer_score(alice, BOARD, 0, SCORE, TEXT("well done"));
	x->p->has_score = true;
	gamer_ranking(bob, BOARD, 1, 10);
	gamer_search(bob, 0, 10);
	gamer_open_udp(alice, 0);
	gamer_open_udp(bob, 0);
	gamer_probe(alice);
	gamer_probe(bob);
	gamer_relay(alice, bob->user_id, TEXT("by udp"));
	gamer_stream(&of_a, &of_b, alice, bob, 3658);
	gamer_leg_send(of_a, TEXT("by stream"));
	gamer_leg_expect(of_b, TEXT("by stream"));
	gamer_leave(bob, room);
}

/* --- Peer to peer --- */

static void pair_up(void *arg)
{
	struct session        *x = arg;
	static struct p2p_peer ann, ben;
	char                   room[16], members[40];

	p2p_peer_open(&ann, x->s, 1);
	p2p_peer_open(&ben, x->s, 2);
	p2p_peer_pong(&ann);
	p2p_peer_pong(&ben);
	p2p_peer_be_mapped(&ann);
	p2p_peer_ask(&ann, "p2p.create", "");
	p2p_peer_string(room, sizeof(room), &ann, "room");
	snprintf(members, sizeof(members), ",\"room\":\"%s\"", room);
	p2p_peer_ask(&ben, "p2p.join", members);
	p2p_peer_ask(&ann, "p2p.start", "");
	p2p_peer_frame(&ann, P2P_LINK, P2P_FLAG_RELIABLE, P2P_SEAT_ALL, "hi", 2);
	p2p_peer_await_frame(&ben);
}

static void ask_stun(void *arg)
{
	static const uint8_t binding[20] = {
		0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
	};
	struct session    *x  = arg;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)x->s->p2p_port) };
	uint8_t            answer[256];
	int                fd = dial_udp("127.0.0.1", 0);
	ssize_t            n  = -1;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int try = 0; try < 5 && n <= 0; try++) {
		sendto(fd, binding, sizeof(binding), 0, (struct sockaddr *)&to, sizeof(to));
		n = dial_read(fd, answer, sizeof(answer), real_now_ms() + 500);
	}
	cr_assert_gt(n, 20, "no answer from STUN");
}

/* --- The operator --- */

static struct http_result operate(const struct session *x, const char *method, const char *path, const char *body)
{
	char request[600];
	int  len =
		snprintf(request, sizeof(request),
	                 "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
	                 "Content-Length: %zu\r\n\r\n%s",
	                 method, path, strlen(body), body);

	return http_exchange_unix(x->s->admin_socket, request, (size_t)len, ACT_MS);
}

static void look(const struct session *x, const char *path)
{
	AUTO(rest_freep) struct http_result r = http_get_unix(x->s->admin_socket, path);

	cr_assert_eq(r.status, 200, "%s: %d", path, r.status);
}

static void look_at_all(void *arg)
{
	static const char *const paths[] = { "/metrics",          "/admin/v1/status",    "/admin/v1/games",
		                             "/admin/v1/players", "/admin/v1/campaigns", "/admin/v1/lobbies",
		                             "/admin/v1/audit",   "/admin/v1/settings" };

	for (size_t i = 0; i < COUNT_OF(paths); i++)
		look(arg, paths[i]);
}

static int64_t make(const struct session *x, const char *path, const char *body)
{
	AUTO(rest_freep) struct http_result r = operate(x, "POST", path, body);

	cr_assert_eq(r.status, 201, "%s: %d %s", path, r.status, r.body);
	return rest_int(&r, "id");
}

static void change(void *arg)
{
	struct session *x = arg;

	x->p->token = make(x, "/admin/v1/tokens", "{\"name\":\"kept\",\"role\":\"viewer\"}");
	x->p->ban   = make(x, "/admin/v1/bans", "{\"kind\":\"address\",\"value\":\"203.0.113.9\",\"reason\":\"rude\"}");
}

static void reload(void *arg)
{
	AUTO(rest_freep) struct http_result r = operate(arg, "POST", "/admin/v1/reload", "{}");

	cr_assert_eq(r.status, 200);
}

static void back_up(void *arg)
{
	struct session *x = arg;
	char            body[SERVER_PATH_BYTES + 40];

	snprintf(body, sizeof(body), "{\"dest\":\"%s/backup\"}", x->s->root);
	AUTO(rest_freep) struct http_result r = operate(x, "POST", "/admin/v1/backup", body);

	cr_assert_eq(r.status, 200, "%s", r.body);
	x->p->backup = true;
}

/* --- All of it --- */

static const struct act acts[] = {
	{ "tunnel", play },        { "vault", store_by_ws },
	{ "rest", store_by_rest }, { "campaigns", look_at_campaigns },
	{ "lobby", announce },     { "signal", signal_each_other },
	{ "rooms", meet },         { "p2p", pair_up },
	{ "stun", ask_stun },      { "look", look_at_all },
	{ "change", change },      { "code", ask_new_code },
	{ "backup", back_up },     { "reload", reload },
};

struct session *session_new(struct server *s)
{
	struct session *x = calloc(1, sizeof(*x));

	cr_assert_not_null(x);
	x->s = s;
	x->p = attempt_share(sizeof(*x->p));
	return x;
}

void session_free(struct session *x)
{
	free(x);
}

static void note(struct session *x, const char *name, const char *what, const char *why)
{
	size_t len = strlen(x->said);

	snprintf(x->said + len, sizeof(x->said) - len, " [%s %s %.120s]", name, what, why);
	for (char *c = x->said + len; *c; c++)
		*c = *c == '\n' ? ' ' : *c; /* one line */
}

void session_run(struct session *x)
{
	char why[ATTEMPT_WHY_BYTES];

	for (size_t i = 0; i < COUNT_OF(acts) && server_is_running(x->s); i++) {
		enum attempt_end end = attempt(acts[i].run, x, ACT_MS, why);

		x->refused += end == ATTEMPT_REFUSED;
		x->late += end == ATTEMPT_LATE;
		if (end != ATTEMPT_DONE)
			note(x, acts[i].name, end == ATTEMPT_LATE ? "late" : "refused", why);
	}
}

static void ask_health(void *arg)
{
	struct session                     *x = arg;
	AUTO(rest_freep) struct http_result r = http_get(x->s->http_port, "/healthz");

	cr_assert_eq(r.status, 200, "/healthz: %d", r.status);
	cr_assert(strstr(r.body, "\"store\":\"ok\""), "store");
}

bool session_is_healthy(struct session *x, bool *store_is_ok)
{
	char             why[ATTEMPT_WHY_BYTES];
	enum attempt_end end = attempt(ask_health, x, ACT_MS, why);

	*store_is_ok = end == ATTEMPT_DONE;
	if (end != ATTEMPT_DONE)
		note(x, "health", end == ATTEMPT_LATE ? "late" : "refused", why);
	return end == ATTEMPT_DONE || (end == ATTEMPT_REFUSED && strstr(why, "store"));
}

/* --- Afterwards --- */

static void check_code(struct session *x)
{
	const struct session_promises *p = x->p;
	uint32_t                       code;

	if (!p->code)
		return;
	ws_client_free(host_open(x->s->tunnel_port, "host", &code));
	if (p->new_code)
		cr_assert_eq(code, p->new_code, "the code was %u and is %u", p->new_code, code);
	else
		cr_assert(code == p->code || p->new_code_asked, "the code was %u and is %u", p->code, code);
}

/* There, or, when nobody was told so, perhaps not; never other bytes. */
static void check_checkpoint(struct session *x, const char *campaign, unsigned number, bool was_promised)
{
	struct transfer_bytes c = transfer_make(campaign, number, SAVE_BYTES);
	size_t                len;
	uint8_t              *got = transfer_get(&len, x->s, "host", campaign, 0);

	cr_assert(got || !was_promised, "the checkpoint of %s was stored and is lost", campaign);
	cr_assert(!got || (len == c.len && memcmp(got, c.bytes, len) == 0), "%s holds other bytes", campaign);
	free(got);
	transfer_unmake(&c);
}

static void check_listed(struct session *x, const char *path, int64_t id)
{
	char                                want[40];
	AUTO(rest_freep) struct http_result r = http_get_unix(x->s->admin_socket, path);

	if (!id)
		return;
	snprintf(want, sizeof(want), "\"id\":%lld", (long long)id);
	cr_assert(r.status == 200 && strstr(r.body, want), "%s does not list %lld: %s", path, (long long)id, r.body);
}

static void check_score(struct session *x)
{
	struct gamer         *c = gamer_new(x->s, TITLE, "reader");
	struct gamer_message *m = gamer_ranking(c, BOARD, 1, 10);

	cr_assert(m->count == 1 && m->rows[0].score == SCORE && strcmp(m->rows[0].name, NAME) == 0,
	          "the score is lost");
	gamer_free(c);
}

void session_check(struct session *x, bool ended_well)
{
	const struct session_promises *p = x->p;

	check_code(x);
	check_checkpoint(x, "by ws", 1, p->by_ws);
	check_checkpoint(x, "by rest", 2, p->by_rest);
	check_listed(x, "/admin/v1/tokens", p->token);
	check_listed(x, "/admin/v1/bans", p->ban);
	if (!ended_well)
		return;
	if (p->has_score)
		check_score(x);
	if (p->has_lobby)
		cr_assert_eq(master_beat(&p->lobby, x->s, J("'players_cur':2")), 200, "the lobby is lost");
}

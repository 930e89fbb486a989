/*
 * The live peer-to-peer part, whole, between connections, sockets, timers and a random source that are made up here.
 *
 * The input is lines. One that begins with a digit is about a client (there are four), what follows says what happens:
 *
 *	0{"op":...}	a text message; in it $R stands for the last room's name, $C for his cookie, $K for his check, $N for his nonce
 *	0t...		a text message that is anything
 *	0x0201...	a binary message, in hex
 *	0u3150		a packet to socket 3, of type 1 and step 5, from port 0 of his, with his nonce and a right tag
 *	0p		his pong to the last ping
 *	0q70000		so many bytes wait for him from here on
 *	0.		he is gone
 *	+500		so many milliseconds go by
 *	@1c00d...	a datagram to socket 1, in hex
 *
 * Whatever comes, what is said is JSON, frames and packets as the document has them, no answer over UDP is larger than its
 * question, and rooms, seats, groups and checks fit together.
 */
#include "base/hex.h"
#include "conf/conf.h"
#include "crypt/hash.h"
#include "net/inherit.h"
#include "net/listen.h"
#include "os/log.h"
#include "os/random.h"
#include "p2p/p2p_inside.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS        4
#define INPUT_MAX      16384
#define LINE_MAX       24576 /* as net/ws has it for this part */
#define DATAGRAM_MAX   2048
#define TIMERS_AT_ONCE 10000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A client, and the connection that net/ws would have. */
struct ws_conn {
	bool                is_open, is_closing, is_text;
	struct addr         addr;
	size_t              queued;
	uint8_t             ping[8];
	struct p2p_session *session; /* as the part gave it */
	uint32_t            time, cookie;
	int64_t             check;
	uint8_t             nonce[P2P_NONCE_BYTES];
};

struct udp_socket {
	struct addr        addr;
	struct udp_handler handler;
};

static struct conf       conf;
static struct p2p       *part;
static struct ws_conn    clients[CLIENTS];
static struct udp_socket sockets[P2P_SOCKETS];
static size_t            socket_count, question_bytes;
static struct list       timers;
static int64_t           now;
static uint64_t          seed;
static char              room_name[P2P_ROOM_NAME_BYTES];

static void need(bool is)
{
	if (!is)
		abort();
}

/* --- What the part stands on --- */

uint64_t random_u64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

void random_bytes(void *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)out)[i] = (uint8_t)(random_u64() >> 24);
}

uint32_t random_below(uint32_t bound)
{
	return (uint32_t)(random_u64() >> 24) % bound;
}

int64_t loop_now_ms(const struct loop *l)
{
	(void)l;
	return now;
}

void timer_init(struct timer *t, void (*fire)(struct timer *t, int64_t now_ms))
{
	list_init(&t->in);
	t->at_ms = 0;
	t->fire  = fire;
}

void timer_clear(struct timer *t)
{
	list_remove(&t->in);
	t->at_ms = 0;
}

void timer_set(struct loop *l, struct timer *t, int64_t at_ms)
{
	(void)l;
	need(at_ms > 0);
	list_remove(&t->in);
	list_append(&timers, &t->in);
	t->at_ms = at_ms;
}

static struct timer *first_timer(int64_t until)
{
	struct timer *first = NULL;

	for (struct list *at = timers.next; at != &timers; at = at->next) {
		struct timer *t = CONTAINER(at, struct timer, in);

		if (t->at_ms <= until && (!first || t->at_ms < first->at_ms))
			first = t;
	}
	return first;
}

/* A timer that sets itself to the present, without end, would never let it return. */
static void pass(int64_t ms)
{
	int64_t       until = now + ms;
	struct timer *t;

	for (int fired = 0; (t = first_timer(until)); fired++) {
		need(fired < TIMERS_AT_ONCE);
		now = t->at_ms > now ? t->at_ms : now;
		timer_clear(t);
		t->fire(t, now);
	}
	now = until;
}

void p2p_nat_keep(struct p2p *p, const struct p2p_nat_result *r)
{
	need(p == part && r->type <= P2P_NAT_SYMMETRIC);
}

enum err listen_udp(int *fd, struct addr *bound, const char *text, uint16_t port, FILE *report)
{
	(void)port, (void)report;
	*fd = 1000; /* nobody looks */
	return addr_parse(bound, text, strlen(text), true);
}

/* Nothing came from an earlier process. */
bool inherit_inet(int *fd, struct addr *bound, const char *setting, int type, const struct addr *want,
                  enum inherit_how how)
{
	(void)fd, (void)bound, (void)setting, (void)type, (void)want, (void)how;
	return false;
}

void inherit_keep(const char *setting, int fd)
{
	(void)setting, (void)fd;
}

void inherit_put_back(const char *setting, int fd)
{
	(void)setting, (void)fd;
}

void listen_tune_udp(int fd)
{
	(void)fd;
}

enum err udp_listen(struct udp_socket **out, struct udp *u, int fd, const struct addr *bound,
                    const struct udp_handler *handler)
{
	(void)u, (void)fd;
	need(socket_count < P2P_SOCKETS);
	*out  = &sockets[socket_count++];
	**out = (struct udp_socket){ .addr = *bound, .handler = *handler };
	return ERR_OK;
}

/* --- What it says --- */

static struct ws_conn *client_of_sid(const uint8_t *sid)
{
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i].is_open && memcmp(clients[i].session->sid, sid, P2P_SID_BYTES) == 0)
			return &clients[i];
	return NULL;
}

void udp_send(const struct udp_path *to, const void *bytes, size_t len)
{
	const uint8_t    *b = bytes;
	struct p2p_packet k;
	struct ws_conn   *c;

	need(to->socket >= sockets && to->socket < sockets + socket_count);
	if (len > 0 && b[0] != 0xc0)
		return; /* STUN has a target of its own */
	need(p2p_packet_parse(&k, b, len, false));
	need(k.type == P2P_PING_TRY || question_bytes >= len);
	c = client_of_sid(k.sid);
	need(c != NULL);
	if (k.type == P2P_HELLO_ACK)
		c->cookie = k.time;
	else
		memcpy(c->nonce, k.nonce, sizeof(c->nonce));
}

static void read_news(struct ws_conn *c, const struct json *j, const char *op)
{
	const char *text;
	int64_t     check;

	if (json_get_text(&text, j, "room") == ERR_OK)
		snprintf(room_name, sizeof(room_name), "%s", text);
	if (strcmp(op, "nat.step") != 0 || json_kind(j, "id") != JSON_IS_MISSING)
		return; /* with an id it is what is said to a client that asks for it */
	need(json_get_int(&check, j, "check") == ERR_OK && json_get_text(&text, j, "nonce") == ERR_OK);
	need(hex_decode(c->nonce, sizeof(c->nonce), text, strlen(text)) == ERR_OK);
	c->check = check;
}

void ws_send_text(struct ws_conn *c, const void *data, size_t len)
{
	struct json *j = NULL;
	const char  *op, *why;

	need(c->is_open && len > 0);
	need(json_parse(&j, data, len) == ERR_OK);
	need(json_get_text(&op, j, "op") == ERR_OK);
	if (json_kind(j, "id") != JSON_IS_MISSING)
		need(json_kind(j, "ok") == JSON_IS_BOOL);
	if (json_kind(j, "ok") == JSON_IS_BOOL && !json_member_bool(j, "ok"))
		need(json_get_text(&why, j, "error") == ERR_OK && json_get_text(&why, j, "message") == ERR_OK);
	read_news(c, j, op);
	json_free(j);
}

static void count_user(void *arg, const struct p2p_sync_user *user)
{
	need(user->id_len == P2P_UID_BYTES - 1);
	++*(size_t *)arg;
}

static void check_sync(const struct ws_conn *to, const struct p2p_frame *f)
{
	uint8_t *scratch = malloc(f->content_len);
	size_t   users   = 0;

	need(scratch && p2p_sync_parse(f->content, f->content_len, scratch, count_user, &users) == P2P_SYNC_FINE);
	need(users == to->session->member.room->count && f->number == to->session->member.room->epoch);
	free(scratch);
}

/* A leader passes on to seats of its own group, and its own message only when it is asked to. */
static void check_link(const struct ws_conn *to, const struct p2p_frame *f)
{
	const struct p2p_member *me = &to->session->member;

	need(!(f->flags & P2P_FLAG_YOURS) || f->flags & P2P_FLAG_PASS_ON);
	need((f->seat == me->seat) == ((f->flags & P2P_FLAG_YOURS) != 0));
	if (!(f->flags & P2P_FLAG_PASS_ON))
		return;
	need(f->content_len > 0 && f->content[0] > 0 && f->content_len > 2 * (size_t)f->content[0]);
	for (size_t i = 0; i < f->content[0]; i++) {
		uint16_t                 seat  = (uint16_t)(f->content[1 + 2 * i] << 8 | f->content[2 + 2 * i]);
		const struct p2p_member *other = p2p_room_by_seat(me->room, seat);

		need(other && other != me && other->group == me->group && seat != f->seat);
	}
}

void ws_send(struct ws_conn *c, const void *data, size_t len)
{
	struct p2p_frame f;

	need(c->is_open && p2p_frame_parse(&f, data, len) && f.kind != P2P_LINK_ACK);
	if (c->is_closing)
		return;
	if (f.kind == P2P_SYNC)
		check_sync(c, &f);
	else if (f.kind == P2P_LINK)
		check_link(c, &f);
}

void ws_ping(struct ws_conn *c, const void *payload, size_t len)
{
	need(c->is_open && len == sizeof(c->ping));
	memcpy(c->ping, payload, len);
}

void ws_close(struct ws_conn *c)
{
	need(c->is_open);
	c->is_closing = true;
}

void ws_close_status(struct ws_conn *c, uint16_t status)
{
	need(status == 1007 || status == 1008);
	ws_close(c);
}

uint64_t ws_conn_id(const struct ws_conn *c)
{
	return (uint64_t)(c - clients);
}

const struct addr *ws_conn_client(const struct ws_conn *c)
{
	return &c->addr;
}

bool ws_conn_is_exempt(const struct ws_conn *c)
{
	return c == &clients[0];
}

size_t ws_conn_queued(const struct ws_conn *c)
{
	return c->queued;
}

bool ws_message_is_text(const struct ws_conn *c)
{
	return c->is_text;
}

/* --- What clients do --- */

static void open_client(struct ws_conn *c)
{
	const struct ws_handler *h    = p2p_handler(part);
	uint8_t                  host = (uint8_t)(10 + (c - clients));

	if (c->is_open)
		return;
	*c         = (struct ws_conn){ .is_open = true, .addr = { .family = ADDR_IPV4, .ip = { 203, 0, 113, host } } };
	c->session = h->opened(h->part, c, now);
	c->is_open = c->session != NULL;
}

static void end_client(struct ws_conn *c)
{
	if (!c->is_open)
		return;
	p2p_handler(part)->closed(c->session, now);
	c->is_open = false;
}

/* In memory of exactly its size. Empty messages are not told of. */
static void say(struct ws_conn *c, const uint8_t *bytes, size_t len, bool is_text)
{
	uint8_t *exact;

	if (len == 0 || !c->is_open || c->is_closing)
		return;
	exact = malloc(len);
	if (!exact)
		abort();
	memcpy(exact, bytes, len);
	c->is_text = is_text;
	p2p_handler(part)->message(c->session, exact, len, now);
	free(exact);
}

/* What a $ and a letter stand for; returns how many characters that is. */
static size_t fill_in(char out[32], const struct ws_conn *c, char letter)
{
	switch (letter) {
	case 'R':
		return (size_t)snprintf(out, 32, "%s", room_name);
	case 'C':
		return (size_t)snprintf(out, 32, "%u", c->cookie);
	case 'K':
		return (size_t)snprintf(out, 32, "%lld", (long long)c->check);
	case 'N':
		hex_encode(out, c->nonce, sizeof(c->nonce));
		return 2 * sizeof(c->nonce);
	default:
		out[0] = '$';
		out[1] = letter;
		return 2;
	}
}

static void say_request(struct ws_conn *c, const char *line, size_t len)
{
	static char text[LINE_MAX];
	size_t      used = 0;

	for (size_t i = 0; i < len && used + 32 < sizeof(text); i++) {
		if (line[i] == '$' && i + 1 < len)
			used += fill_in(text + used, c, line[++i]);
		else
			text[used++] = line[i];
	}
	say(c, (const uint8_t *)text, used, true);
}

static size_t read_hex(uint8_t *out, size_t cap, const char *line, size_t len)
{
	size_t used = 0;

	for (size_t i = 0; i + 1 < len && used < cap; i += 2, used++)
		if (hex_decode(out + used, 1, line + i, 2) != ERR_OK)
			break;
	return used;
}

static void say_frame(struct ws_conn *c, const char *line, size_t len)
{
	static uint8_t bytes[LINE_MAX];

	say(c, bytes, read_hex(bytes, sizeof(bytes), line, len), false);
}

static void receive(struct udp_socket *s, const struct addr *from, const uint8_t *bytes, size_t len)
{
	uint8_t             memory[DATAGRAM_MAX]; /* as large as what is written over it may get */
	struct udp_datagram d = { .path = { .socket = s, .port = from->port }, .bytes = memory, .len = len };

	d.cap = sizeof(memory);
	memcpy(d.path.ip, from->ip, sizeof(d.path.ip));
	memcpy(memory, bytes, len);
	question_bytes = len;
	s->handler.got(s->handler.part, &d, now);
	question_bytes = 0;
}

static unsigned digit(const char *line, size_t len, size_t at)
{
	return at < len && isdigit((unsigned char)line[at]) ? (unsigned)(line[at] - '0') : 0;
}

static void send_packet(struct ws_conn *c, const char *line, size_t len)
{
	uint8_t           bytes[P2P_PACKET_BYTES];
	struct addr       from = c->addr;
	struct p2p_packet k    = { .type = (enum p2p_packet_type)digit(line, len, 1),
		                   .step = (uint8_t)digit(line, len, 2),
		                   .time = ++c->time };

	if (!c->is_open || socket_count == 0)
		return;
	from.port = (uint16_t)(50000 + digit(line, len, 3));
	memcpy(k.sid, c->session->sid, sizeof(k.sid));
	memcpy(k.nonce, c->nonce, sizeof(k.nonce));
	p2p_packet_build(bytes, &k);
	hash_tag(bytes + P2P_TAGGED_BYTES, c->session->key, P2P_KEY_BYTES, bytes, P2P_TAGGED_BYTES);
	receive(&sockets[digit(line, len, 0) % socket_count], &from, bytes, sizeof(bytes));
}

static void send_any(const char *line, size_t len)
{
	static const struct addr stranger = { .family = ADDR_IPV4, .ip = { 198, 51, 100, 7 }, .port = 4000 };
	uint8_t                  bytes[DATAGRAM_MAX / 2];

	if (socket_count > 0 && len > 0)
		receive(&sockets[digit(line, len, 0) % socket_count], &stranger, bytes,
		        read_hex(bytes, sizeof(bytes), line + 1, len - 1));
}

static size_t number(const char *line, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && i < 6 && isdigit((unsigned char)line[i]); i++)
		n = 10 * n + (size_t)(line[i] - '0');
	return n;
}

static void act(struct ws_conn *c, const char *line, size_t len)
{
	open_client(c);
	switch (len > 0 ? line[0] : '\0') {
	case '{':
		say_request(c, line, len);
		break;
	case 't':
		say(c, (const uint8_t *)line + 1, len - 1, true);
		break;
	case 'x':
		say_frame(c, line + 1, len - 1);
		break;
	case 'u':
		send_packet(c, line + 1, len - 1);
		break;
	case 'p':
		if (c->is_open && !c->is_closing)
			p2p_handler(part)->pong(c->session, c->ping, sizeof(c->ping), now);
		break;
	case 'q':
		c->queued = number(line + 1, len - 1);
		break;
	case '.':
		end_client(c);
		break;
	default:
		break;
	}
}

/* --- What has to be true --- */

static void check_member(const struct p2p_session *s)
{
	const struct p2p_member *m = &s->member;
	const struct p2p_group  *g = m->group;

	need(!m->room || s->has_hello);
	need(!s->check || s->has_hello);
	if (!m->room)
		return;
	need(m->index < m->room->count && m->room->members[m->index] == m);
	need(m->index == 0 || m->room->members[m->index - 1]->seat < m->seat);
	need(p2p_room_find(&part->rooms, m->room->name) == m->room);
	if (!g)
		return;
	need(m->in_group < g->count && g->members[m->in_group] == m);
	need(!g->leader || (g->count > 1 && g->leader->group == g && p2p_member_can_lead(g->leader)));
}

static void check_all(void)
{
	size_t checks = 0, members = 0, in_rooms = 0;

	for (struct list *at = part->sessions.next; at != &part->sessions; at = at->next) {
		const struct p2p_session *s = CONTAINER(at, struct p2p_session, in_sessions);

		check_member(s);
		checks += s->check != NULL;
		members += s->member.room != NULL;
	}
	for (struct list *at = part->rooms.rooms.next; at != &part->rooms.rooms; at = at->next) {
		const struct p2p_room *room = CONTAINER(at, struct p2p_room, in_rooms);

		need(room->count > 0 && room->count <= room->max);
		in_rooms += room->count;
	}
	need(checks == part->check_count && members == in_rooms);
}

/* net/ws tells of an end later, and not from inside. */
static void end_closing(void)
{
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i].is_closing)
			end_client(&clients[i]);
}

static void take_line(const char *line, size_t len)
{
	if (len == 0)
		return;
	if (line[0] >= '0' && line[0] < '0' + CLIENTS)
		act(&clients[line[0] - '0'], line + 1, len - 1);
	else if (line[0] == '+')
		pass((int64_t)number(line + 1, len - 1));
	else if (line[0] == '@')
		send_any(line + 1, len - 1);
	check_all();
	end_closing();
	check_all();
}

/* The first game code is of a game in which everybody is, the second one's is of another's. */
static enum err ask_game(void *arg, uint32_t code, const uint8_t digest[32])
{
	(void)arg, (void)digest;
	if (code == 123456)
		return ERR_OK;
	return code == 123457 ? ERR_NOT_ALLOWED : ERR_NOT_FOUND;
}

static void begin(void)
{
	static const char text[] = "[p2p]\npublic1 = 203.0.113.1\npublic2 = 203.0.113.2\n"
				   "[limits]\np2p_out_burst = 1100000\np2p_repeat_bytes = 20000\n";

	if (!conf.p2p_public1)
		need(crypt_init() == ERR_OK && conf_load_text(&conf, text, sizeof(text) - 1, stderr) == ERR_OK);
	log_set_level(LOG_ERROR);
	list_init(&timers);
	memset(clients, 0, sizeof(clients));
	socket_count = 0;
	now          = 1000000;
	seed         = 88172645463325252;
	room_name[0] = '\0';
	need(p2p_new(&part, NULL, NULL, &conf, stderr) == ERR_OK);
	need(p2p_listen(part, NULL, stderr) == ERR_OK);
	p2p_set_games(part, ask_game, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *at = (const char *)data, *end = at + len;

	if (len > INPUT_MAX)
		return 0;
	begin();
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		take_line(at, (size_t)((line_end ? line_end : end) - at));
		at = line_end ? line_end + 1 : end;
	}
	p2p_game_over(part, 123456);
	check_all();
	p2p_stop(part);
	end_closing();
	p2p_free(part);
	need(list_is_empty(&timers));
	return 0;
}

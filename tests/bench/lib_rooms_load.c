/*
 * Players of the generator of rooms.
 *
 * A player has a connection, and for datagrams a socket besides.  Both are in the same epoll; the pointer that it gives back
 * says which by the kind that stands behind the socket.
 */
#include "lib_rooms_load.h"

#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib_wire.h"

enum {
	TITLE_BYTES    = 12,
	NAME_BYTES     = 16,
	FRAME_BYTES    = 2048,
	BOARD          = 1,
	FILL_PIPE      = 100,
	DATAGRAM_BYTES = 1500,
	TALK_RATE      = 60,
	BEST_SCORE     = 2000000000,
	GOOD_SCORE     = BEST_SCORE / 2
};
enum kind { KIND_TCP, KIND_UDP };

struct end {
	struct sock    sock; /* first: epoll gives this back */
	enum kind      kind;
	struct player *player;
};

struct player {
	struct load_player is;
	struct end         tcp, udp;
	int64_t            sent_ns[LOAD_FLIGHT_MAX]; /* a ring: answers come in order */
	uint32_t           first, next;
	int64_t            score;
};

struct rooms_options rooms_opt = { .peers = 200, .bytes = 64, .flight = 1, .seconds = 5, .warmup = 1, .rows = 100000 };

static struct player *players;
static uint32_t       talkers; /* with scores: of the first players, who talk */
static uint64_t       paced;
static int64_t        paced_from_ns;
static uint64_t       said;
static void (*send_one)(struct player *p);
static uint32_t senders; /* the first so many are paced */

/* The same sequence in every run. Below limit. */
static uint32_t any_below(uint32_t limit)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % limit;
}

/* Blocking */

size_t load_await(int fd, uint8_t type, uint8_t *payload, size_t cap)
{
	uint8_t head[ROOMS_HEAD];

	for (;;) {
		wire_read(fd, head, sizeof(head));
		if (rooms_len(head) > cap)
			errx(1, "a frame is longer than expected");
		wire_read(fd, payload, rooms_len(head));
		if (head[0] == ROOMS_T_ERROR)
			errx(1, "the server answers with error %u", rooms_u32(payload + 4));
		if (head[0] == type || (head[0] == ROOMS_T_OK && type < 0xa0))
			return head[0] == type ? rooms_len(head) : 0;
	}
}

static size_t build_hello(uint8_t *out, uint32_t number)
{
	size_t len = 4 + TITLE_BYTES + NAME_BYTES + 2;
	char   name[NAME_BYTES + 1];

	memset(out, 0, ROOMS_HEAD + len);
	rooms_head(out, ROOMS_T_HELLO, len);
	memcpy(out + ROOMS_HEAD + 4, "BENCH0000_00", TITLE_BYTES);
	snprintf(name, sizeof(name), "p%u", number);
	memcpy(out + ROOMS_HEAD + 4 + TITLE_BYTES, name, strlen(name));
	return ROOMS_HEAD + len;
}

int load_enter(struct load_player *p, uint32_t number)
{
	uint8_t frame[FRAME_BYTES];
	int     fd = wire_connect(rooms_opt.port), one = 1;

	p->number  = number;
	p->user_id = number + 1; /* for the echo, which gives none */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	wire_send(fd, frame, build_hello(frame, number));
	if (load_await(fd, ROOMS_T_HELLO_ACK, frame, sizeof(frame)) > 0) {
		p->user_id = rooms_u32(frame + 4);
		p->token   = rooms_u32(frame + 12);
	}
	return fd;
}

void load_enter_room(struct load_player *group, uint32_t at, int fd)
{
	uint8_t frame[FRAME_BYTES] = { 0 };
	size_t  create = 4 + 1 + 4 + 2 + 2 + 2, join = 4 + 8 + 2;

	if (at == 0) {
		rooms_head(frame, ROOMS_T_CREATE, create);
		frame[ROOMS_HEAD + 4] = ROOMS_GROUP;
	} else {
		rooms_head(frame, ROOMS_T_JOIN, join);
		rooms_put(frame + ROOMS_HEAD + 4, group[0].room_id, 8);
	}
	wire_send(fd, frame, ROOMS_HEAD + (at == 0 ? create : join));
	if (load_await(fd, ROOMS_T_JOINED, frame, sizeof(frame)) > 0)
		group[at].room_id = rooms_get(frame + 4, 8);
}

/* Frames of the measurement */

static void note_sent(struct player *p)
{
	p->sent_ns[p->next++ % LOAD_FLIGHT_MAX] = usage_now_ns();
	load_run.sent++;
}

static void ask_ranking(struct player *p)
{
	size_t   len = 4 + 4 + 4 + 2;
	uint8_t *out = sock_put(&load_run.loop, &p->tcp.sock, ROOMS_HEAD + len);

	memset(out, 0, ROOMS_HEAD + len);
	rooms_head(out, ROOMS_T_RANKING_OF, len);
	rooms_put(out + ROOMS_HEAD + 4, talkers ? BOARD : 999, 4);
	rooms_put(out + ROOMS_HEAD + 8, talkers ? 1 + any_below(rooms_opt.rows) : 1, 4);
	rooms_put(out + ROOMS_HEAD + 12, 10, 2);
	note_sent(p);
}

static size_t build_score(uint8_t *out, int64_t score)
{
	size_t len = 4 + 4 + 1 + 8 + 2;

	memset(out, 0, ROOMS_HEAD + len);
	rooms_head(out, ROOMS_T_SCORE, len);
	rooms_put(out + ROOMS_HEAD + 4, BOARD, 4);
	rooms_put(out + ROOMS_HEAD + 9, (uint64_t)score, 8);
	return ROOMS_HEAD + len;
}

/* Each is better than the one before, so that each changes the board. */
static void record_score(struct player *p)
{
	uint8_t frame[64];
	size_t  len;

	/* The board is full: only who is better than its last comes on it. */
	p->score += p->score ? 1 + any_below(1000000) : GOOD_SCORE;
	len = build_score(frame, p->score);
	memcpy(sock_put(&load_run.loop, &p->tcp.sock, len), frame, len);
	note_sent(p);
}

static void score_and_ask(struct player *p)
{
	record_score(p);
	ask_ranking(p);
}

static void say(struct player *p)
{
	size_t   len    = 4 + 8 + 2 + 2 + rooms_opt.bytes;
	uint8_t *out    = sock_put(&load_run.loop, &p->tcp.sock, ROOMS_HEAD + len);
	int64_t  now_ns = usage_now_ns();

	memset(out, 0, ROOMS_HEAD + len);
	rooms_head(out, ROOMS_T_MESSAGE, len);
	rooms_put(out + ROOMS_HEAD + 4, p->is.room_id, 8);
	rooms_put(out + ROOMS_HEAD + 14, rooms_opt.bytes, 2);
	memcpy(out + ROOMS_HEAD + 16, &now_ns, sizeof(now_ns));
	load_run.sent += ROOMS_GROUP - 1;
	if (rooms_opt.deaf && p->is.number < ROOMS_GROUP)
		load_run.sent--;
}

static bool is_next_to_say(const struct player *p)
{
	return !load_run.draining && rooms_opt.rate <= 0 && !talkers && p->is.number % ROOMS_GROUP == 0;
}

static void on_message(const uint8_t *payload)
{
	int64_t sent_ns;

	memcpy(&sent_ns, payload + ROOMS_MSG_FIXED, sizeof(sent_ns));
	load_done(sent_ns, talkers ? 0 : 1);
}

static void on_frame(struct player *p, uint8_t type, const uint8_t *payload)
{
	switch (type) {
	case ROOMS_T_ROOM_MSG:
		on_message(payload);
		break;
	case ROOMS_T_OK: /* of a message: the next one */
		if (is_next_to_say(p))
			say(p);
		break;
	case ROOMS_T_RANKING:
	case ROOMS_T_RECORDED:
		if (talkers) {
			load_run.arrived++;
			load_run.counted += usage_now_ns() >= load_run.begin_ns && usage_now_ns() < load_run.end_ns;
			break;
		}
		load_done(p->sent_ns[p->first++ % LOAD_FLIGHT_MAX], 1);
		if (!load_run.draining && rooms_opt.rate <= 0)
			send_one(p);
		break;
	case ROOMS_T_ERROR:
		errx(1, "the server answers with error %u", rooms_u32(payload + 4));
	default:
		break;
	}
}

static void on_tcp(struct player *p, uint32_t events)
{
	struct sock  *s = &p->tcp.sock;
	struct span   in;
	enum sock_got got;

	if (events & EPOLLOUT)
		sock_writable(&load_run.loop, s);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	got = sock_read(&in, &load_run.loop, s);
	if (got == SOCK_GONE)
		errx(1, "the server closes a connection");
	if (got != SOCK_BYTES)
		return;
	while (in.len >= ROOMS_HEAD && in.len >= ROOMS_HEAD + rooms_len(in.p)) {
		size_t whole = ROOMS_HEAD + rooms_len(in.p);

		on_frame(p, in.p[0], in.p + ROOMS_HEAD);
		in.p += whole;
		in.len -= whole;
	}
	sock_keep(s, in);
}

/* Datagrams */

static void send_datagram(struct player *p, const uint8_t *bytes, size_t len)
{
	load_run.sent++;
	if (send(p->udp.sock.fd, bytes, len, 0) != (ssize_t)len)
		err(1, "a datagram");
}

static void begin_packet(uint8_t *out, uint8_t type, const struct player *p)
{
	memcpy(out, "PSNR", 4);
	out[4] = type;
	rooms_put(out + 5, p->is.user_id, 4);
	rooms_put(out + 9, p->is.token, 4);
}

static void probe(struct player *p)
{
	uint8_t out[ROOMS_PROBE] = { 0 };

	begin_packet(out, 1, p);
	p->sent_ns[p->next++ % LOAD_FLIGHT_MAX] = usage_now_ns();
	send_datagram(p, out, sizeof(out));
}

static void relay(struct player *p)
{
	uint8_t              out[DATAGRAM_BYTES] = { 0 };
	const struct player *to                  = &players[p->is.number ^ 1];
	int64_t              now_ns              = usage_now_ns();

	begin_packet(out, 3, p);
	rooms_put(out + 13, to->is.user_id, 4);
	memcpy(out + ROOMS_RELAY_IN, &now_ns, sizeof(now_ns));
	send_datagram(p, out, ROOMS_RELAY_IN + rooms_opt.bytes);
}

static void on_datagram(struct player *p, const uint8_t *bytes, size_t len)
{
	int64_t sent_ns;

	if (len == ROOMS_PROBE_REPLY) {
		sent_ns = p->sent_ns[p->first++ % LOAD_FLIGHT_MAX];
	} else if (len == ROOMS_RELAY_OUT + rooms_opt.bytes) {
		memcpy(&sent_ns, bytes + ROOMS_RELAY_OUT, sizeof(sent_ns));
	} else {
		errx(1, "a datagram of %zu bytes arrives", len);
	}
	load_done(sent_ns, 1);
	if (!load_run.draining && rooms_opt.rate <= 0 && send_one)
		send_one(p);
}

static void on_udp(struct player *p)
{
	uint8_t bytes[DATAGRAM_BYTES];
	ssize_t got;

	while ((got = recv(p->udp.sock.fd, bytes, sizeof(bytes), 0)) >= 0)
		on_datagram(p, bytes, (size_t)got);
}

void load_on_ready(void *who, uint32_t events)
{
	struct end *e = who;

	if (e->kind == KIND_UDP)
		on_udp(e->player);
	else
		on_tcp(e->player, events);
}

void load_pace(int64_t now_ns)
{
	if (paced_from_ns == 0)
		paced_from_ns = now_ns;
	/* With scores the room beside says something 60 times a second. */
	for (; talkers && (double)(now_ns - paced_from_ns) * TALK_RATE / 1e9 >= (double)said; said++)
		say(&players[0]);
	while (rooms_opt.rate > 0 && (double)(now_ns - paced_from_ns) * rooms_opt.rate / 1e9 >= (double)paced)
		send_one(&players[talkers + paced++ % senders]);
}

/* Beginnings */

static void unblock(int fd)
{
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		err(1, "fcntl");
}

static void open_players(uint32_t count, uint32_t in_rooms)
{
	players = calloc(count, sizeof(*players));
	if (!players)
		err(1, "%u players", count);
	for (uint32_t i = 0; i < count; i++) {
		struct player     *p  = &players[i];
		uint32_t           at = i % ROOMS_GROUP;
		struct load_player group[ROOMS_GROUP];
		int                fd = load_enter(&p->is, i);

		if (i < in_rooms) {
			group[0]  = players[i - at].is;
			group[at] = p->is;
			load_enter_room(group, at, fd);
			p->is = group[at];
		}
		unblock(fd);
		p->tcp.player = p->udp.player = p;
		p->tcp.kind                   = KIND_TCP;
		p->udp.kind                   = KIND_UDP;
		if (rooms_opt.deaf && i == ROOMS_GROUP - 1)
			continue; /* nobody reads it */
		sock_add(&load_run.loop, &p->tcp.sock, fd);
	}
}

static void send_first(uint32_t step)
{
	senders = rooms_opt.peers;
	for (uint32_t i = 0; rooms_opt.rate <= 0 && i < rooms_opt.peers; i += step)
		for (uint32_t k = 0; k < rooms_opt.flight; k++)
			send_one(&players[i]);
}

void load_begin_requests(void)
{
	open_players(rooms_opt.peers, 0);
	send_one = ask_ranking;
	send_first(1);
}

/* The first of each group says something, and again when that was answered. */
void load_begin_messages(void)
{
	rooms_opt.peers -= rooms_opt.peers % ROOMS_GROUP;
	open_players(rooms_opt.peers, rooms_opt.peers);
	send_one = say;
	send_first(ROOMS_GROUP);
}

/* One connection takes one name after the other. */
static void fill_board(void)
{
	struct load_player filler = { 0 };
	int                fd     = load_enter(&filler, 1000000);
	uint8_t            frame[FRAME_BYTES];

	for (uint32_t row = 0; row < rooms_opt.rows;) {
		uint32_t count = rooms_opt.rows - row < FILL_PIPE ? rooms_opt.rows - row : FILL_PIPE;

		for (uint32_t i = 0; i < count; i++) {
			size_t len = build_hello(frame, 2000000 + row + i);

			len += build_score(frame + len, any_below(BEST_SCORE));
			wire_send(fd, frame, len);
		}
		for (uint32_t i = 0; i < count; i++) {
			load_await(fd, ROOMS_T_HELLO_ACK, frame, sizeof(frame));
			load_await(fd, ROOMS_T_RECORDED, frame, sizeof(frame));
		}
		row += count;
	}
	close(fd);
}

void load_begin_scores(void)
{
	uint32_t count = rooms_opt.peers;

	fill_board();
	open_players(ROOMS_GROUP + count, ROOMS_GROUP);
	talkers  = ROOMS_GROUP;
	senders  = count;
	send_one = score_and_ask;
	if (rooms_opt.rate <= 0)
		errx(2, "scores are paced: --rate");
}

static void open_sockets(void)
{
	for (uint32_t i = 0; i < rooms_opt.peers; i++) {
		sock_add(&load_run.loop, &players[i].udp.sock, load_udp_socket(0, rooms_opt.port));
		players[i].udp.kind = KIND_UDP;
	}
}

void load_begin_probes(void)
{
	open_players(rooms_opt.peers, 0);
	open_sockets();
	send_one = probe;
	send_first(1);
}

/* Both of a pair probe first, and are in one room. */
void load_begin_relay(void)
{
	rooms_opt.peers -= rooms_opt.peers % ROOMS_GROUP;
	open_players(rooms_opt.peers, rooms_opt.peers);
	open_sockets();
	for (uint32_t i = 0; i < rooms_opt.peers; i++) {
		probe(&players[i]);
		while (players[i].first != players[i].next)
			on_udp(&players[i]);
	}
	send_one = relay;
	send_first(2);
}

/*
 * The table of opcodes, row by row, on every kind of connection: what is answered, what is ignored, what closes.
 */
#include "support/server.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

enum kind { NEW, HOST, FRIEND, HOST_1, FRIEND_1, KINDS };

/* One connection of each kind: a game of each protocol with one friend, and a connection without a role. */
struct stage {
	struct server       *server;
	uint32_t             code;
	struct tunnel_ticket ticket;
	struct ws_client    *conns[KINDS];
};

static void open_stage(struct stage *s)
{
	s->server          = server_start(NULL);
	int port           = s->server->tunnel_port;
	s->conns[HOST]     = host_open(port, "A", &s->code);
	s->conns[FRIEND]   = friend_join(port, s->code, "visit", "B");
	s->conns[HOST_1]   = host_open_1(port, NULL, &s->ticket);
	s->conns[FRIEND_1] = friend_join_1(port, s->ticket.code, "visit");
	s->conns[NEW]      = tunnel_connect(port, NULL);
	host_expect_friend(s->conns[HOST], 1, "B");
}

static void close_stage(struct stage *s)
{
	for (int k = 0; k < KINDS; k++)
		ws_client_free(s->conns[k]);
	server_finish(s->server);
}

/* Everybody's next message is the answer to an ECHO of now: nobody was told anything, nobody was closed. */
static void expect_quiet(struct stage *s)
{
	for (int k = 0; k < KINDS; k++)
		tunnel_echo(s->conns[k]);
}

#define ON(kind)   (1u << (kind))
#define ON_HOSTS   (ON(HOST) | ON(HOST_1))
#define ON_FRIENDS (ON(FRIEND) | ON(FRIEND_1))
#define ON_ALL     (ON(NEW) | ON_HOSTS | ON_FRIENDS)

/* Where an opcode means something. All others, everywhere else, are to be ignored. */
static const unsigned meant_on[256] = {
	[1] = ON(NEW),     [3] = ON_ALL,    [5] = ON_HOSTS,  [8] = ON(NEW),  [10] = ON_FRIENDS,
	[12] = ON_FRIENDS, [14] = ON_HOSTS, [16] = ON_HOSTS, [20] = ON(NEW),
};

/* Messages with this opcode, short and long; those of 18 and 30 bytes are whole HOST_OPENs and JOINs of protocol 2. */
static void send_all_lengths(struct ws_client *c, unsigned op)
{
	static const size_t lengths[]  = { 1, 2, 3, 4, 10, 12, 18, 30, 100 };
	uint8_t             bytes[100] = { (uint8_t)op, 2 };

	for (size_t i = 0; i < LEN(lengths); i++)
		cr_assert(ws_client_send_bytes(c, bytes, lengths[i]), "opcode %u ended the connection", op);
}

/* An ECHO that names what was just tried, so that a failure says it. */
static void expect_echo_of(struct ws_client *c, unsigned tried)
{
	struct pattern p;

	msg_echo(&p, tried);
	ws_client_send_pattern(c, &p);
	ws_expect_pattern(c, &p);
}

Test(serve_opcodes, what_means_nothing_on_a_connection_is_ignored)
{
	struct stage s;

	open_stage(&s);
	for (int k = 0; k < KINDS; k++)
		for (unsigned op = 0; op < 256; op++) {
			if (meant_on[op] & ON(k))
				continue;
			send_all_lengths(s.conns[k], op);
			expect_echo_of(s.conns[k], op);
		}
	expect_quiet(&s);

	/* After all that the games go on, and the one without a role can still get one. */
	friend_send(s.conns[FRIEND], "hi", 2);
	host_expect_datagram(s.conns[HOST], 1, "hi", 2);
	host_send(s.conns[HOST_1], 1, "hi", 2);
	friend_expect_datagram(s.conns[FRIEND_1], "hi", 2);
	ws_client_send(s.conns[NEW], "01 02 (77)x16");
	ws_expect(s.conns[NEW], "02 *");
	close_stage(&s);
}

Test(serve_opcodes, a_connection_with_a_role_keeps_it)
{
	struct stage   s;
	struct pattern open, open_1, join, join_1;

	open_stage(&s);
	msg_host_open(&open, "A");
	msg_host_open_1(&open_1, s.ticket.code, s.ticket.secret);
	msg_join(&join, s.code, "visit", "B");
	msg_join_1(&join_1, s.ticket.code, "visit");

	const struct pattern *again[] = { &open, &open_1, &join, &join_1 };

	for (int k = HOST; k < KINDS; k++) {
		for (size_t i = 0; i < LEN(again); i++)
			ws_client_send_pattern(s.conns[k], again[i]);
		ws_client_send(s.conns[k], "14 02 (00)x16");
		ws_client_send(s.conns[k], "14 03 (00)x16");
		ws_client_send(s.conns[k], "01 09");
		ws_client_send(s.conns[k], "08 09");
	}
	expect_quiet(&s);
	close_stage(&s);
}

/* Messages of the least length that means something, and who is told what by them. */
struct least {
	enum kind   from;
	const char *message;
	enum kind   to;
	const char *told;
};

static const struct least leasts[] = {
	/* from    message                              to      what he gets */
	{ FRIEND, "0a", HOST, "04 01 00" },
	{ FRIEND, "0c (a1)x8 00", HOST, "0d 01 00 (a1)x8 00" },
	{ HOST, "05 01 00", FRIEND, "0b" },
	{ HOST, "0e 01 00 00", FRIEND, "0f 00" },
	{ HOST, "10 01", FRIEND, "10 01" },
	{ FRIEND_1, "0a", HOST_1, "04 01 00" },
	{ FRIEND_1, "0c (a1)x8 00", HOST_1, "0d 01 00 (a1)x8 00" },
	{ HOST_1, "05 01 00", FRIEND_1, "0b" },
	{ HOST_1, "0e 01 00 00", FRIEND_1, "0f 00" },
	{ HOST_1, "10 01", FRIEND_1, "10 01" },
};

Test(serve_opcodes, a_message_counts_from_its_least_length_on)
{
	struct stage   s;
	struct pattern p;

	open_stage(&s);
	for (size_t i = 0; i < LEN(leasts); i++) {
		pattern_read(&p, leasts[i].message);
		p.len--;
		ws_client_send_pattern(s.conns[leasts[i].from], &p);
		expect_quiet(&s);

		p.len++;
		ws_client_send_pattern(s.conns[leasts[i].from], &p);
		ws_expect(s.conns[leasts[i].to], leasts[i].told);
		expect_quiet(&s);
	}
	close_stage(&s);
}

/* Sends message on a new connection; the answer is FAULT 2 and the end. */
static void expect_version_fault(int port, const struct pattern *message)
{
	struct ws_client *c = tunnel_connect(port, NULL);

	ws_client_send_pattern(c, message);
	tunnel_expect_fault(c, 2);
	ws_client_free(c);
}

static void expect_answer(int port, const struct pattern *message, const char *answer)
{
	struct ws_client *c = tunnel_connect(port, NULL);

	ws_client_send_pattern(c, message);
	ws_expect(c, answer);
	ws_client_free(c);
}

Test(serve_opcodes, an_opening_message_counts_from_its_least_length_on)
{
	struct stage                s;
	struct pattern              p;
	static const struct pattern one_byte = { .len = 1, .mask = { 0xff } };

	open_stage(&s);

	int port = s.server->tunnel_port;

	const struct {
		const char *message;
		uint32_t    code; /* put behind the version, when there is one */
		size_t      code_bytes;
		size_t      len;
		const char *answer;
	} rows[] = {
		{ "01 01 00 00 (00)x8", 0, 0, 12, "02 (?? )x10" },
		{ "01 02 (42)x16", 0, 0, 18, "02 (?? )x12" },
		{ "08 01 00 00", s.ticket.code, 2, 4, "09" },
		{ "08 02 00 00 00 00 (55)x8 (56)x16", s.code, 4, 30, "09 02" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		pattern_read(&p, rows[i].message);
		cr_assert_eq(p.len, rows[i].len);
		for (size_t n = 0; n < rows[i].code_bytes; n++)
			p.value[2 + n] = (uint8_t)(rows[i].code >> 8 * n);
		for (p.len = 2; p.len < rows[i].len; p.len++)
			expect_version_fault(port, &p);
		expect_answer(port, &p, rows[i].answer);
	}

	/* One byte is no message at all, and the connection may still say what it is. */
	p          = one_byte;
	p.value[0] = 1;
	ws_client_send_pattern(s.conns[NEW], &p);
	p.value[0] = 8;
	ws_client_send_pattern(s.conns[NEW], &p);
	tunnel_echo(s.conns[NEW]);
	ws_client_send(s.conns[NEW], "01 02 (42)x16");
	ws_expect(s.conns[NEW], "02 (?? )x12");
	close_stage(&s);
}

Test(serve_opcodes, other_versions_get_a_fault_however_long_the_message_is)
{
	static const unsigned versions[] = { 0, 3, 4, 127, 128, 255 };
	static const size_t   lengths[]  = { 2, 12, 18, 30, 64 };
	struct server        *server     = server_start(NULL);
	struct pattern        p;

	for (unsigned op = 1; op <= 8; op += 7)
		for (size_t v = 0; v < LEN(versions); v++)
			for (size_t n = 0; n < LEN(lengths); n++) {
				pattern_read(&p, "00 00 (00)x62");
				p.value[0] = (uint8_t)op;
				p.value[1] = (uint8_t)versions[v];
				p.len      = lengths[n];
				expect_version_fault(server->tunnel_port, &p);
			}
	server_finish(server);
}

Test(serve_opcodes, the_vault_is_not_here_and_says_so_by_closing)
{
	struct server    *server = server_start((const char *const[]){ "cloud.enable=no", NULL });
	int               port   = server->tunnel_port;
	struct ws_client *c      = tunnel_connect(port, NULL);
	struct pattern    p;

	/* Too short, of whatever version: no message. */
	ws_client_send(c, "14");
	ws_client_send(c, "14 02 (00)x15");
	ws_client_send(c, "14 07 (00)x15");
	tunnel_echo(c);

	ws_client_send(c, "14 02 (00)x16");
	ws_expect_closed(c);
	ws_client_free(c);

	c = tunnel_connect(port, NULL);
	ws_client_send(c, "14 02 (00)x40");
	ws_expect_closed(c);
	ws_client_free(c);

	static const uint8_t versions[] = { 0, 1, 3, 255 };

	for (size_t i = 0; i < LEN(versions); i++) {
		pattern_read(&p, "14 00 (00)x16");
		p.value[1] = versions[i];
		expect_version_fault(port, &p);
	}
	server_finish(server);
}

Test(serve_opcodes, echo_returns_the_first_16_bytes_of_the_message)
{
	struct stage   s;
	struct pattern p;

	open_stage(&s);
	for (int k = 0; k < KINDS; k++)
		for (size_t payload = 0; payload <= 40; payload++) {
			pattern_clear(&p);
			pattern_add_u8(&p, 3);
			for (size_t i = 0; i < payload; i++)
				pattern_add_u8(&p, (unsigned)(payload + i));
			ws_client_send_pattern(s.conns[k], &p);
			if (p.len > 16)
				p.len = 16;
			ws_expect_pattern(s.conns[k], &p);
		}
	close_stage(&s);
}

Test(serve_opcodes, empty_messages_are_ignored)
{
	struct stage s;

	open_stage(&s);
	for (int k = 0; k < KINDS; k++) {
		ws_client_send_bytes(s.conns[k], "", 0);
		ws_client_send_frame(s.conns[k], WS_CLIENT_BINARY, true, "", 0);
		ws_client_send_frame(s.conns[k], WS_CLIENT_CONTINUE, true, "", 0);
		ws_client_send_frame(s.conns[k], WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, "", 0);
	}
	expect_quiet(&s);
	close_stage(&s);
}

Test(serve_opcodes, a_text_message_is_taken_like_a_binary_one)
{
	struct stage s;

	open_stage(&s);
	ws_client_send_frame(s.conns[FRIEND], WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, "\x0ahi", 3);
	host_expect_datagram(s.conns[HOST], 1, "hi", 2);
	expect_quiet(&s);
	close_stage(&s);
}

Test(serve_opcodes, pieces_of_a_message_are_joined_with_control_frames_between_them)
{
	struct stage s;

	open_stage(&s);

	struct ws_client *c = s.conns[FRIEND];

	ws_client_send_frame(c, WS_CLIENT_BINARY, true, "\x0a", 1);
	ws_client_ping(c, "one");
	ws_client_send_frame(c, WS_CLIENT_CONTINUE, true, "", 0);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_PONG, true, "unasked", 7);
	ws_client_send_frame(c, WS_CLIENT_CONTINUE, true, "h", 1);
	ws_client_ping(c, "");
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, "i", 1);
	ws_expect_pong(c, "one");
	ws_expect_pong(c, "");
	host_expect_datagram(s.conns[HOST], 1, "hi", 2);
	expect_quiet(&s);
	close_stage(&s);
}

Test(serve_opcodes, bytes_behind_the_layout_are_ignored)
{
	struct stage   s;
	struct pattern p;

	open_stage(&s);
	ws_client_send(s.conns[HOST], "10 01 'and more'");
	ws_expect(s.conns[FRIEND], "10 01");

	msg_host_open(&p, "C");
	pattern_add_bytes(&p, "more", 4);
	expect_answer(s.server->tunnel_port, &p, "02 (?? )x12");
	msg_join(&p, s.code, "longer", "D");
	pattern_add_bytes(&p, "more", 4);
	expect_answer(s.server->tunnel_port, &p, "09 01");
	host_expect_friend(s.conns[HOST], 2, "D");
	expect_quiet(&s);
	close_stage(&s);
}

Test(serve_opcodes, a_host_can_only_say_that_he_restarts_or_is_ready)
{
	struct stage s;

	open_stage(&s);
	for (unsigned state = 0; state < 256; state++) {
		if (state == STATE_RESTARTING || state == STATE_READY)
			continue;
		host_send_state(s.conns[HOST], state);
		host_send_state(s.conns[HOST_1], state);
	}
	expect_quiet(&s);

	/* Nonsense used up nothing of what he may say. */
	host_send_state(s.conns[HOST], STATE_RESTARTING);
	friend_expect_state(s.conns[FRIEND], STATE_RESTARTING);
	host_send_state(s.conns[HOST], STATE_RESTARTING);
	expect_quiet(&s);
	close_stage(&s);
}

Test(serve_opcodes, a_token_of_protocol_1_counts_only_when_it_is_whole)
{
	struct stage      s;
	struct pattern    p;
	struct ws_client *c;

	open_stage(&s);
	msg_join_1(&p, s.ticket.code, "part");
	p.len--;
	for (unsigned number = 2; number <= 3; number++) {
		c = tunnel_connect(s.server->tunnel_port, NULL);
		ws_client_send_pattern(c, &p);
		ws_expect(c, "09");
		friend_send(c, "who", 3);
		host_expect_datagram(s.conns[HOST_1], number, "who", 3);
		ws_client_free(c);
	}

	/* The whole one, twice: the same friend. */
	p.len++;
	for (int i = 0; i < 2; i++) {
		c = tunnel_connect(s.server->tunnel_port, NULL);
		ws_client_send_pattern(c, &p);
		ws_expect(c, "09");
		friend_send(c, "who", 3);
		host_expect_datagram(s.conns[HOST_1], 4, "who", 3);
		ws_client_free(c);
	}
	close_stage(&s);
}

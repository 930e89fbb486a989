/*
 * Those who mean harm, within what a stranger can do: garbage, connections that say nothing or half of something, readers who do not
 * read, floods, guessed codes, wrong proofs, other people's campaigns. They must get nothing; the others must not notice.
 *
 * And, when SOAK_PLANT says so, what makes a healthy server look as if it leaked.
 */
#include "soak.h"
#include "soak_wire.h"

#include "bench/lib_bytes.h"
#include "bench/lib_rooms.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GARBAGE_BYTES = 4096, ECHOES = 4000, GUESSES = 8, HELD_MAX = 1000, DEAF_RCVBUF = 4096 };

static uint16_t any_port(struct soak_actor *a)
{
	const uint16_t ports[] = { soak.ports.tunnel, soak.ports.http,  soak.ports.signal,
		                   soak.ports.rooms,  soak.ports.admin, soak.ports.events };

	return ports[soak_dice(a, sizeof(ports) / sizeof(ports[0]))];
}

static const char *own_address(char out[16], struct soak_actor *a)
{
	soak_address(out, a, soak_dice(a, 4));
	return out;
}

/* --- Nonsense --- */

static void say_garbage(struct soak_actor *a)
{
	struct soak_wire w;
	uint8_t          bytes[GARBAGE_BYTES];
	size_t           len = 1 + soak_dice(a, sizeof(bytes));

	soak_random(a, bytes, len);
	if (soak_dial(&w, NULL, any_port(a), 0)) {
		soak_send(&w, bytes, len);
		soak_await_end(&w, 100 + (int)soak_dice(a, 2000));
	}
	soak_abort(&w);
}

static void throw_datagrams(struct soak_actor *a)
{
	struct sockaddr_in to  = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int                udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint8_t            bytes[600];

	for (int i = 0; udp >= 0 && i < 100; i++) {
		size_t len = soak_dice(a, sizeof(bytes));

		soak_random(a, bytes, sizeof(bytes));
		if (i % 2)
			memcpy(bytes, "PSNR\1", 5);
		to.sin_port = htons(i % 3 ? soak.ports.rooms : soak.ports.p2p);
		if (sendto(udp, bytes, len, 0, (const struct sockaddr *)&to, sizeof(to)) < 0)
			break;
	}
	if (udp >= 0)
		close(udp);
}

/* An upgrade, and then frames that no client may send, or that never end. */
static void break_frames(struct soak_actor *a)
{
	static const char *const paths[] = { "/", "/p2p", "/signal" };
	struct soak_wire         w;
	uint8_t                  bytes[64];
	char                     address[16];

	if (soak_dial(&w, NULL, soak.ports.tunnel, 0) &&
	    soak_upgrade(&w, paths[soak_dice(a, 3)], own_address(address, a)) == 101) {
		soak_random(a, bytes, sizeof(bytes));
		if (soak_dice(a, 2))
			memcpy(bytes, (const uint8_t[]){ 0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0 }, 10);
		soak_send(&w, bytes, sizeof(bytes));
		soak_await_end(&w, 100 + (int)soak_dice(a, 3000));
	}
	soak_abort(&w);
}

/* --- Those who take their time --- */

static void hold_half_open(struct soak_actor *a)
{
	struct soak_wire  held[4];
	static const char half[] = "GET /v1/lobbies HTTP/1.1\r\nHost: loc";

	for (int i = 0; i < 4; i++)
		if (soak_dial(&held[i], NULL, any_port(a), 0) && soak_dice(a, 2))
			soak_send(&held[i], half, 1 + soak_dice(a, sizeof(half) - 1));
	soak_pause(a, 1000 + (int)soak_dice(a, 15000));
	for (int i = 0; i < 4; i++)
		soak_hang_up(&held[i]);
}

/* Asks for much and reads nothing. */
static void be_deaf(struct soak_actor *a)
{
	struct soak_wire w;
	uint8_t          echo[17] = { OP_ECHO };
	char             address[16];

	if (soak_dial(&w, NULL, soak.ports.tunnel, DEAF_RCVBUF) &&
	    soak_upgrade(&w, "/", own_address(address, a)) == 101)
		for (int i = 0; i < ECHOES && soak_ws_say(&w, SOAK_WS_BINARY, echo, sizeof(echo)); i++)
			;
	soak_pause(a, 2000 + (int)soak_dice(a, 5000));
	soak_abort(&w);
}

static void ask_and_go(struct soak_actor *a)
{
	static const char request[] = "GET /v1/lobbies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	struct soak_wire  w;

	for (int i = 0; i < 10 && soak_goes_on(a); i++) {
		if (soak_dial(&w, NULL, soak.ports.http, DEAF_RCVBUF))
			soak_send(&w, request, sizeof(request) - 1);
		soak_abort(&w);
	}
}

/* --- Those who want what is not theirs --- */

static void guess_codes(struct soak_actor *a)
{
	char address[16];

	own_address(address, a);
	for (int i = 0; i < GUESSES && soak_goes_on(a); i++) {
		struct soak_wire    w;
		struct soak_message m                                               = { .op = SOAK_WS_NONE };
		uint8_t             join[6 + TUNNEL_TOKEN_BYTES + TUNNEL_KEY_BYTES] = { OP_JOIN, 2 };

		/* Those of the soak's hosts are drawn from all of 900,000. */
		put_u32(join + 2, 100000 + soak_dice(a, 900000));
		soak_random(a, join + 6, TUNNEL_TOKEN_BYTES + TUNNEL_KEY_BYTES);
		if (soak_dial(&w, NULL, soak.ports.tunnel, 0) && soak_upgrade(&w, "/", address) == 101 &&
		    soak_ws_say(&w, SOAK_WS_BINARY, join, sizeof(join)))
			m = soak_ws_hear(&w, SOAK_PATIENCE_MS);
		if (m.op == SOAK_WS_BINARY && m.len == 2 && m.data[0] == OP_FAULT)
			soak.refusals++;
		soak_hang_up(&w);
	}
}

static void prove_wrongly(struct soak_actor *a)
{
	struct soak_wire w;
	uint8_t          key[32], sig[64];
	char             text[300], hex[129];

	soak_random(a, key, sizeof(key));
	soak_random(a, sig, sizeof(sig));
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", key[i]);
	snprintf(text, sizeof(text), "soak gen:%s\n", hex);
	if (soak_dial(&w, "127.0.9.9", soak.ports.signal, 0) && soak_send(&w, text, strlen(text)) &&
	    soak_line(&w, SOAK_PATIENCE_MS)) {
		for (int i = 0; i < 64; i++)
			snprintf(hex + 2 * i, 3, "%02x", sig[i]);
		snprintf(text, sizeof(text), "auth %s\n", hex);
		if (soak_send(&w, text, strlen(text)) && soak_await_end(&w, SOAK_PATIENCE_MS))
			soak.refusals++;
		else
			soak_fault(a, "a wrong proof is not turned away");
	}
	soak_hang_up(&w);
}

/* What a stranger asks, and what he must be answered. */
static void ask_for_others(struct soak_actor *a)
{
	static const struct {
		const char *method, *path, *fields, *body;
		bool        operators;
		int         wanted;
	} asks[] = {
		{ "GET", "/v1/campaigns/00112233445566aa/checkpoint",
		  "Authorization: Bearer 00112233445566778899aabbccddeeff\r\n", NULL, false, 404 },
		{ "GET", "/v1/campaigns", "Authorization: Bearer nonsense\r\n", NULL, false, 401 },
		{ "POST", "/v1/heartbeat", NULL,
		  "{\"sessionId\":\"00112233445566778899aabbccddeeff\",\"token\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
		  false, 403 },
		{ "POST", "/v1/host", NULL, "{\"identity\":\"gen:nobody\",\"game\":\"0.9.0\"}", false, 400 },
		{ "POST", "/v1/join", NULL, "{\"lobbyId\":\"0011223344556677\"}", false, 404 },
		{ "POST", "/v1/leave", NULL, "not json", false, 400 },
		{ "GET", "/v1/../secrets", NULL, NULL, false, 404 },
		{ "GET", "/admin/v1/status", "Authorization: Bearer 0011223344556677\r\n", NULL, true, 401 },
		{ "POST", "/admin/v1/drain", NULL, "{}", true, 401 },
	};
	size_t             i = soak_dice(a, sizeof(asks) / sizeof(asks[0]));
	struct soak_answer answer;
	char               address[16];

	soak_http(&answer, &(struct soak_ask){ .port    = asks[i].operators ? soak.ports.admin : soak.ports.http,
	                                       .method  = asks[i].method,
	                                       .path    = asks[i].path,
	                                       .address = asks[i].operators ? NULL : own_address(address, a),
	                                       .fields  = asks[i].fields,
	                                       .body    = asks[i].body,
	                                       .len     = asks[i].body ? strlen(asks[i].body) : 0 });
	if (answer.status == asks[i].wanted)
		soak.refusals++;
	else
		soak_fault(a, "%s %s of a stranger is answered %d %.60s", asks[i].method, asks[i].path, answer.status,
		           answer.body ? answer.body : "");
	soak_answer_fini(&answer);
}

static void visit(struct soak_actor *a)
{
	static void (*const ways[])(struct soak_actor * a) = {
		say_garbage, throw_datagrams, break_frames,  hold_half_open, be_deaf,
		ask_and_go,  guess_codes,     prove_wrongly, ask_for_others, ask_for_others,
	};

	ways[soak_dice(a, sizeof(ways) / sizeof(ways[0]))](a);
}

const struct soak_part soak_part_hostile = { .name = "hostile", .actors = 10, .visit = visit };

/* --- What is planted --- */

struct planted {
	struct soak_wire held[HELD_MAX];
	size_t           count;
	uint32_t         life;
};

/* A player of the rooms who stays, and for the other plant makes rooms full of data. */
static void hold(struct soak_actor *a, struct soak_wire *w)
{
	static uint8_t frame[ROOMS_HEAD + 4 + 1 + 4 + 2 + 60000 + 2 + 2];
	uint8_t        hello[ROOMS_HEAD + 4 + 12 + 16 + 2] = { 0 };

	rooms_head(hello, ROOMS_T_HELLO, sizeof(hello) - ROOMS_HEAD);
	memcpy(hello + ROOMS_HEAD + 4, "SOAK00002_00", 12);
	snprintf((char *)hello + ROOMS_HEAD + 4 + 12, 16, "plant%u", soak_dice(a, 100000));
	rooms_head(frame, ROOMS_T_CREATE, sizeof(frame) - ROOMS_HEAD);
	frame[ROOMS_HEAD + 4] = 4;
	rooms_put(frame + ROOMS_HEAD + 9, 60000, 2);
	soak_send(w, hello, sizeof(hello));
	for (int i = 0; soak.plant == SOAK_PLANT_MEMORY && i < 4; i++)
		soak_send(w, frame, sizeof(frame));
}

static void plant(struct soak_actor *a)
{
	struct planted *p = a->own;

	if (p->life != a->life) {
		for (size_t i = 0; i < p->count; i++)
			soak_hang_up(&p->held[i]);
		p->count = 0;
		p->life  = a->life;
	}
	if (soak.plant < SOAK_PLANT_MEMORY || p->count == HELD_MAX) {
		soak_pause(a, 1000);
		return;
	}
	if (soak_dial(&p->held[p->count], NULL, soak.ports.rooms, 0))
		hold(a, &p->held[p->count++]);
	soak_pause(a, 200);
}

const struct soak_part soak_part_plant = {
	.name = "plant", .actors = 1, .own_bytes = sizeof(struct planted), .visit = plant
};

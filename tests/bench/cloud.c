/*
 * Load for the checkpoint part: players who store or load checkpoints, several at once.
 *
 *	cloud --way ws|rest|static --port PORT --what upload|download [--at-once N] [--bytes B] [--pid PID]
 *	      [--seconds S] [--warmup S]
 *
 * Uploads: every checkpoint has other bytes, so that none is already there; a player stores 50, over 10 campaigns, and
 * the next player follows him. Only what the server acknowledged counts. Downloads: each of the N stores one checkpoint,
 * compares it with what comes back once, and then loads it again and again, dropping the bytes unseen. `static` asks
 * static_baseline for its files. Over WebSocket a player keeps his connection, over REST as long as the server lets him.
 *
 * The line printed is that of lib_repeat.h; cpu_us is the server's processor time (--pid) per transfer.
 */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib_bytes.h"
#include "lib_repeat.h"
#include "lib_save.h"
#include "lib_wire.h"

enum { CLIENTS_MAX = 64, CAMPAIGNS = 10, UPLOADS_PER_PLAYER = 50, HEAD_BYTES_MAX = 4096 };
enum { OP_VAULT_OPEN = 20, OP_VAULT_OPENED, OP_PUT, OP_PUT_GO, OP_PART, OP_END, OP_PUT_DONE, OP_GET = 29, OP_GET_SIZE };

struct client {
	int         fd; /* -1: not connected */
	uint64_t    stored;
	uint8_t     key[TUNNEL_KEY_BYTES];
	uint8_t     campaign[SAVE_CAMPAIGN_BYTES];
	struct save save;
	char        request[512]; /* the next GET */
	size_t      request_len;
};

/* One way to the server. load reads the whole download; keep NULL: and throws it away. */
struct way {
	const char *name;
	void (*store)(struct client *c);
	void (*ask)(struct client *c);
	void (*load)(struct client *c, uint8_t *keep);
};

static struct client     clients[CLIENTS_MAX];
static const struct way *way;
static uint16_t          port;
static size_t            bytes = 1500000;
static uint64_t          run_base; /* random: players of another run are others */

/* --- Players --- */

static void next_player(struct client *c)
{
	put_u64(c->key, run_base);
	put_u32(c->key + 8, (uint32_t)(c - clients));
	put_u32(c->key + 12, (uint32_t)(c->stored / UPLOADS_PER_PLAYER));
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* What the next checkpoint is, and whose. */
static void next_checkpoint(struct client *c)
{
	if (c->stored % UPLOADS_PER_PLAYER == 0)
		next_player(c);
	put_u32(c->campaign, (uint32_t)run_base);
	c->campaign[4] = (uint8_t)(c - clients);
	put_u16(c->campaign + 5, (uint16_t)(c->stored / UPLOADS_PER_PLAYER));
	c->campaign[7] = (uint8_t)(c->stored % CAMPAIGNS);
	save_change(&c->save, c->campaign);
	c->stored++;
}

static const char *hex(char *out, const uint8_t *from, size_t len)
{
	for (size_t i = 0; i < len; i++)
		snprintf(out + 2 * i, 3, "%02x", from[i]);
	return out;
}

/* --- WebSocket --- */

static void ws_say(struct client *c, const uint8_t *message, size_t len)
{
	uint8_t frame[160];

	wire_send(c->fd, frame, save_small_frame(frame, message, len));
}

/* A short message; its length. */
static size_t ws_hear(struct client *c, uint8_t out[128])
{
	uint8_t head[2];

	wire_read(c->fd, head, 2);
	if (head[0] != 0x82 || head[1] == 0 || head[1] > 125)
		errx(1, "the server sends a frame %02x %02x", head[0], head[1]);
	wire_read(c->fd, out, head[1]);
	return head[1];
}

static void ws_expect(struct client *c, uint8_t op, uint8_t out[128])
{
	size_t len = ws_hear(c, out);

	if (out[0] == OP_FAULT && len == 2)
		errx(1, "the server answers fault %d instead of %d", out[1], op);
	if (out[0] != op)
		errx(1, "the server answers %d instead of %d", out[0], op);
}

static void ws_connect(struct client *c)
{
	static const char head[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
				   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
				   "User-Agent: CrysisCoop/2\r\n\r\n";
	char              answer[HEAD_BYTES_MAX];
	uint8_t           m[128] = { OP_VAULT_OPEN, TUNNEL_VERSION };
	size_t            got;

	c->fd = wire_connect(port);
	wire_send(c->fd, head, sizeof(head) - 1);
	wire_read_head(c->fd, answer, sizeof(answer), &got);
	if (strncmp(answer, "HTTP/1.1 101", 12) != 0)
		errx(1, "the server refuses the upgrade: %.60s", answer);
	memcpy(m + 2, c->key, TUNNEL_KEY_BYTES);
	ws_say(c, m, 2 + TUNNEL_KEY_BYTES);
	ws_expect(c, OP_VAULT_OPENED, m);
}

static void ws_store(struct client *c)
{
	uint8_t m[128] = { OP_PUT };

	if (c->fd < 0)
		ws_connect(c);
	memcpy(m + 1, c->campaign, SAVE_CAMPAIGN_BYTES);
	put_u32(m + 1 + SAVE_CAMPAIGN_BYTES, (uint32_t)c->save.len);
	ws_say(c, m, 1 + SAVE_CAMPAIGN_BYTES + 4);
	ws_expect(c, OP_PUT_GO, m);
	wire_send(c->fd, c->save.frames, c->save.frames_len);
	ws_expect(c, OP_PUT_DONE, m);
}

static void ws_ask(struct client *c)
{
	uint8_t m[10] = { OP_GET };

	memcpy(m + 1, c->campaign, SAVE_CAMPAIGN_BYTES);
	c->request_len = save_small_frame((uint8_t *)c->request, m, sizeof(m));
}

/* Takes the PARTs out of their frames, which lie in wire. */
static void ws_unwrap(uint8_t *keep, const uint8_t *wire, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t part = wire[1] < 126 ? wire[1] : (size_t)wire[2] << 8 | wire[3];
		size_t head = wire[1] < 126 ? 2 : 4;

		if (wire[0] != 0x82 || wire[head] != OP_PART)
			errx(1, "the server sends something else between the parts");
		memcpy(keep + at, wire + head + 1, part - 1);
		at += part - 1;
		wire += head + part;
	}
}

static void ws_load(struct client *c, uint8_t *keep)
{
	uint8_t m[128];
	size_t  rest = save_wire_bytes(c->save.len);

	wire_send(c->fd, c->request, c->request_len);
	ws_expect(c, OP_GET_SIZE, m);
	if (get_u32(m + 1) != c->save.len)
		errx(1, "the checkpoint has %u bytes", get_u32(m + 1));
	if (keep) {
		uint8_t *wire = malloc(rest);

		if (!wire)
			err(1, "a download");
		wire_read(c->fd, wire, rest - 3);
		ws_unwrap(keep, wire, c->save.len);
		free(wire);
	} else {
		wire_skip(c->fd, rest - 3);
	}
	ws_expect(c, OP_END, m);
}

/* --- HTTP --- */

static size_t write_request(char *out, size_t cap, const struct client *c, const char *method, const char *fields)
{
	char campaign[2 * SAVE_CAMPAIGN_BYTES + 1], key[2 * TUNNEL_KEY_BYTES + 1];

	return (size_t)snprintf(out, cap,
	                        "%s /v1/campaigns/%s/checkpoint HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	                        "Authorization: Bearer %s\r\n%s\r\n",
	                        method, hex(campaign, c->campaign, sizeof(c->campaign)),
	                        hex(key, c->key, sizeof(c->key)), fields);
}

/* An answer to a body closes the connection. */
static void rest_store(struct client *c)
{
	char   head[512], fields[64], answer[HEAD_BYTES_MAX];
	size_t got;

	snprintf(fields, sizeof(fields), "Content-Length: %zu\r\n", c->save.len);
	c->fd = wire_connect(port);
	wire_send(c->fd, head, write_request(head, sizeof(head), c, "PUT", fields));
	wire_send(c->fd, c->save.body, c->save.len);
	size_t body = wire_read_head(c->fd, answer, sizeof(answer), &got);

	if (strncmp(answer, "HTTP/1.1 201", 12) != 0)
		errx(1, "the server answers a PUT with %.40s ... %.*s", answer, (int)(got - body), answer + body);
	while (wire_read_some(c->fd, answer, sizeof(answer)) > 0)
		;
	close(c->fd);
	c->fd = -1;
}

static void rest_ask(struct client *c)
{
	c->request_len = write_request(c->request, sizeof(c->request), c, "GET", "");
}

static void static_ask(struct client *c)
{
	c->request_len = (size_t)snprintf(c->request, sizeof(c->request), "GET /%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
	                                  (int)(c - clients));
}

static void http_load(struct client *c, uint8_t *keep)
{
	char   head[HEAD_BYTES_MAX];
	size_t got;

	if (c->fd < 0)
		c->fd = wire_connect(port);
	wire_send(c->fd, c->request, c->request_len);
	size_t      body   = wire_read_head(c->fd, head, sizeof(head), &got);
	const char *length = strcasestr(head, "\r\nContent-Length:");

	if (strncmp(head, "HTTP/1.1 200", 12) != 0 || !length || strtoul(length + 17, NULL, 10) != c->save.len)
		errx(1, "the server answers a GET with %.40s", head);
	if (keep) {
		memcpy(keep, head + body, got - body);
		wire_read(c->fd, keep + (got - body), c->save.len - (got - body));
	} else {
		wire_skip(c->fd, c->save.len - (got - body));
	}
	if (strcasestr(head, "\r\nConnection: close")) {
		close(c->fd);
		c->fd = -1;
	}
}

/* --- What is measured --- */

static const struct way ways[] = {
	{ "ws", ws_store, ws_ask, ws_load },
	{ "rest", rest_store, rest_ask, http_load },
	{ "static", NULL, static_ask, http_load },
};

static void begin(uint32_t thread)
{
	struct client *c = &clients[thread];

	c->fd = -1;
	save_init(&c->save, bytes);
}

static void upload(uint32_t thread)
{
	next_checkpoint(&clients[thread]);
	way->store(&clients[thread]);
}

static void begin_downloads(uint32_t thread)
{
	struct client *c = &clients[thread];

	begin(thread);
	if (way->store)
		upload(thread);
	way->ask(c);
	if (!way->store)
		return;

	uint8_t *loaded = malloc(bytes);

	if (!loaded)
		err(1, "a download");
	way->load(c, loaded);
	if (memcmp(loaded, c->save.body, bytes) != 0)
		errx(1, "what was stored is not what comes back");
	free(loaded);
}

static void download(uint32_t thread)
{
	way->load(&clients[thread], NULL);
}

static void choose_way(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(ways[i].name, name) == 0)
			way = &ways[i];
}

static void choose_what(struct repeat *r, const char *name)
{
	if (strcmp(name, "upload") == 0) {
		r->begin = begin;
		r->once  = upload;
	} else if (strcmp(name, "download") == 0) {
		r->begin = begin_downloads;
		r->once  = download;
	}
}

static void read_options(struct repeat *r, int argc, char **argv)
{
	static const struct option names[] = {
		{ "way", required_argument, NULL, 'w' },
		{ "port", required_argument, NULL, 'p' },
		{ "what", required_argument, NULL, 'd' },
		{ "at-once", required_argument, NULL, 'n' },
		{ "bytes", required_argument, NULL, 'b' },
		{ "pid", required_argument, NULL, 'i' },
		{ "seconds", required_argument, NULL, 't' },
		{ "warmup", required_argument, NULL, 'u' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 'w')
			choose_way(optarg);
		else if (c == 'p')
			port = (uint16_t)strtoul(optarg, NULL, 10);
		else if (c == 'd')
			choose_what(r, optarg);
		else if (c == 'n')
			r->threads = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'b')
			bytes = strtoul(optarg, NULL, 10);
		else if (c == 'i')
			r->pid = (pid_t)strtol(optarg, NULL, 10);
		else if (c == 't')
			r->seconds = strtod(optarg, NULL);
		else if (c == 'u')
			r->warmup = strtod(optarg, NULL);
		else
			errx(2, "the options are explained at the top of tests/bench/cloud.c");
	}
	if (optind != argc || !way || !port || !r->once || r->threads > CLIENTS_MAX ||
	    (!way->store && r->once == upload))
		errx(2, "--way, --port and --what are needed");
}

int main(int argc, char **argv)
{
	struct repeat r = { .threads = 8, .warmup = 1, .seconds = 5 };

	read_options(&r, argc, argv);
	if (getrandom(&run_base, sizeof(run_base), 0) != sizeof(run_base))
		err(1, "getrandom");
	repeat_run(&r);
	return 0;
}

#include "support/transfer.h"

#include "support/dial.h"
#include "support/tunnel_message.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PART_BYTES  49152
#define PATIENCE_MS 20000 /* a sanitizer build that syncs to a busy disk */
#define HEAD_BYTES  512

enum { VAULT_OPEN = 20, VAULT_OPENED, PUT, PUT_GO, PART, END, PUT_DONE, GET = 29, GET_SIZE };
enum { FAULT = 7 };

/* --- Checkpoints --- */

static void hex_of(char *out, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void write_u32(uint8_t *out, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(v >> 8 * i);
}

struct transfer_bytes transfer_make(const char *campaign, unsigned number, size_t bytes)
{
	struct transfer_bytes c = { .campaign = campaign };
	uint8_t               id[ID_BYTES];
	char                  hex[2 * ID_BYTES + 1], text[400];
	uint32_t              noise = number * 2654435761U + 1;

	token_of(id, campaign);
	hex_of(hex, id, sizeof(id));
	uint32_t text_len = (uint32_t)snprintf(text, sizeof(text),
	                                       "version=1\ncampaign=%s\nname=%.64s\nlevel=Number%u\ncheckpoint=cp%u\n"
	                                       "stamp=%u\nhostname=tester\n",
	                                       hex, campaign, number, number, 1700000000U + number);

	c.len   = 16 + text_len + bytes;
	c.bytes = malloc(c.len);
	cr_assert_not_null(c.bytes, "memory for a checkpoint");
	memcpy(c.bytes, "CCSV", 4);
	write_u32(c.bytes + 4, 1);
	write_u32(c.bytes + 8, text_len);
	memcpy(c.bytes + 12, text, text_len);
	write_u32(c.bytes + 12 + text_len, (uint32_t)bytes);
	for (size_t i = 16 + text_len; i < c.len; i++) {
		noise      = noise * 1664525 + 1013904223;
		c.bytes[i] = (uint8_t)(noise >> 24);
	}
	return c;
}

void transfer_unmake(struct transfer_bytes *c)
{
	free(c->bytes);
	*c = (struct transfer_bytes){ 0 };
}

/* --- WebSocket --- */

static struct ws_client *open_vault(int port, const char *key)
{
	struct ws_client      *c                = ws_client_open(port, NULL);
	uint8_t                m[2 + KEY_BYTES] = { VAULT_OPEN, 2 };
	struct ws_client_event e;

	key_of(m + 2, key);
	ws_client_send_bytes(c, m, sizeof(m));
	e = ws_client_receive(c, PATIENCE_MS);
	cr_assert(e.what == WS_MESSAGE && e.data[0] == VAULT_OPENED && e.len == 1 + ID_BYTES,
	          "no VAULT_OPENED but event %d, opcode %d", e.what, e.what == WS_MESSAGE ? e.data[0] : -1);
	return c;
}

/* The next message: expected, a FAULT, or the connection's end. */
static struct transfer_end take_answer(struct ws_client *c, int expected)
{
	struct ws_client_event e = ws_client_receive(c, PATIENCE_MS);

	if (e.what == WS_END || e.what == WS_CLOSED)
		return (struct transfer_end){ .what = TRANSFER_LOST };
	cr_assert_eq(e.what, WS_MESSAGE, "no answer to a checkpoint: event %d", e.what);
	if (e.data[0] == FAULT && e.len == 2)
		return (struct transfer_end){ .what = TRANSFER_REFUSED, .fault = e.data[1] };
	cr_assert_eq(e.data[0], expected, "opcode %d comes instead of %d", e.data[0], expected);
	return (struct transfer_end){ .what = TRANSFER_DONE };
}

static void send_parts(struct ws_client *c, const struct transfer_bytes *cp)
{
	static uint8_t part[1 + PART_BYTES] = { PART };
	const uint8_t  end                  = END;

	for (size_t at = 0; at < cp->len; at += PART_BYTES) {
		size_t len = cp->len - at < PART_BYTES ? cp->len - at : PART_BYTES;

		memcpy(part + 1, cp->bytes + at, len);
		if (!ws_client_send_bytes(c, part, 1 + len))
			return; /* gone: the answer will say so */
	}
	ws_client_send_bytes(c, &end, 1);
}

static struct transfer_end store_over_ws(struct ws_client *c, const struct transfer_bytes *cp)
{
	uint8_t m[1 + ID_BYTES + 4] = { PUT };

	token_of(m + 1, cp->campaign);
	write_u32(m + 1 + ID_BYTES, (uint32_t)cp->len);
	ws_client_send_bytes(c, m, sizeof(m));

	struct transfer_end end = take_answer(c, PUT_GO);

	if (end.what != TRANSFER_DONE)
		return end;
	send_parts(c, cp);
	return take_answer(c, PUT_DONE);
}

static void take_parts(uint8_t *bytes, size_t len, struct ws_client *c)
{
	struct ws_client_event e;
	size_t                 at = 0;

	while ((e = ws_client_receive(c, PATIENCE_MS)).what == WS_MESSAGE && e.data[0] == PART) {
		cr_assert_leq(e.len - 1, len - at, "a download is longer than said");
		memcpy(bytes + at, e.data + 1, e.len - 1);
		at += e.len - 1;
	}
	cr_assert(e.what == WS_MESSAGE && e.data[0] == END && at == len, "a download ends after %zu of %zu bytes", at,
	          len);
}

uint8_t *transfer_get_ws(size_t *len, const struct server *s, const char *key, const char *campaign)
{
	struct ws_client *c               = open_vault(s->tunnel_port, key);
	uint8_t           m[2 + ID_BYTES] = { GET };
	uint8_t          *bytes           = NULL;

	token_of(m + 1, campaign);
	ws_client_send_bytes(c, m, sizeof(m));
	struct ws_client_event e = ws_client_receive(c, PATIENCE_MS);

	cr_assert_eq(e.what, WS_MESSAGE);
	if (e.data[0] == GET_SIZE) {
		*len  = read_u32(e.data + 1);
		bytes = malloc(*len + 1);
		cr_assert_not_null(bytes, "memory for a download");
		take_parts(bytes, *len, c);
	} else {
		cr_assert(e.data[0] == FAULT && e.data[1] == 10, "opcode %d answers GET", e.data[0]);
	}
	ws_client_free(c);
	return bytes;
}

/* --- REST --- */

static size_t write_head(char out[HEAD_BYTES], const char *method, const char *key, const char *campaign,
                         const char *query, size_t len)
{
	uint8_t id[ID_BYTES], secret[KEY_BYTES];
	char    id_hex[2 * ID_BYTES + 1], key_hex[2 * KEY_BYTES + 1];

	token_of(id, campaign);
	hex_of(id_hex, id, sizeof(id));
	key_of(secret, key);
	hex_of(key_hex, secret, sizeof(secret));
	int put = snprintf(out, HEAD_BYTES,
	                   "%s /v1/campaigns/%s/checkpoint%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
	                   "Authorization: Bearer %s\r\n",
	                   method, id_hex, query, key_hex);

	if (len > 0)
		put += snprintf(out + put, HEAD_BYTES - (size_t)put, "Content-Length: %zu\r\n", len);
	put += snprintf(out + put, HEAD_BYTES - (size_t)put, "\r\n");
	return (size_t)put;
}

static void take_code(char out[32], const char *body)
{
	const char *code = strstr(body, "\"code\":");

	if (!code || sscanf(code, "\"code\": \"%31[a-z_]", out) != 1)
		out[0] = '\0';
}

/* A server that dies between the head and the end of the body leaves a broken connection, which is no answer. */
static struct transfer_end store_over_rest(int fd, const char *key, const struct transfer_bytes *cp)
{
	char                head[HEAD_BYTES], answer[4096];
	size_t              len = write_head(head, "PUT", key, cp->campaign, "", cp->len), got = 0;
	int64_t             deadline_ms = real_now_ms() + PATIENCE_MS;
	struct transfer_end end         = { .what = TRANSFER_LOST };
	ssize_t             n;

	if (dial_send(fd, head, len, PATIENCE_MS))
		dial_send(fd, cp->bytes, cp->len, PATIENCE_MS);
	while (got < sizeof(answer) - 1 && (n = dial_read(fd, answer + got, sizeof(answer) - 1 - got, deadline_ms)) > 0)
		got += (size_t)n;
	answer[got] = '\0';
	cr_assert_lt(real_now_ms(), deadline_ms, "no answer to a checkpoint");
	if (!strstr(answer, "\r\n\r\n") || sscanf(answer, "HTTP/1.1 %3d", &end.status) != 1)
		return (struct transfer_end){ .what = TRANSFER_LOST };
	end.what = end.status == 201 ? TRANSFER_DONE : TRANSFER_REFUSED;
	take_code(end.code, answer);
	return end;
}

uint8_t *transfer_get(size_t *len, const struct server *s, const char *key, const char *campaign, int version)
{
	char head[HEAD_BYTES], query[32] = "";

	if (version > 0)
		snprintf(query, sizeof(query), "?version=%d", version);
	size_t             head_len = write_head(head, "GET", key, campaign, query, 0);
	struct http_result r        = http_exchange(s->http_port, head, head_len, PATIENCE_MS);

	cr_assert(r.status == 200 || r.status == 404, "a download is answered with %d: %s", r.status, r.body);
	free(r.head);
	if (r.status == 200) {
		*len = r.body_len;
		return (uint8_t *)r.body;
	}
	free(r.body);
	return NULL;
}

/* --- Both --- */

void transfer_open(struct transfer *t, const struct server *s, enum transfer_way way, const char *key)
{
	*t = (struct transfer){ .way = way, .key = key, .fd = -1 };
	if (way == TRANSFER_WS) {
		t->ws = open_vault(s->tunnel_port, key);
		return;
	}
	t->fd = dial_tcp(s->http_port, 0);
	cr_assert_geq(t->fd, 0, "nobody listens on 127.0.0.1:%d", s->http_port);
}

struct transfer_end transfer_store(struct transfer *t, const struct transfer_bytes *c)
{
	struct transfer_end end = t->way == TRANSFER_WS ? store_over_ws(t->ws, c) : store_over_rest(t->fd, t->key, c);

	ws_client_free(t->ws);
	if (t->fd >= 0)
		close(t->fd);
	return end;
}

struct transfer_end transfer_put(const struct server *s, enum transfer_way way, const char *key,
                                 const struct transfer_bytes *c)
{
	struct transfer t;

	transfer_open(&t, s, way, key);
	return transfer_store(&t, c);
}

#include "support/vault_client.h"

#include "support/dial.h"
#include "support/pattern.h"
#include "support/tunnel_message.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OP_FAULT = 7, OP_PUT_GO = 23, OP_PART, OP_END, OP_PUT_DONE, OP_LIST, OP_LISTING, OP_GET, OP_GET_SIZE };

#define LISTING_BYTES_MAX 50176
#define SIZE_MAX_BYTES    16777216

static void put_u32(uint8_t *at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> (8 * i));
}

void checkpoint_make(struct checkpoint *out, const char *campaign, const char *lines, size_t save_len, unsigned seed)
{
	char    *text;
	uint32_t state = seed * 2654435761u + 1;
	int      n = asprintf(&text, "version=1\ncampaign=%s\nstamp=1700000000\n%s\n", campaign, lines ? lines : "");

	cr_assert_gt(n, 0);
	size_t text_len = (size_t)n;

	out->len   = 16 + text_len + save_len;
	out->bytes = malloc(out->len);
	cr_assert_not_null(out->bytes);
	memcpy(out->bytes, "CCSV\1\0\0\0", 8);
	put_u32(out->bytes + 8, (uint32_t)text_len);
	memcpy(out->bytes + 12, text, text_len);
	put_u32(out->bytes + 12 + text_len, (uint32_t)save_len);
	for (size_t i = 0; i < save_len; i++) {
		state                         = state * 1103515245 + 12345;
		out->bytes[16 + text_len + i] = (uint8_t)(state >> 16);
	}
	free(text);
}

void checkpoint_free(struct checkpoint *cp)
{
	free(cp->bytes);
	cp->bytes = NULL;
}

struct ws_client *vault_client_ask(int port, const char *key, const char *from)
{
	char                     header[80] = "";
	struct ws_client_options options    = { .headers = header };
	uint8_t                  open[18]   = { 20, 2 };

	if (from)
		snprintf(header, sizeof(header), "X-Forwarded-For: %s\r\n", from);

	struct ws_client *c = ws_client_open(port, &options);

	key_of(open + 2, key);
	cr_assert(ws_client_send_bytes(c, open, sizeof(open)));
	return c;
}

struct ws_client *vault_client(int port, const char *key, const char *from)
{
	struct ws_client *c = vault_client_ask(port, key, from);
	uint8_t           id[ID_BYTES];

	id_of(id, key);

	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);

	cr_assert_eq(e.what, WS_MESSAGE);
	cr_assert_eq(e.len, 1 + ID_BYTES);
	cr_assert_eq(e.data[0], 21);
	cr_assert_arr_eq(e.data + 1, id, ID_BYTES);
	return c;
}

static struct ws_client_event next(struct ws_client *c)
{
	struct ws_client_event e = ws_client_receive(c, 3 * DIAL_PATIENCE_MS);
	char                   shown[200];

	cr_assert_eq(e.what, WS_MESSAGE, "%s", ws_client_show(shown, sizeof(shown), &e));
	return e;
}

/* The next message is this opcode alone (0), or a fault. */
static unsigned answer(struct ws_client *c, uint8_t op)
{
	struct ws_client_event e = next(c);

	if (e.data[0] == OP_FAULT) {
		cr_assert_eq(e.len, 2);
		return e.data[1];
	}
	cr_assert_eq(e.data[0], op, "opcode %u and not %u", e.data[0], op);
	cr_assert_eq(e.len, 1);
	return 0;
}

static void with_campaign(uint8_t *at, const char *campaign)
{
	struct pattern p;
	const char    *why;

	memset(&p, 0, sizeof(p));
	cr_assert(pattern_add_text(&p, campaign, &why) && p.len == 8, "%s", campaign);
	memcpy(at, p.value, 8);
}

unsigned vault_client_begin(struct ws_client *c, const char *campaign, size_t len)
{
	uint8_t put[13] = { 22 };

	with_campaign(put + 1, campaign);
	put_u32(put + 9, (uint32_t)len);
	cr_assert(ws_client_send_bytes(c, put, sizeof(put)));
	return answer(c, OP_PUT_GO);
}

void vault_client_parts(struct ws_client *c, const uint8_t *bytes, size_t len, size_t part)
{
	uint8_t *message = malloc(1 + part);

	cr_assert_not_null(message);
	message[0] = OP_PART;
	for (size_t at = 0; at < len; at += part) {
		size_t take = part < len - at ? part : len - at;

		memcpy(message + 1, bytes + at, take);
		if (!ws_client_send_bytes(c, message, 1 + take))
			break;
	}
	free(message);
}

unsigned vault_client_end(struct ws_client *c)
{
	ws_client_send(c, "19");
	return answer(c, OP_PUT_DONE);
}

unsigned vault_client_put(struct ws_client *c, const char *campaign, const struct checkpoint *cp)
{
	unsigned fault = vault_client_begin(c, campaign, cp->len);

	if (fault)
		return fault;
	vault_client_parts(c, cp->bytes, cp->len, VAULT_CLIENT_PART);
	return vault_client_end(c);
}

const char *vault_client_list(struct ws_client *c)
{
	static char text[LISTING_BYTES_MAX];

	cr_assert(ws_client_send(c, "1b"));
	struct ws_client_event e = next(c);
	cr_assert_eq(e.data[0], OP_LISTING);
	cr_assert_leq(e.len, LISTING_BYTES_MAX);
	memcpy(text, e.data + 1, e.len - 1);
	text[e.len - 1] = '\0';
	return text;
}

unsigned vault_client_get(struct checkpoint *out, struct ws_client *c, const char *campaign, unsigned which)
{
	uint8_t get[10] = { OP_GET };
	size_t  at      = 0;

	with_campaign(get + 1, campaign);
	get[9] = (uint8_t)which;
	cr_assert(ws_client_send_bytes(c, get, sizeof(get)));

	struct ws_client_event e = next(c);

	if (e.data[0] == OP_FAULT)
		return e.data[1];
	cr_assert_eq(e.data[0], OP_GET_SIZE);
	cr_assert_eq(e.len, 5);
	out->len = read_u32(e.data + 1);
	cr_assert_leq(out->len, SIZE_MAX_BYTES);
	out->bytes = malloc(out->len ? out->len : 1);
	cr_assert_not_null(out->bytes);
	for (e = next(c); e.data[0] == OP_PART; e = next(c)) {
		size_t left = out->len - at;

		cr_assert_eq(e.len - 1, left < VAULT_CLIENT_PART ? left : VAULT_CLIENT_PART);
		memcpy(out->bytes + at, e.data + 1, e.len - 1);
		at += e.len - 1;
	}
	cr_assert_eq(e.data[0], OP_END);
	cr_assert_eq(e.len, 1);
	cr_assert_eq(at, out->len);
	return 0;
}

unsigned vault_client_check(struct ws_client *c, const char *campaign, unsigned which,
                            const struct checkpoint *expected)
{
	struct checkpoint got   = { 0 };
	unsigned          fault = vault_client_get(&got, c, campaign, which);

	if (!fault && (got.len != expected->len || memcmp(got.bytes, expected->bytes, got.len) != 0))
		fault = 99;
	checkpoint_free(&got);
	return fault;
}

unsigned vault_client_forget(struct ws_client *c, const char *campaign)
{
	uint8_t forget[9] = { 33 };

	with_campaign(forget + 1, campaign);
	cr_assert(ws_client_send_bytes(c, forget, sizeof(forget)));
	return answer(c, 34);
}

unsigned vault_client_fault(struct ws_client *c)
{
	struct ws_client_event e = next(c);

	cr_assert_eq(e.data[0], OP_FAULT);
	cr_assert_eq(e.len, 2);
	return e.data[1];
}

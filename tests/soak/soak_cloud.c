/*
 * Players with campaigns: they store checkpoints over WebSocket and REST, load them over the other one, and remember the hash of
 * what was acknowledged last. An upload whose answer did not come may have been stored or not, and both is right.
 */
#include "soak.h"
#include "soak_wire.h"

#include "base/hex.h"
#include "bench/lib_bytes.h"
#include "crypt/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CAMPAIGNS      = 3,
	SAVE_BYTES_MAX = 300000,
	TEXT_BYTES     = 512,
	PART_BYTES     = 49152,
	ID_BYTES       = 8,
	SCRATCH        = CAMPAIGNS
};
enum { OP_VAULT_OPEN = 20, OP_VAULT_OPENED, OP_PUT, OP_PUT_GO, OP_PART, OP_END, OP_PUT_DONE };
enum { OP_GET = 29, OP_GET_SIZE, OP_FORGET = 33, OP_FORGOTTEN };

struct campaign {
	bool    stored, doubtful;
	uint8_t hash[HASH_SHA256_BYTES];  /* acknowledged last */
	uint8_t maybe[HASH_SHA256_BYTES]; /* doubtful: sent after that, without an answer */
};

struct cloud {
	struct campaign campaigns[CAMPAIGNS];
};

enum end { DONE, REFUSED, LOST };

static void key_of(uint8_t out[16], const struct soak_actor *a)
{
	soak_key(out, "soak cloud %u", a->number);
}

static void campaign_of(uint8_t out[ID_BYTES], const struct soak_actor *a, unsigned campaign)
{
	uint8_t key[16];

	soak_key(key, "soak campaign %u of %u", campaign, a->number);
	memcpy(out, key, ID_BYTES);
}

/* --- Containers --- */

struct save {
	uint8_t *bytes;
	size_t   len;
	uint8_t  hash[HASH_SHA256_BYTES];
};

static bool make_save(struct save *s, struct soak_actor *a, unsigned campaign)
{
	uint8_t  id[ID_BYTES];
	char     hex[2 * ID_BYTES + 1], text[TEXT_BYTES];
	uint32_t save_len = 500 + soak_dice(a, soak_dice(a, 4) ? SAVE_BYTES_MAX / 10 : SAVE_BYTES_MAX);

	campaign_of(id, a, campaign);
	hex_encode(hex, id, sizeof(id));

	int text_len = snprintf(text, sizeof(text),
	                        "version=1\ncampaign=%s\nname=Soak %u\nlevel=Island\ncheckpoint=%u\nstamp=1700000000\n",
	                        hex, a->number, soak_dice(a, 1000));

	s->len   = 16 + (size_t)text_len + save_len;
	s->bytes = malloc(s->len);
	if (!s->bytes)
		return false;
	memcpy(s->bytes, "CCSV", 4);
	put_u32(s->bytes + 4, 1);
	put_u32(s->bytes + 8, (uint32_t)text_len);
	memcpy(s->bytes + 12, text, (size_t)text_len);
	put_u32(s->bytes + 12 + text_len, save_len);
	soak_random(a, s->bytes + 16 + text_len, save_len);
	hash_sha256(s->hash, s->bytes, s->len);
	return true;
}

/* --- WebSocket --- */

static bool open_vault(struct soak_actor *a, struct soak_wire *w)
{
	uint8_t m[2 + 16] = { OP_VAULT_OPEN, 2 };
	char    address[16];

	soak_address(address, a, 0);
	if (!soak_dial(w, NULL, soak.ports.tunnel, 0) || soak_upgrade(w, "/", address) != 101)
		return false;
	key_of(m + 2, a);

	struct soak_message answer = { .op = SOAK_WS_NONE };

	if (soak_ws_say(w, SOAK_WS_BINARY, m, sizeof(m)))
		answer = soak_ws_hear(w, SOAK_PATIENCE_MS);
	return answer.op == SOAK_WS_BINARY && answer.len > 0 && answer.data[0] == OP_VAULT_OPENED;
}

/* The opcode that comes; 0: none. A fault is told. */
static int hear_op(struct soak_actor *a, struct soak_wire *w, int wanted, const char *what)
{
	struct soak_message m = soak_ws_hear(w, SOAK_PATIENCE_MS);

	if (m.op != SOAK_WS_BINARY || m.len == 0)
		return 0;
	if (m.data[0] != wanted)
		soak_fault(a, "%s is answered by %d, %d", what, m.data[0], m.len > 1 ? m.data[1] : -1);
	return m.data[0];
}

static bool send_parts(struct soak_wire *w, const struct save *s)
{
	static const uint8_t end       = OP_END;
	uint8_t             *m         = malloc(1 + PART_BYTES);
	bool                 goes_well = m != NULL;

	for (size_t at = 0; goes_well && at < s->len; at += PART_BYTES) {
		size_t len = s->len - at < PART_BYTES ? s->len - at : PART_BYTES;

		m[0] = OP_PART;
		memcpy(m + 1, s->bytes + at, len);
		goes_well = soak_ws_say(w, SOAK_WS_BINARY, m, 1 + len);
	}
	free(m);
	return goes_well && soak_ws_say(w, SOAK_WS_BINARY, &end, 1);
}

static enum end put_ws(struct soak_actor *a, unsigned campaign, const struct save *s)
{
	struct soak_wire w                   = SOAK_WIRE_NONE;
	uint8_t          m[1 + ID_BYTES + 4] = { OP_PUT };
	enum end         end                 = LOST;

	campaign_of(m + 1, a, campaign);
	put_u32(m + 1 + ID_BYTES, (uint32_t)s->len);
	if (open_vault(a, &w) && soak_ws_say(&w, SOAK_WS_BINARY, m, sizeof(m))) {
		int go = hear_op(a, &w, OP_PUT_GO, "PUT");

		if (go == OP_PUT_GO && send_parts(&w, s)) {
			int done = hear_op(a, &w, OP_PUT_DONE, "END");

			end = done == OP_PUT_DONE ? DONE : done ? REFUSED : LOST;
		} else if (go) {
			end = go == OP_PUT_GO ? LOST : REFUSED;
		}
	}
	soak_hang_up(&w);
	return end;
}

/* All of it, for free(); NULL when it does not come. */
static uint8_t *take_parts(struct soak_wire *w, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);
	size_t   at    = 0;

	while (bytes) {
		struct soak_message m = soak_ws_hear(w, SOAK_PATIENCE_MS);

		if (m.op == SOAK_WS_BINARY && m.len == 1 && m.data[0] == OP_END && at == size)
			return bytes;
		if (m.op != SOAK_WS_BINARY || m.len < 1 || m.data[0] != OP_PART || m.len - 1 > size - at)
			break;
		memcpy(bytes + at, m.data + 1, m.len - 1);
		at += m.len - 1;
	}
	free(bytes);
	return NULL;
}

static uint8_t *get_ws(struct soak_actor *a, unsigned campaign, size_t *len)
{
	struct soak_wire w               = SOAK_WIRE_NONE;
	uint8_t          m[2 + ID_BYTES] = { OP_GET };
	uint8_t         *bytes           = NULL;

	campaign_of(m + 1, a, campaign);
	if (open_vault(a, &w) && soak_ws_say(&w, SOAK_WS_BINARY, m, sizeof(m))) {
		struct soak_message size = soak_ws_hear(&w, SOAK_PATIENCE_MS);

		if (size.op == SOAK_WS_BINARY && size.len == 5 && size.data[0] == OP_GET_SIZE) {
			*len  = get_u32(size.data + 1);
			bytes = take_parts(&w, *len);
		}
	}
	soak_hang_up(&w);
	return bytes;
}

/* --- REST --- */

static void ask_rest(struct soak_answer *out, struct soak_actor *a, unsigned campaign, const char *method,
                     const struct save *s)
{
	uint8_t id[ID_BYTES], key[16];
	char    hex[2 * ID_BYTES + 1], key_hex[33], path[80], fields[80], address[16];

	campaign_of(id, a, campaign);
	hex_encode(hex, id, sizeof(id));
	key_of(key, a);
	hex_encode(key_hex, key, sizeof(key));
	soak_address(address, a, 1);
	snprintf(path, sizeof(path), "/v1/campaigns/%s/checkpoint", hex);
	snprintf(fields, sizeof(fields), "Authorization: Bearer %s\r\n", key_hex);
	soak_http(out, &(struct soak_ask){ .port    = soak.ports.http,
	                                   .method  = method,
	                                   .path    = path,
	                                   .address = address,
	                                   .fields  = fields,
	                                   .body    = s ? s->bytes : NULL,
	                                   .len     = s ? s->len : 0 });
}

static enum end put_rest(struct soak_actor *a, unsigned campaign, const struct save *s)
{
	struct soak_answer answer;

	ask_rest(&answer, a, campaign, "PUT", s);

	enum end end = answer.status == 201 ? DONE : answer.status ? REFUSED : LOST;

	if (end == REFUSED)
		soak_fault(a, "a PUT is answered %d %.80s", answer.status, answer.body);
	soak_answer_fini(&answer);
	return end;
}

static uint8_t *get_rest(struct soak_actor *a, unsigned campaign, size_t *len)
{
	struct soak_answer answer;
	uint8_t           *bytes = NULL;

	ask_rest(&answer, a, campaign, "GET", NULL);
	if (answer.status == 200 && (bytes = malloc(answer.body_len ? answer.body_len : 1))) {
		memcpy(bytes, answer.body, answer.body_len);
		*len = answer.body_len;
	} else if (answer.status) {
		soak_fault(a, "a GET is answered %d %.80s", answer.status, answer.body);
	}
	soak_answer_fini(&answer);
	return bytes;
}

/* --- What is done with them --- */

static void store(struct soak_actor *a, unsigned number)
{
	struct campaign *c       = &((struct cloud *)a->own)->campaigns[number];
	bool             ws      = soak_dice(a, 2);
	int64_t          from_ns = soak_now_ns();
	struct save      s;

	if (!make_save(&s, a, number))
		return;

	enum end end = ws ? put_ws(a, number, &s) : put_rest(a, number, &s);

	if (end == DONE) {
		soak_took(ws ? SOAK_VAULT : SOAK_REST, from_ns);
		soak.bytes_stored += s.len;
		memcpy(c->hash, s.hash, sizeof(c->hash));
		c->stored   = true;
		c->doubtful = false;
	} else if (end == LOST) {
		soak_fault(a, "an upload over %s gets no answer", ws ? "WebSocket" : "REST");
		memcpy(c->maybe, s.hash, sizeof(c->maybe));
		c->doubtful = true;
	}
	free(s.bytes);
}

/* Of one whose answer did not come both is right; what is found is so from then on. */
static bool is_right(struct campaign *c, const uint8_t hash[HASH_SHA256_BYTES])
{
	if (c->doubtful && memcmp(hash, c->maybe, sizeof(c->maybe)) == 0)
		memcpy(c->hash, c->maybe, sizeof(c->hash));
	c->doubtful = false;
	return memcmp(hash, c->hash, sizeof(c->hash)) == 0;
}

static void load(struct soak_actor *a, unsigned number)
{
	struct campaign *c       = &((struct cloud *)a->own)->campaigns[number];
	bool             ws      = soak_dice(a, 2);
	int64_t          from_ns = soak_now_ns();
	size_t           len     = 0;
	uint8_t          hash[HASH_SHA256_BYTES];

	if (!c->stored)
		return;

	uint8_t *bytes = ws ? get_ws(a, number, &len) : get_rest(a, number, &len);

	if (!bytes) {
		soak_fault(a, "a download over %s does not come", ws ? "WebSocket" : "REST");
		return;
	}
	soak_took(ws ? SOAK_VAULT : SOAK_REST, from_ns);
	soak.bytes_loaded += len;
	hash_sha256(hash, bytes, len);
	soak_promise(a, is_right(c, hash), "campaign %u is not the checkpoint that was acknowledged (%zu bytes)",
	             number, len);
	free(bytes);
}

/* A campaign that is stored and deleted again: nothing of it stays. */
static void make_and_forget(struct soak_actor *a)
{
	struct soak_wire w               = SOAK_WIRE_NONE;
	uint8_t          m[1 + ID_BYTES] = { OP_FORGET };
	struct save      s;

	if (!make_save(&s, a, SCRATCH))
		return;

	enum end end = put_rest(a, SCRATCH, &s);

	free(s.bytes);
	soak_pause(a, 250); /* limits.cloud_interval_ms */
	campaign_of(m + 1, a, SCRATCH);
	if (end == DONE) {
		if (!open_vault(a, &w) || !soak_ws_say(&w, SOAK_WS_BINARY, m, sizeof(m)) ||
		    hear_op(a, &w, OP_FORGOTTEN, "FORGET") != OP_FORGOTTEN)
			soak_fault(a, "a campaign cannot be deleted");
		soak_hang_up(&w);
	}
}

/* An upload that breaks off: nothing of it may be seen. */
static void break_off(struct soak_actor *a, unsigned number)
{
	struct soak_wire w                   = SOAK_WIRE_NONE;
	uint8_t          m[1 + ID_BYTES + 4] = { OP_PUT };
	uint8_t          part[2000]          = { OP_PART };

	campaign_of(m + 1, a, number);
	put_u32(m + 1 + ID_BYTES, 100000);
	if (open_vault(a, &w) && soak_ws_say(&w, SOAK_WS_BINARY, m, sizeof(m)) &&
	    hear_op(a, &w, OP_PUT_GO, "PUT") == OP_PUT_GO)
		soak_ws_say(&w, SOAK_WS_BINARY, part, sizeof(part));
	soak_abort(&w);
}

static void visit(struct soak_actor *a)
{
	unsigned number = soak_dice(a, CAMPAIGNS);

	switch (soak_dice(a, 12)) {
	case 0:
		make_and_forget(a);
		break;
	case 1:
		break_off(a, number);
		break;
	case 2:
	case 3:
	case 4:
	case 5:
		load(a, number);
		return;
	default:
		store(a, number);
	}
	soak_pause(a, 250 + (int)soak_dice(a, 800));
}

static void check(struct soak_actor *a)
{
	struct cloud *c = a->own;

	/* As if something else than what was acknowledged had come back. */
	for (unsigned i = 0; soak.plant == SOAK_PLANT_LOST && soak.ending && i < CAMPAIGNS; i++)
		c->campaigns[i].hash[0] ^= 1;
	for (unsigned i = 0; i < CAMPAIGNS; i++)
		load(a, i);
}

const struct soak_part soak_part_cloud = {
	.name = "campaigns", .actors = 10, .own_bytes = sizeof(struct cloud), .visit = visit, .check = check
};

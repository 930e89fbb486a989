#include "support/tunnel_message.h"

#include <openssl/sha.h>

#include <string.h>

static void sha256(uint8_t out[32], const void *data, size_t len)
{
	SHA256(data, len, out);
}

/* The bytes that the name spells in hex, or those of its hash. */
static void named_bytes(uint8_t *out, size_t len, const char *name)
{
	struct pattern p;
	const char    *why;
	uint8_t        hash[32];

	pattern_clear(&p);
	if (strlen(name) == 2 * len && strspn(name, "0123456789abcdefABCDEF") == 2 * len &&
	    pattern_add_text(&p, name, &why)) {
		memcpy(out, p.value, len);
		return;
	}
	sha256(hash, name, strlen(name));
	memcpy(out, hash, len);
}

void key_of(uint8_t key[KEY_BYTES], const char *name)
{
	named_bytes(key, KEY_BYTES, name);
}

void token_of(uint8_t token[TOKEN_BYTES], const char *name)
{
	named_bytes(token, TOKEN_BYTES, name);
}

void id_of(uint8_t id[ID_BYTES], const char *key_name)
{
	uint8_t key[KEY_BYTES];
	uint8_t hash[32];

	key_of(key, key_name);
	sha256(hash, key, sizeof(key));
	memcpy(id, hash, ID_BYTES);
}

static void begin(struct pattern *p, unsigned opcode)
{
	pattern_clear(p);
	pattern_add_u8(p, opcode);
}

static void add_token(struct pattern *p, const char *name)
{
	uint8_t token[TOKEN_BYTES];

	token_of(token, name);
	pattern_add_bytes(p, token, sizeof(token));
}

static void add_key(struct pattern *p, const char *name)
{
	uint8_t key[KEY_BYTES];

	key_of(key, name);
	pattern_add_bytes(p, key, sizeof(key));
}

static void add_id(struct pattern *p, const char *key_name)
{
	uint8_t id[ID_BYTES];

	id_of(id, key_name);
	pattern_add_bytes(p, id, sizeof(id));
}

void msg_host_open(struct pattern *p, const char *key)
{
	begin(p, 1);
	pattern_add_u8(p, 2);
	add_key(p, key);
}

void msg_host_open_1(struct pattern *p, unsigned code, const uint8_t secret[SECRET_BYTES])
{
	begin(p, 1);
	pattern_add_u8(p, 1);
	pattern_add_u16(p, code);
	pattern_add_bytes(p, secret, SECRET_BYTES);
}

void msg_join(struct pattern *p, uint32_t code, const char *token, const char *key)
{
	begin(p, 8);
	pattern_add_u8(p, 2);
	pattern_add_u32(p, code);
	add_token(p, token);
	add_key(p, key);
}

void msg_join_1(struct pattern *p, unsigned code, const char *token)
{
	begin(p, 8);
	pattern_add_u8(p, 1);
	pattern_add_u16(p, code);
	if (token)
		add_token(p, token);
}

void msg_echo(struct pattern *p, uint32_t clock)
{
	begin(p, 3);
	pattern_add_u32(p, clock);
}

void msg_from_host(struct pattern *p, unsigned number, const void *data, size_t len)
{
	begin(p, 5);
	pattern_add_u16(p, number);
	pattern_add_bytes(p, data, len);
}

void msg_from_friend(struct pattern *p, const void *data, size_t len)
{
	begin(p, 10);
	pattern_add_bytes(p, data, len);
}

void msg_paths_from_friend(struct pattern *p, const char *token, unsigned count, const void *paths, size_t paths_len)
{
	begin(p, 12);
	add_token(p, token);
	pattern_add_u8(p, count);
	pattern_add_bytes(p, paths, paths_len);
}

void msg_paths_from_host(struct pattern *p, unsigned number, unsigned count, const void *paths, size_t paths_len)
{
	begin(p, 14);
	pattern_add_u16(p, number);
	pattern_add_u8(p, count);
	pattern_add_bytes(p, paths, paths_len);
}

void msg_game_state(struct pattern *p, unsigned state)
{
	begin(p, 16);
	pattern_add_u8(p, state);
}

void msg_host_opened(struct pattern *p, const char *key)
{
	begin(p, 2);
	pattern_add_any(p, 4);
	add_id(p, key);
}

void msg_host_opened_1(struct pattern *p)
{
	begin(p, 2);
	pattern_add_any(p, 2 + SECRET_BYTES);
}

void msg_fault(struct pattern *p, unsigned fault)
{
	begin(p, 7);
	pattern_add_u8(p, fault);
}

void msg_joined(struct pattern *p, unsigned state)
{
	begin(p, 9);
	pattern_add_u8(p, state);
}

void msg_joined_1(struct pattern *p)
{
	begin(p, 9);
}

void msg_friend_is(struct pattern *p, unsigned number, const char *key)
{
	begin(p, 17);
	pattern_add_u16(p, number);
	add_id(p, key);
}

void msg_friend_gone(struct pattern *p, unsigned number)
{
	begin(p, 6);
	pattern_add_u16(p, number);
}

void msg_to_host(struct pattern *p, unsigned number, const void *data, size_t len)
{
	begin(p, 4);
	pattern_add_u16(p, number);
	pattern_add_bytes(p, data, len);
}

void msg_to_friend(struct pattern *p, const void *data, size_t len)
{
	begin(p, 11);
	pattern_add_bytes(p, data, len);
}

void msg_paths_to_host(struct pattern *p, unsigned number, const char *token, unsigned count, const void *paths,
                       size_t paths_len)
{
	begin(p, 13);
	pattern_add_u16(p, number);
	add_token(p, token);
	pattern_add_u8(p, count);
	pattern_add_bytes(p, paths, paths_len);
}

void msg_paths_to_friend(struct pattern *p, unsigned count, const void *paths, size_t paths_len)
{
	begin(p, 15);
	pattern_add_u8(p, count);
	pattern_add_bytes(p, paths, paths_len);
}

unsigned read_u16(const uint8_t *data)
{
	return data[0] | (unsigned)data[1] << 8;
}

uint32_t read_u32(const uint8_t *data)
{
	return read_u16(data) | (uint32_t)read_u16(data + 2) << 16;
}

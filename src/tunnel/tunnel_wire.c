/*
 * One row per message and protocol version; parsing and building walk the row's letters.
 */
#include "tunnel/tunnel_wire.h"

#include "base/auto.h"
#include "base/layout.h"

enum side { FROM_CLIENT, FROM_SERVER };

static const struct layout_field fields[LAYOUT_LETTERS] = {
	['v'] = LAYOUT_INT(struct tunnel_msg, version, 1),
	['c'] = LAYOUT_INT(struct tunnel_msg, code, 2), /* protocol 1 */
	['C'] = LAYOUT_INT(struct tunnel_msg, code, 4),
	['n'] = LAYOUT_INT(struct tunnel_msg, number, 2),
	['x'] = LAYOUT_INT(struct tunnel_msg, state, 1),
	['f'] = LAYOUT_INT(struct tunnel_msg, fault, 1),
	['s'] = LAYOUT_BYTES(struct tunnel_msg, secret),
	['k'] = LAYOUT_BYTES(struct tunnel_msg, key),
	['i'] = LAYOUT_BYTES(struct tunnel_msg, id),
	['t'] = LAYOUT_NOTED(struct tunnel_msg, token, has_token),
	['T'] = LAYOUT_MAYBE(struct tunnel_msg, token, has_token),
	['r'] = LAYOUT_REST(struct tunnel_msg, rest, rest_len),
};

struct row {
	uint8_t     op;
	uint8_t     version; /* 0: the same in both */
	enum side   from;
	uint8_t     bytes_min; /* opcode included */
	const char *name;
	const char *letters;
};

static const struct row rows[] = {
	/* op                    version  from       min  name                 letters */
	{ TUNNEL_HOST_OPEN, 1, FROM_CLIENT, 12, "HOST_OPEN", "vcs" },
	{ TUNNEL_HOST_OPEN, 2, FROM_CLIENT, 18, "HOST_OPEN", "vk" },
	{ TUNNEL_HOST_OPENED, 1, FROM_SERVER, 11, "HOST_OPENED", "cs" },
	{ TUNNEL_HOST_OPENED, 2, FROM_SERVER, 13, "HOST_OPENED", "Ci" },
	{ TUNNEL_ECHO, 0, FROM_CLIENT, 1, "ECHO", "r" },
	{ TUNNEL_ECHO, 0, FROM_SERVER, 1, "ECHO", "r" },
	{ TUNNEL_TO_HOST, 0, FROM_SERVER, 3, "TO_HOST", "nr" },
	{ TUNNEL_FROM_HOST, 0, FROM_CLIENT, 3, "FROM_HOST", "nr" },
	{ TUNNEL_FRIEND_GONE, 0, FROM_SERVER, 3, "FRIEND_GONE", "n" },
	{ TUNNEL_FAULT, 0, FROM_SERVER, 2, "FAULT", "f" },
	{ TUNNEL_JOIN, 1, FROM_CLIENT, 4, "JOIN", "vcT" },
	{ TUNNEL_JOIN, 2, FROM_CLIENT, 30, "JOIN", "vCtk" },
	{ TUNNEL_JOINED, 1, FROM_SERVER, 1, "JOINED", "" },
	{ TUNNEL_JOINED, 2, FROM_SERVER, 2, "JOINED", "x" },
	{ TUNNEL_FROM_FRIEND, 0, FROM_CLIENT, 1, "FROM_FRIEND", "r" },
	{ TUNNEL_TO_FRIEND, 0, FROM_SERVER, 1, "TO_FRIEND", "r" },
	{ TUNNEL_PATHS_FROM_FRIEND, 0, FROM_CLIENT, 10, "PATHS_FROM_FRIEND", "r" },
	{ TUNNEL_PATHS_TO_HOST, 0, FROM_SERVER, 12, "PATHS_TO_HOST", "nr" },
	{ TUNNEL_PATHS_FROM_HOST, 0, FROM_CLIENT, 4, "PATHS_FROM_HOST", "nr" },
	{ TUNNEL_PATHS_TO_FRIEND, 0, FROM_SERVER, 2, "PATHS_TO_FRIEND", "r" },
	{ TUNNEL_GAME_STATE, 0, FROM_CLIENT, 2, "GAME_STATE", "x" },
	{ TUNNEL_GAME_STATE, 0, FROM_SERVER, 2, "GAME_STATE", "x" },
	{ TUNNEL_FRIEND_IS, 0, FROM_SERVER, 11, "FRIEND_IS", "ni" },
	{ TUNNEL_VAULT_OPEN, 2, FROM_CLIENT, 18, "VAULT_OPEN", "vk" },
};

static const struct row *find_row(uint8_t op, enum side from, uint8_t version)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].op == op && rows[i].from == from && (rows[i].version == 0 || rows[i].version == version))
			return &rows[i];
	return NULL;
}

static enum tunnel_parse parse_row(struct tunnel_msg *out, const struct row *row, const uint8_t *bytes, size_t len)
{
	struct rd r = rd_over(bytes + 1, len - 1);

	*out = (struct tunnel_msg){ .op = (enum tunnel_op)row->op };
	layout_read(out, &r, fields, row->letters);
	return rd_ok(&r) ? TUNNEL_PARSED : TUNNEL_SHORT;
}

enum tunnel_parse tunnel_parse_client(struct tunnel_msg *out, const uint8_t *bytes, size_t len)
{
	if (len == 0)
		return TUNNEL_SHORT;

	bool opens = bytes[0] == TUNNEL_HOST_OPEN || bytes[0] == TUNNEL_JOIN;

	if (opens && len == 1)
		return TUNNEL_SHORT;
	/* VAULT_OPEN differs from the other two: too short is ignored, only a wrong version is a fault. */
	if (bytes[0] == TUNNEL_VAULT_OPEN && len < 18)
		return TUNNEL_SHORT;

	uint8_t           version = len > 1 ? bytes[1] : 0;
	const struct row *row     = find_row(bytes[0], FROM_CLIENT, version);

	if (!row)
		return opens || bytes[0] == TUNNEL_VAULT_OPEN ? TUNNEL_BAD_VERSION : TUNNEL_UNKNOWN;
	if (len < row->bytes_min)
		return opens ? TUNNEL_BAD_VERSION : TUNNEL_SHORT;
	return parse_row(out, row, bytes, len);
}

enum tunnel_parse tunnel_parse_server(struct tunnel_msg *out, uint8_t version, const uint8_t *bytes, size_t len)
{
	if (len == 0)
		return TUNNEL_SHORT;

	const struct row *row = find_row(bytes[0], FROM_SERVER, version);

	if (!row)
		return TUNNEL_UNKNOWN;
	if (len < row->bytes_min)
		return TUNNEL_SHORT;

	enum tunnel_parse parsed = parse_row(out, row, bytes, len);

	if (row->version)
		out->version = row->version;
	return parsed;
}

void tunnel_build(struct wr *w, const struct tunnel_msg *msg)
{
	const struct row *row = find_row((uint8_t)msg->op, FROM_SERVER, msg->version);

	if (!row)
		row = find_row((uint8_t)msg->op, FROM_CLIENT, msg->version);
	if (!row) {
		w->failed = true;
		return;
	}
	wr_u8(w, row->op);
	layout_write(w, msg, fields, row->letters);
}

const char *tunnel_op_name(uint8_t op)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].op == op)
			return rows[i].name;
	return "?";
}

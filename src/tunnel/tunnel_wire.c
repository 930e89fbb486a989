/*
 * One row per message and protocol version; parsing and building walk the row's fields.
 */
#include "tunnel/tunnel_wire.h"

#include "base/auto.h"

enum side { FROM_CLIENT, FROM_SERVER };

/*
 * A field is one letter:
 *	v  version u8       c  code u16         C  code u32         s  secret 8 bytes
 *	k  key 16 bytes     i  id 8 bytes       t  token 8 bytes    T  token, may be missing
 *	n  number u16       x  state u8         f  fault u8         r  the rest
 */
struct row {
	uint8_t     op;
	uint8_t     version; /* 0: the same in both */
	enum side   from;
	uint8_t     bytes_min; /* opcode included */
	const char *name;
	const char *fields;
};

static const struct row rows[] = {
	/* op                    version  from       min  name                 fields */
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

static void read_field(struct tunnel_msg *m, struct rd *r, char field)
{
	switch (field) {
	case 'v':
		m->version = rd_u8(r);
		break;
	case 'c':
		m->code = rd_u16(r);
		break;
	case 'C':
		m->code = rd_u32(r);
		break;
	case 'n':
		m->number = rd_u16(r);
		break;
	case 'x':
		m->state = rd_u8(r);
		break;
	case 'f':
		m->fault = rd_u8(r);
		break;
	case 's':
		rd_copy(r, m->secret, sizeof(m->secret));
		break;
	case 'k':
		rd_copy(r, m->key, sizeof(m->key));
		break;
	case 'i':
		rd_copy(r, m->id, sizeof(m->id));
		break;
	case 'r':
		m->rest = rd_rest(r, &m->rest_len);
		break;
	case 'T':
		if (rd_left(r) < sizeof(m->token))
			break;
		/* fallthrough */
	case 't':
		rd_copy(r, m->token, sizeof(m->token));
		m->has_token = true;
		break;
	}
}

static void write_field(struct wr *w, const struct tunnel_msg *m, char field)
{
	switch (field) {
	case 'v':
		wr_u8(w, m->version);
		break;
	case 'c':
		wr_u16(w, (uint16_t)m->code);
		break;
	case 'C':
		wr_u32(w, m->code);
		break;
	case 'n':
		wr_u16(w, m->number);
		break;
	case 'x':
		wr_u8(w, m->state);
		break;
	case 'f':
		wr_u8(w, m->fault);
		break;
	case 's':
		wr_bytes(w, m->secret, sizeof(m->secret));
		break;
	case 'k':
		wr_bytes(w, m->key, sizeof(m->key));
		break;
	case 'i':
		wr_bytes(w, m->id, sizeof(m->id));
		break;
	case 'r':
		wr_bytes(w, m->rest, m->rest_len);
		break;
	case 't':
		wr_bytes(w, m->token, sizeof(m->token));
		break;
	case 'T':
		if (m->has_token)
			wr_bytes(w, m->token, sizeof(m->token));
		break;
	}
}

static enum tunnel_parse parse_row(struct tunnel_msg *out, const struct row *row, const uint8_t *bytes, size_t len)
{
	struct rd r = rd_over(bytes + 1, len - 1);

	*out = (struct tunnel_msg){ .op = (enum tunnel_op)row->op };
	for (const char *f = row->fields; *f; f++)
		read_field(out, &r, *f);
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
	for (const char *f = row->fields; *f; f++)
		write_field(w, msg, *f);
}

const char *tunnel_op_name(uint8_t op)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].op == op)
			return rows[i].name;
	return "?";
}

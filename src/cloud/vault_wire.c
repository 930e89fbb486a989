/*
 * One row per message; parsing and building walk the row's fields.
 */
#include "cloud/vault_wire.h"

#include "base/auto.h"

#define FROM_CLIENT 1
#define FROM_SERVER 2
#define BOTH        (FROM_CLIENT | FROM_SERVER)

/*
 * A field is one letter:
 *	v  version u8       k  key 16 bytes     i  player's id 8 bytes   c  campaign 8 bytes
 *	z  size u32         w  which u8         f  fault u8              r  the rest
 */
struct row {
	uint8_t     op;
	uint8_t     from;
	uint8_t     bytes_min; /* opcode included */
	const char *fields;
};

static const struct row rows[] = {
	/* op              from         min  fields */
	{ VAULT_ECHO, BOTH, 1, "r" },
	{ VAULT_FAULT, FROM_SERVER, 2, "f" },
	{ VAULT_OPEN, FROM_CLIENT, 18, "vk" },
	{ VAULT_OPENED, FROM_SERVER, 9, "i" },
	{ VAULT_PUT, FROM_CLIENT, 13, "cz" },
	{ VAULT_PUT_GO, FROM_SERVER, 1, "" },
	{ VAULT_PART, BOTH, 1, "r" },
	{ VAULT_END, BOTH, 1, "" },
	{ VAULT_PUT_DONE, FROM_SERVER, 1, "" },
	{ VAULT_LIST, FROM_CLIENT, 1, "" },
	{ VAULT_LISTING, FROM_SERVER, 1, "r" },
	{ VAULT_GET, FROM_CLIENT, 10, "cw" },
	{ VAULT_GET_SIZE, FROM_SERVER, 5, "z" },
	{ VAULT_FORGET, FROM_CLIENT, 9, "c" },
	{ VAULT_FORGOTTEN, FROM_SERVER, 1, "" },
};

static const struct row *find_row(uint8_t op, uint8_t from)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].op == op && (rows[i].from & from))
			return &rows[i];
	return NULL;
}

static void read_field(struct vault_msg *m, struct rd *r, char field)
{
	switch (field) {
	case 'v':
		m->version = rd_u8(r);
		break;
	case 'z':
		m->size = rd_u32(r);
		break;
	case 'w':
		m->which = rd_u8(r);
		break;
	case 'f':
		m->fault = rd_u8(r);
		break;
	case 'k':
		rd_copy(r, m->key, sizeof(m->key));
		break;
	case 'i':
		rd_copy(r, m->id, sizeof(m->id));
		break;
	case 'c':
		rd_copy(r, m->campaign, sizeof(m->campaign));
		break;
	case 'r':
		m->rest = rd_rest(r, &m->rest_len);
		break;
	}
}

static void write_field(struct wr *w, const struct vault_msg *m, char field)
{
	switch (field) {
	case 'v':
		wr_u8(w, m->version);
		break;
	case 'z':
		wr_u32(w, m->size);
		break;
	case 'w':
		wr_u8(w, m->which);
		break;
	case 'f':
		wr_u8(w, m->fault);
		break;
	case 'k':
		wr_bytes(w, m->key, sizeof(m->key));
		break;
	case 'i':
		wr_bytes(w, m->id, sizeof(m->id));
		break;
	case 'c':
		wr_bytes(w, m->campaign, sizeof(m->campaign));
		break;
	case 'r':
		wr_bytes(w, m->rest, m->rest_len);
		break;
	}
}

static enum vault_parse parse(struct vault_msg *out, const uint8_t *bytes, size_t len, uint8_t from)
{
	const struct row *row = len > 0 ? find_row(bytes[0], from) : NULL;

	if (!row)
		return VAULT_UNKNOWN;
	if (len < row->bytes_min)
		return VAULT_SHORT;

	struct rd r = rd_over(bytes + 1, len - 1);

	*out = (struct vault_msg){ .op = (enum vault_op)row->op };
	for (const char *f = row->fields; *f; f++)
		read_field(out, &r, *f);
	return rd_ok(&r) ? VAULT_PARSED : VAULT_SHORT;
}

enum vault_parse vault_parse_client(struct vault_msg *out, const uint8_t *bytes, size_t len)
{
	return parse(out, bytes, len, FROM_CLIENT);
}

enum vault_parse vault_parse_server(struct vault_msg *out, const uint8_t *bytes, size_t len)
{
	return parse(out, bytes, len, FROM_SERVER);
}

void vault_build(struct wr *w, const struct vault_msg *msg)
{
	const struct row *row = find_row((uint8_t)msg->op, BOTH);

	if (!row) {
		w->failed = true;
		return;
	}
	wr_u8(w, row->op);
	for (const char *f = row->fields; *f; f++)
		write_field(w, msg, *f);
}

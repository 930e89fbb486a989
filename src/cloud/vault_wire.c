/*
 * One row per message; parsing and building walk the row's letters.
 */
#include "cloud/vault_wire.h"

#include "base/auto.h"
#include "base/layout.h"

#define FROM_CLIENT 1
#define FROM_SERVER 2
#define BOTH        (FROM_CLIENT | FROM_SERVER)

static const struct layout_field fields[LAYOUT_LETTERS] = {
	['v'] = LAYOUT_INT(struct vault_msg, version, 1), ['z'] = LAYOUT_INT(struct vault_msg, size, 4),
	['w'] = LAYOUT_INT(struct vault_msg, which, 1),   ['f'] = LAYOUT_INT(struct vault_msg, fault, 1),
	['k'] = LAYOUT_BYTES(struct vault_msg, key),      ['i'] = LAYOUT_BYTES(struct vault_msg, id),
	['c'] = LAYOUT_BYTES(struct vault_msg, campaign), ['r'] = LAYOUT_REST(struct vault_msg, rest, rest_len),
};

struct row {
	uint8_t     op;
	uint8_t     from;
	uint8_t     bytes_min; /* opcode included */
	const char *letters;
};

static const struct row rows[] = {
	/* op              from         min  letters */
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

static enum vault_parse parse(struct vault_msg *out, const uint8_t *bytes, size_t len, uint8_t from)
{
	const struct row *row = len > 0 ? find_row(bytes[0], from) : NULL;

	if (!row)
		return VAULT_UNKNOWN;
	if (len < row->bytes_min)
		return VAULT_SHORT;

	struct rd r = rd_over(bytes + 1, len - 1);

	*out = (struct vault_msg){ .op = (enum vault_op)row->op };
	layout_read(out, &r, fields, row->letters);
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
	layout_write(w, msg, fields, row->letters);
}

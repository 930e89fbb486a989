/*
 * One row per request; parsing and building walk the row's letters.
 */
#include "rooms/rooms_wire.h"

#include "base/auto.h"
#include "base/layout.h"

#define MAGIC_BYTES 4
static const uint8_t magic[MAGIC_BYTES] = { 'P', 'S', 'N', 'R' };

#define INT(member, wire)  LAYOUT_BE(struct rooms_request, member, wire)
#define BLOB(member)       LAYOUT_BLOB(struct rooms_request, member.bytes, member.len, 2)
#define TEXT(member)       LAYOUT_BYTES(struct rooms_request, member)
#define NAMES(member, how) LAYOUT_MANY(struct rooms_request, member, how, ROOMS_NAME_BYTES)

static const struct layout_field fields[LAYOUT_LETTERS] = {
	['t'] = TEXT(title),     ['n'] = TEXT(name),          ['p'] = INT(p2p_port, 2),  ['m'] = INT(max, 1),
	['f'] = INT(flags, 4),   ['e'] = BLOB(external),      ['i'] = BLOB(internal),    ['d'] = BLOB(member_data),
	['s'] = INT(start, 2),   ['w'] = INT(want, 2),        ['R'] = INT(room_id, 8),   ['h'] = INT(which, 1),
	['D'] = BLOB(data),      ['T'] = INT(to, 2),          ['M'] = INT(member_id, 2), ['b'] = INT(board, 4),
	['o'] = INT(order, 1),   ['S'] = INT(score, 8),       ['c'] = BLOB(comment),     ['r'] = INT(rank_start, 4),
	['k'] = INT(count, 2),   ['N'] = NAMES(names, count), ['u'] = INT(user_id, 4),   ['K'] = INT(token, 4),
	['x'] = INT(to_user, 4), ['I'] = INT(stream_id, 4),   ['v'] = INT(vport, 2),
};

struct row {
	const char     *first; /* what must be there, else BAD */
	const char     *then;  /* what follows, else: */
	enum rooms_code otherwise;
};

static const struct row rows[] = {
	[ROOMS_HELLO]             = { "tnp", "", ROOMS_FINE },
	[ROOMS_HEARTBEAT]         = { "", "", ROOMS_FINE },
	[ROOMS_CREATE_ROOM]       = { "mfeid", "", ROOMS_FINE },
	[ROOMS_SEARCH_ROOMS]      = { "sw", "", ROOMS_FINE },
	[ROOMS_JOIN_ROOM]         = { "Rd", "", ROOMS_FINE },
	[ROOMS_LEAVE_ROOM]        = { "", "R", ROOMS_NOT_IN_ROOM },
	[ROOMS_SET_ROOM_DATA]     = { "RhD", "", ROOMS_FINE },
	[ROOMS_ROOM_MESSAGE]      = { "RTD", "", ROOMS_FINE },
	[ROOMS_KICK_MEMBER]       = { "RM", "", ROOMS_FINE },
	[ROOMS_RECORD_SCORE]      = { "boSc", "", ROOMS_FINE },
	[ROOMS_GET_RANKING]       = { "brk", "", ROOMS_FINE },
	[ROOMS_GET_RANKING_BY_ID] = { "bkN", "", ROOMS_FINE },
	[ROOMS_STREAM_CONNECT]    = { "uK", "xv", ROOMS_NOT_FOUND },
	[ROOMS_STREAM_ACCEPT]     = { "uK", "I", ROOMS_NOT_FOUND },
};

static const struct row *row_of(uint8_t type)
{
	return type < COUNT_OF(rows) && rows[type].first ? &rows[type] : NULL;
}

size_t rooms_text_len(const uint8_t *field, size_t cap)
{
	const uint8_t *nul = memchr(field, 0, cap);

	return nul ? (size_t)(nul - field) : cap;
}

/* So that two fields with the same text are the same bytes. */
static void clean_text(uint8_t *field, size_t cap)
{
	size_t len = rooms_text_len(field, cap);

	memset(field + len, 0, cap - len);
}

enum rooms_code rooms_parse(struct rooms_request *out, uint8_t type, const uint8_t *payload, size_t len)
{
	struct rd         r   = rd_over(payload, len);
	const struct row *row = row_of(type);

	*out = (struct rooms_request){ .type = type, .req = (uint32_t)rd_be(&r, ROOMS_REQ_BYTES) };
	if (!row)
		return ROOMS_BAD;
	layout_read(out, &r, fields, row->first);
	if (!rd_ok(&r))
		return ROOMS_BAD;
	layout_read(out, &r, fields, row->then);
	clean_text(out->title, sizeof(out->title));
	clean_text(out->name, sizeof(out->name));
	return rd_ok(&r) ? ROOMS_FINE : row->otherwise;
}

void rooms_request_build(struct wr *w, const struct rooms_request *request)
{
	const struct row *row = row_of(request->type);

	if (!row) {
		w->failed = true;
		return;
	}

	size_t at = rooms_frame_begin(w, (enum rooms_type)request->type);

	wr_be(w, request->req, ROOMS_REQ_BYTES);
	layout_write(w, request, fields, row->first);
	layout_write(w, request, fields, row->then);
	rooms_frame_end(w, at);
}

void rooms_fold(uint8_t out[ROOMS_NAME_BYTES], const uint8_t name[ROOMS_NAME_BYTES])
{
	for (size_t i = 0; i < ROOMS_NAME_BYTES; i++)
		out[i] = name[i] >= 'A' && name[i] <= 'Z' ? (uint8_t)(name[i] - 'A' + 'a') : name[i];
}

size_t rooms_frame_begin(struct wr *w, enum rooms_type type)
{
	size_t at = (size_t)(w->at - w->start);

	wr_be(w, (uint8_t)type, 1);
	wr_be(w, 0, 2); /* the length, once it is known */
	return at;
}

void rooms_frame_end(struct wr *w, size_t at)
{
	if (!wr_ok(w))
		return;

	size_t    payload = wr_len(w) - at - ROOMS_HEAD_BYTES;
	struct wr length  = wr_over(w->start + at + 1, 2);

	if (payload > ROOMS_PAYLOAD_MAX)
		w->failed = true;
	else
		wr_be(&length, payload, 2);
}

void rooms_blob_put(struct wr *w, const void *bytes, size_t len)
{
	if (len > UINT16_MAX)
		w->failed = true;
	wr_be(w, len, 2);
	wr_bytes(w, bytes, len);
}

void rooms_member_put(struct wr *w, const struct rooms_member_entry *m)
{
	wr_be(w, m->member_id, 2);
	wr_be(w, m->user_id, 4);
	wr_bytes(w, m->name, ROOMS_NAME_BYTES);
	wr_bytes(w, m->ip, sizeof(m->ip));
	wr_be(w, m->port, 2);
	wr_be(w, m->is_owner, 1);
	rooms_blob_put(w, m->data, m->data_len);
}

bool rooms_packet_parse(struct rooms_packet *out, const uint8_t *bytes, size_t len)
{
	struct rd      r     = rd_over(bytes, len);
	const uint8_t *start = rd_bytes(&r, MAGIC_BYTES);

	if (!start || memcmp(start, magic, MAGIC_BYTES) != 0)
		return false;

	struct rooms_packet p = { .type = (enum rooms_udp_type)rd_be(&r, 1) };

	p.user_id = (uint32_t)rd_be(&r, 4);
	p.token   = (uint32_t)rd_be(&r, 4);
	if (p.type == ROOMS_UDP_PROBE)
		rd_copy(&r, p.local_ip, sizeof(p.local_ip));
	else if (p.type == ROOMS_UDP_RELAY)
		p.to_user = (uint32_t)rd_be(&r, 4);
	else
		return false;
	if (!rd_ok(&r))
		return false;
	*out = p;
	return true;
}

void rooms_probe_reply_build(uint8_t out[ROOMS_PROBE_REPLY_BYTES], const uint8_t ip[4], uint16_t port)
{
	struct wr w = wr_over(out, ROOMS_PROBE_REPLY_BYTES);

	wr_bytes(&w, magic, MAGIC_BYTES);
	wr_be(&w, ROOMS_UDP_PROBE_REPLY, 1);
	wr_bytes(&w, ip, 4);
	wr_be(&w, port, 2);
}

uint8_t *rooms_relay_turn(uint8_t *bytes, size_t *len, uint32_t from_user)
{
	/* The new head ends where the payload begins, so that the payload stays where it is. */
	uint8_t  *out = bytes + ROOMS_RELAY_IN_BYTES - ROOMS_RELAY_OUT_BYTES;
	struct wr w   = wr_over(out, ROOMS_RELAY_OUT_BYTES);

	wr_bytes(&w, magic, MAGIC_BYTES);
	wr_be(&w, ROOMS_UDP_RELAY, 1);
	wr_be(&w, from_user, 4);
	*len -= ROOMS_RELAY_IN_BYTES - ROOMS_RELAY_OUT_BYTES;
	return out;
}

#include "support/reader.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define SMALL_BUFFER_BYTES 4096
#define DATAGRAM_BYTES_MAX 1500

enum { ECHO = 3, TO_HOST = 4, FRIEND_GONE = 6 };

struct ws_client *reader_connect(int port)
{
	return ws_client_open(port, &(struct ws_client_options){ .rcvbuf_bytes = SMALL_BUFFER_BYTES });
}

struct ws_client *reader_open(int port, const char *key, uint32_t *code)
{
	struct ws_client *c = reader_connect(port);
	struct pattern    p;

	msg_host_open(&p, key);
	ws_client_send_pattern(c, &p);

	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);

	cr_assert(e.what == WS_MESSAGE && e.len == 13, "no HOST_OPENED");
	*code = read_u32(e.data + 1);
	return c;
}

void reader_send_numbered(struct ws_client *friend, uint32_t number, size_t bytes)
{
	uint8_t payload[DATAGRAM_BYTES_MAX] = { (uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16) };

	friend_send(friend, payload, bytes);
}

uint32_t reader_number(const uint8_t *payload)
{
	return (uint32_t)(payload[0] | payload[1] << 8 | payload[2] << 16);
}

static void find_datagram(struct reader_found *f, const uint8_t *data)
{
	uint32_t number = reader_number(data + 3);

	f->from_gone += f->gone[read_u16(data + 1)];
	if (f->datagrams++ == 0)
		f->first = number;
	else if (number <= f->last)
		f->in_order = false;
	f->last = number;
}

static void find_said(struct reader_found *f, const uint8_t *data, size_t len)
{
	cr_assert_lt(f->said_count, READER_SAID_MAX, "more is said than a test looks at");
	memcpy(f->said[f->said_count++], data, len < READER_SAID_BYTES ? len : READER_SAID_BYTES);
	if (data[0] == FRIEND_GONE)
		f->gone[read_u16(data + 1)] = true;
}

struct reader_found *reader_read_all(struct ws_client *host)
{
	struct reader_found *f = calloc(1, sizeof(*f));
	struct pattern       last;

	cr_assert_not_null(f, "memory for what is found");
	f->in_order = true;
	msg_echo(&last, 0xfeedbeef);
	ws_client_send_pattern(host, &last);
	for (;;) {
		struct ws_client_event e = ws_client_receive(host, DIAL_PATIENCE_MS);

		cr_assert_eq(e.what, WS_MESSAGE, "he was closed, or gets nothing more");
		if (pattern_matches(&last, e.data, e.len))
			return f;
		if (e.data[0] == ECHO)
			f->echoes++;
		else if (e.data[0] == TO_HOST)
			find_datagram(f, e.data);
		else
			find_said(f, e.data, e.len);
	}
}

void reader_expect_said(const struct reader_found *f, size_t index, uint8_t opcode, unsigned number)
{
	cr_assert_lt(index, f->said_count, "he was told %zu things", f->said_count);
	cr_assert(f->said[index][0] == opcode && read_u16(f->said[index] + 1) == number,
	          "thing %zu is %02x of %u, not %02x of %u", index, f->said[index][0], read_u16(f->said[index] + 1),
	          opcode, number);
}

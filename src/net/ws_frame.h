/*
 * Frames of RFC 6455 as a server sees them. Pure.
 *
 *	FIN RSV1-3 opcode	8 bits
 *	MASK length		8 bits; length 126: 16 more follow, 127: 64 more, in network order
 *	mask			32 bits, from clients only
 *	payload
 *
 * What clients send is cut into messages by struct ws_input. It keeps nothing while it is between messages; of an
 * incomplete one it keeps the bytes that came, so an announced length costs nothing.
 */
#ifndef NET_WS_FRAME_H
#define NET_WS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_FRAME_HEAD_BYTES_MAX    14 /* of a client's frame; a server's takes up to 10 */
#define WS_FRAME_CONTROL_BYTES_MAX 125

enum ws_opcode { WS_CONTINUATION = 0, WS_TEXT = 1, WS_BINARY = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };

/* The head of an unmasked, final frame. Returns its length. */
size_t ws_frame_head(uint8_t out[WS_FRAME_HEAD_BYTES_MAX], enum ws_opcode opcode, size_t payload_bytes);

struct ws_input {
	uint8_t  head_len; /* bytes of a head that is not whole yet */
	uint8_t  opcode;   /* of the frame whose payload is under way */
	bool     final;
	bool     in_payload; /* head read, payload not whole */
	bool     in_message; /* a message has begun and its last frame is not whole */
	bool     handed_out; /* message was given to the caller and goes at the next call */
	bool     broken;     /* after an error nothing more is understood */
	bool     is_text;    /* the message, under way or handed out last */
	uint8_t  control_len;
	uint8_t  mask[4];    /* turned so that mask[0] is for the next byte */
	uint32_t frame_left; /* payload bytes still to come */
	uint8_t *message;    /* the pieces so far, from malloc; NULL while there are none */
	uint32_t message_len, message_cap;
	uint32_t message_max;
	/* The usual frame comes whole and needs nothing from here on. */
	uint8_t head[WS_FRAME_HEAD_BYTES_MAX];
	uint8_t control[WS_FRAME_CONTROL_BYTES_MAX]; /* of a control frame that came in pieces */
};

enum ws_input_what {
	WS_INPUT_MORE,    /* every byte is used; wait for more */
	WS_INPUT_MESSAGE, /* a whole message, text or binary, not empty */
	WS_INPUT_PING,    /* with its payload */
	WS_INPUT_PONG,    /* the same */
	WS_INPUT_CLOSE,   /* the peer's close frame, whatever it carries */
	WS_INPUT_BAD,     /* not what a client may send */
	WS_INPUT_TOO_BIG, /* a message over the limit: announced, not necessarily sent */
	WS_INPUT_NOMEM,
};

struct ws_input_event {
	enum ws_input_what what;
	uint8_t           *data; /* valid until the next call, and the caller's to change */
	size_t             len;
};

void ws_input_init(struct ws_input *in, uint32_t message_max);
void ws_input_fini(struct ws_input *in);

/*
 * Takes bytes from *at on, unmasking them where they lie, and moves *at past what it used. Call it until it says
 * WS_INPUT_MORE (then *at is end) or an error, after which it says only that error's kind, WS_INPUT_BAD.
 * Empty messages are passed over.
 */
struct ws_input_event ws_input_next(struct ws_input *in, uint8_t **at, uint8_t *end);

/* Bytes of memory held for a message that is not whole. */
size_t ws_input_held(const struct ws_input *in);

/* Whether a message or frame has begun and is not whole. */
bool ws_input_is_partial(const struct ws_input *in);

#endif

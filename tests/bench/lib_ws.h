/*
 * WebSocket frames (RFC 6455) as far as the bench needs them: whole messages in one frame.
 */
#ifndef BENCH_LIB_WS_H
#define BENCH_LIB_WS_H

#include <stddef.h>
#include <stdint.h>

#include "lib_sock.h"

enum { WS_BINARY = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };

enum { WS_MESSAGE_BYTES_MAX = 65536 + 16 };

struct ws_frame {
	int         op;
	struct span data; /* unmasked, inside the span it was taken from */
};

/* WS_MORE: not all there.  WS_BAD: fragmented, an extension's, or too long. */
enum ws_got { WS_FRAME, WS_MORE, WS_BAD };

/* Takes the first frame off *in, which then begins behind it; on WS_MORE and WS_BAD *in is as before. */
enum ws_got ws_take(struct ws_frame *out, struct span *in);

/* Puts a server's frame into the socket's output; the caller fills the len bytes it returns. */
uint8_t *ws_put(struct sock_loop *loop, struct sock *s, int op, size_t len);

/* The same for a client's frame; when it is filled, ws_mask(returned, len, mask) must follow. */
uint8_t *ws_put_masked(struct sock_loop *loop, struct sock *s, int op, size_t len, uint32_t mask);

/* Masks or unmasks, in place.  The mask's lowest byte is the first on the wire. */
void ws_mask(uint8_t *p, size_t len, uint32_t mask);

#endif

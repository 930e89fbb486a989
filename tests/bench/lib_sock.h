/*
 * Sockets on one epoll, with as few system calls as there can be:
 *
 *	sock_loop_wait --ready socket--> sock_read (one recv) --> the program --> sock_put, on any socket
 *	      ^                                                                        |
 *	      +------------------ sock_loop_flush (one send per dirty socket) <--------+
 *
 * Reference and load generator both stand on it.  Every system call is counted where it is made.
 * Out of memory ends the program: there is nothing left to measure then.
 */
#ifndef BENCH_LIB_SOCK_H
#define BENCH_LIB_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <signal.h>
#include <sys/epoll.h>

enum {
	SOCK_READ_BYTES = 65536,      /* asked of one recv */
	SOCK_REST_BYTES = 65536 + 64, /* an unfinished frame, carried over to the next recv */
	SOCK_EVENTS     = 1024,       /* ready sockets taken in one turn; as many as libuv takes */
};

struct span {
	uint8_t *p;
	size_t   len;
};

struct sock_buffer {
	uint8_t *p;
	size_t   len;
	size_t   cap;
};

struct sock {
	int                fd;      /* -1 once closed */
	bool               dirty;   /* has output, stands in the loop's list */
	bool               blocked; /* the kernel took only a part; waits for EPOLLOUT */
	struct sock_buffer rest;
	struct sock_buffer out;
	struct sock       *next_dirty;
};

struct sock_calls {
	uint64_t recv, send, wait, ctl;
};

struct sock_loop {
	int                epoll_fd;
	struct sock       *dirty_first;
	struct sock       *dirty_last;
	struct sock_calls  calls;
	struct epoll_event events[SOCK_EVENTS];
	uint8_t            scratch[SOCK_REST_BYTES + SOCK_READ_BYTES];
};

enum sock_got { SOCK_BYTES, SOCK_NOTHING, SOCK_GONE };

void sock_loop_init(struct sock_loop *loop);

/*
 * Waits until a socket is ready, timeout_ns has passed (-1: no limit) or a signal that is open in
 * *mask came (NULL: the program's own mask).  Returns how many of loop->events are filled; their
 * data.ptr is the struct sock given to sock_add.
 */
int sock_loop_wait(struct sock_loop *loop, int64_t timeout_ns, const sigset_t *mask);

/* Sends what was put since the last flush. */
void sock_loop_flush(struct sock_loop *loop);

/* Takes over a non-blocking fd.  *s must stay where it is until closed, and until the next flush after that. */
void sock_add(struct sock_loop *loop, struct sock *s, int fd);

/* Closes, and frees what the buffers hold.  Harmless when done twice. */
void sock_close(struct sock *s);

/*
 * One recv.  SOCK_BYTES: *out is what the last sock_keep left, followed by what came now; it may be
 * written to and lives until the next sock_read on any socket.  SOCK_GONE: the peer is.
 */
enum sock_got sock_read(struct span *out, struct sock_loop *loop, struct sock *s);

/* Bytes that make no whole frame yet: the next sock_read begins with them. */
void sock_keep(struct sock *s, struct span rest);

/* Room for len bytes at the end of the output, to be filled before the next sock_put on this socket. */
uint8_t *sock_put(struct sock_loop *loop, struct sock *s, size_t len);

/* To be called on EPOLLOUT. */
void sock_writable(struct sock_loop *loop, struct sock *s);

/* Lets the process open as many descriptors as the system permits. */
void sock_raise_limit(void);

#endif

/*
 * The pipes that splice lends to flows with waiting bytes: a few are kept for the next one, and there is an end to how many
 * there are in all, since each takes two descriptors and its pages count against what the system gives one user.
 */
#ifndef NET_SPLICE_PIPE_H
#define NET_SPLICE_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPLICE_PIPES_MAX   128 /* of 256 KiB: half of what a user usually has (fs.pipe-user-pages-soft) */
#define SPLICE_PIPES_SPARE 8

/* What has no pipe goes without for so long, before the system is asked for one again. */
#define SPLICE_PIPE_PAUSE_MS 1000

struct splice_pipe {
	struct splice_pipe *next; /* of the spare ones */
	int                 out, in;
};

struct splice_pipes {
	struct splice_pipe *spare;
	size_t              spare_count, count; /* in all: lent and spare */
	int64_t             pause_until_ms;
};

/* An empty pipe, both ends non-blocking. NULL: none is to be had now. */
struct splice_pipe *splice_pipe_take(struct splice_pipes *p, int64_t now_ms);

/* Gives it back; one that is not empty is closed. NULL is fine. */
void splice_pipe_give(struct splice_pipes *p, struct splice_pipe *pipe, bool is_empty);

/* After all were given back. */
void splice_pipes_fini(struct splice_pipes *p);

#endif

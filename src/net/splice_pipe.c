#include "net/splice_pipe.h"

#include "net/splice.h"
#include "os/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A smaller pipe is no help: each of its slots takes a packet, however small that is. With the 16 of an ordinary one a flow of
 * single packets costs more than to copy it; with the two that a user above his share gets, everything does.
 */
static bool enlarge(int fd)
{
	return fcntl(fd, F_SETPIPE_SZ, SPLICE_WAITING_BYTES) >= SPLICE_WAITING_BYTES;
}

static void close_ends(const struct splice_pipe *pipe)
{
	close(pipe->out);
	close(pipe->in);
}

static bool open_pipe(struct splice_pipe *pipe)
{
	int ends[2];

	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
		return false;
	pipe->out = ends[0];
	pipe->in  = ends[1];
	if (enlarge(pipe->in))
		return true;
	close_ends(pipe);
	return false;
}

static struct splice_pipe *pipe_new(struct splice_pipes *p, int64_t now_ms)
{
	struct splice_pipe *pipe = calloc(1, sizeof(*pipe));

	if (pipe && open_pipe(pipe)) {
		p->count++;
		return pipe;
	}
	log_debug("splice", 0, "copies", "no pipe: %s", strerror(pipe ? errno : ENOMEM));
	free(pipe);
	p->pause_until_ms = now_ms + SPLICE_PIPE_PAUSE_MS;
	return NULL;
}

struct splice_pipe *splice_pipe_take(struct splice_pipes *p, int64_t now_ms)
{
	struct splice_pipe *pipe = p->spare;

	if (!pipe)
		return p->count < SPLICE_PIPES_MAX && now_ms >= p->pause_until_ms ? pipe_new(p, now_ms) : NULL;
	p->spare = pipe->next;
	p->spare_count--;
	return pipe;
}

static void pipe_free(struct splice_pipes *p, struct splice_pipe *pipe)
{
	close_ends(pipe);
	free(pipe);
	p->count--;
}

void splice_pipe_give(struct splice_pipes *p, struct splice_pipe *pipe, bool is_empty)
{
	if (!pipe)
		return;
	if (!is_empty || p->spare_count == SPLICE_PIPES_SPARE) {
		pipe_free(p, pipe);
		return;
	}
	pipe->next = p->spare;
	p->spare   = pipe;
	p->spare_count++;
}

void splice_pipes_fini(struct splice_pipes *p)
{
	while (p->spare) {
		struct splice_pipe *pipe = p->spare;

		p->spare = pipe->next;
		pipe_free(p, pipe);
	}
	p->spare_count = 0;
}

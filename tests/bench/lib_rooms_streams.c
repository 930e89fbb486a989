/*
 * Bytes through streams, or straight from socket to socket: as much as goes.
 */
#include "lib_rooms_load.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib_wire.h"

enum { CHUNK_BYTES = 262144, FRAME_BYTES = 2048 };

struct stream {
	int from, to;
};

static struct stream *streams;
static uint8_t        chunk[CHUNK_BYTES];

static void begin_leg(uint8_t *frame, uint8_t type, size_t len, const struct load_player *p)
{
	memset(frame, 0, ROOMS_HEAD + len);
	rooms_head(frame, type, len);
	rooms_put(frame + ROOMS_HEAD + 4, p->user_id, 4);
	rooms_put(frame + ROOMS_HEAD + 8, p->token, 4);
}

static void open_stream(struct stream *s, const struct load_player pair[2], int target_fd)
{
	uint8_t  frame[FRAME_BYTES];
	uint32_t id;

	s->from = wire_connect(rooms_opt.port);
	begin_leg(frame, ROOMS_T_CONNECT, 18, &pair[0]);
	rooms_put(frame + ROOMS_HEAD + 12, pair[1].user_id, 4);
	wire_send(s->from, frame, ROOMS_HEAD + 18);
	load_await(target_fd, ROOMS_T_OFFER, frame, sizeof(frame));
	id    = rooms_u32(frame);
	s->to = wire_connect(rooms_opt.port);
	begin_leg(frame, ROOMS_T_ACCEPT, 16, &pair[1]);
	rooms_put(frame + ROOMS_HEAD + 12, id, 4);
	wire_send(s->to, frame, ROOMS_HEAD + 16);
	load_await(s->to, ROOMS_T_READY, frame, sizeof(frame));
	load_await(s->from, ROOMS_T_READY, frame, sizeof(frame));
}

static void open_direct(struct stream *s)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t          len  = sizeof(addr);
	int                fd   = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	s->from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) || connect(s->from, (struct sockaddr *)&addr, len))
		err(1, "a pair of sockets");
	s->to = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	close(fd);
}

void streams_begin(void)
{
	struct load_player pair[ROOMS_GROUP] = { 0 };
	int                fds[2]            = { -1, -1 };

	streams = calloc(rooms_opt.peers, sizeof(*streams));
	if (!streams)
		err(1, "%u streams", rooms_opt.peers);
	for (uint32_t i = 0; i < 2 && !rooms_opt.direct; i++) {
		fds[i] = load_enter(&pair[i], i);
		load_enter_room(pair, i, fds[i]);
	}
	for (uint32_t i = 0; i < rooms_opt.peers; i++) {
		if (rooms_opt.direct)
			open_direct(&streams[i]);
		else
			open_stream(&streams[i], pair, fds[1]);
	}
}

/* What goes in without waiting goes in, what is there comes out; a megabyte counts as one. */
static void pump(const struct stream *s)
{
	ssize_t n = send(s->from, chunk, sizeof(chunk), MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN)
		err(1, "a stream");
	n = recv(s->to, chunk, sizeof(chunk), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN))
		errx(1, "a stream ends");
	if (n > 0) {
		load_run.sent++;
		load_done(usage_now_ns(), (double)n / 1e6);
	}
}

void streams_run(int64_t until_ns)
{
	while (usage_now_ns() < until_ns) {
		for (uint32_t i = 0; i < rooms_opt.peers; i++)
			pump(&streams[i]);
	}
}

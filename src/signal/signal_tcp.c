/*
 * The relay over TCP and TLS: bytes in are cut into lines; bytes out are fetched from the peer's queue.
 */
#include "net/tcp.h"

#include "signal/signal_peer.h"

#define SNDBUF_BYTES 32768 /* who does not read waits in his queue, and not in the kernel */

/* About 75 s until a dead peer is noticed. */
#define KEEPALIVE_IDLE_S     30
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES     9

static void challenge_tcp(struct signal_peer *p)
{
	p->challenge[SIGNAL_CHALLENGE_BYTES] = '\n';
	p->challenge_left                    = sizeof(p->challenge);
	tcp_wake(p->tcp);
}

static void wake_tcp(struct signal_peer *p)
{
	tcp_wake(p->tcp);
}

static void flush_tcp(struct signal_peer *p)
{
	tcp_flush(p->tcp);
}

static void close_tcp(struct signal_peer *p)
{
	tcp_close(p->tcp);
}

static void reset_tcp(struct signal_peer *p)
{
	tcp_reset(p->tcp);
}

#define LANE(text, word)                                                                                      \
	{                                                                                                     \
		.name = text, .kind = word, .challenge = challenge_tcp, .wake = wake_tcp, .flush = flush_tcp, \
		.close = close_tcp, .reset = reset_tcp                                                        \
	}

static const struct signal_lane plain = LANE("plain", "tcp"), tls = LANE("tls", "tls");

static bool is_too_often(struct signal_relay *r, const struct tcp_conn *c, int64_t now_ms)
{
	const struct signal_lane *lane = tcp_conn_is_tls(c) ? &tls : &plain;
	struct signal_about       who  = { .id = tcp_conn_id(c), .listener = lane->name, .addr = tcp_conn_peer(c) };

	if (signal_rate_take(r->rate, tcp_conn_is_exempt(c) ? NULL : who.addr, tcp_conn_is_tls(c), now_ms))
		return false;
	signal_log_closed(&r->log, &who, SIGNAL_WHY_RATE, NULL, 0);
	return true;
}

static void *on_accepted(void *part, struct tcp_conn *c, int64_t now_ms)
{
	if (is_too_often(part, c, now_ms))
		return NULL;

	struct signal_peer *p = signal_peer_enter(part, tcp_conn_is_tls(c) ? &tls : &plain, tcp_conn_id(c),
	                                          tcp_conn_peer(c), tcp_conn_is_exempt(c), now_ms);

	if (p)
		p->tcp = c;
	return p;
}

static void on_bytes(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct signal_peer *p  = data;
	const uint8_t      *at = bytes, *line;
	size_t              line_len;

	/* The limit is another one from one line to the next. */
	while (p->state.phase != SIGNAL_CLOSED) {
		switch (signal_reader_next(&p->reader, &at, bytes + len, signal_line_max(&p->state), &line,
		                           &line_len)) {
		case SIGNAL_READ_LINE:
			signal_peer_on_line(p, line, line_len, now_ms);
			break;
		case SIGNAL_READ_MORE:
			return;
		case SIGNAL_READ_TOO_LONG:
			signal_peer_on_bad_line(p, SIGNAL_WHY_LONG);
			break;
		case SIGNAL_READ_NOMEM:
			signal_peer_on_bad_line(p, SIGNAL_WHY_MEMORY);
			break;
		}
	}
}

static size_t fetch(void *data, struct iovec *pieces, size_t count)
{
	struct signal_peer *p = data;

	if (p->challenge_left > 0) {
		pieces[0].iov_base = p->challenge + sizeof(p->challenge) - p->challenge_left;
		pieces[0].iov_len  = p->challenge_left;
		return 1;
	}
	return signal_queue_pieces(&p->state.queue, pieces, count);
}

static void on_sent(void *data, size_t bytes, int64_t now_ms)
{
	struct signal_peer *p = data;

	(void)now_ms;
	if (p->challenge_left > 0)
		p->challenge_left -= bytes;
	else
		signal_sent(&p->relay->state, &p->state, bytes);
}

static void on_closed(void *data, enum tcp_end why, int64_t now_ms)
{
	static const enum signal_end ends[] = {
		[TCP_END_PEER] = SIGNAL_END_PEER,           [TCP_END_OURS] = SIGNAL_END_SERVER,
		[TCP_END_HANDSHAKE] = SIGNAL_END_HANDSHAKE, [TCP_END_STALLED] = SIGNAL_END_STALLED,
		[TCP_END_BANNED] = SIGNAL_END_BANNED,       [TCP_END_STOPPED] = SIGNAL_END_SERVER,
	};

	signal_peer_on_closed(data, ends[why], now_ms);
}

void signal_tcp_init(struct signal_relay *r)
{
	r->tcp_handler    = (struct tcp_handler){ .part     = r,
		                                  .accepted = on_accepted,
		                                  .bytes    = on_bytes,
		                                  .fetch    = fetch,
		                                  .sent     = on_sent,
		                                  .closed   = on_closed };
	r->tcp_plain      = (struct tcp_listen){ .handler              = &r->tcp_handler,
		                                 .banned               = M_BAN_REFUSED_SIGNAL,
		                                 .sndbuf_bytes         = SNDBUF_BYTES,
		                                 .keepalive_idle_s     = KEEPALIVE_IDLE_S,
		                                 .keepalive_interval_s = KEEPALIVE_INTERVAL_S,
		                                 .keepalive_probes     = KEEPALIVE_PROBES,
		                                 .stall_ms             = r->conf->limits.signal_stall_ms };
	r->tcp_tls        = r->tcp_plain;
	r->tcp_tls.is_tls = true;
}

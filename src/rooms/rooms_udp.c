/*
 * The rooms over UDP: where a player's game is seen from, and the datagrams of players who cannot reach each other.
 */
#include "rooms/rooms_inside.h"

#include "base/auto.h"
#include "base/metric.h"

static struct rooms_peer *peer_of(struct rooms_player *player)
{
	return CONTAINER(player, struct rooms_peer, player);
}

static void count_drop(enum rooms_udp_why why)
{
	static const enum metric metrics[] = {
		[ROOMS_UDP_SHAPE] = M_ROOMS_UDP_SHAPE,   [ROOMS_UDP_USER] = M_ROOMS_UDP_USER,
		[ROOMS_UDP_TOKEN] = M_ROOMS_UDP_TOKEN,   [ROOMS_UDP_SOURCE] = M_ROOMS_UDP_SOURCE,
		[ROOMS_UDP_OFF] = M_ROOMS_UDP_OFF,       [ROOMS_UDP_RATE] = M_ROOMS_UDP_RATE,
		[ROOMS_UDP_TARGET] = M_ROOMS_UDP_TARGET,
	};

	metric_inc(metrics[why]);
}

static void answer(struct rooms_peer *p, const struct udp_datagram *d, size_t len)
{
	p->path = d->path; /* relayed ones come from where he probed */
	metric_inc(M_ROOMS_PROBES);
	udp_send(&d->path, d->bytes, len);
}

static void forward(const struct rooms_peer *to, const uint8_t *bytes, size_t len)
{
	metric_inc(M_ROOMS_RELAYED);
	metric_add(M_ROOMS_RELAYED_BYTES, (int64_t)(len - ROOMS_RELAY_OUT_BYTES));
	udp_send(&to->path, bytes, len);
}

static void on_datagram(void *part, struct udp_datagram *d, int64_t now_ms)
{
	struct rooms         *r    = part;
	struct rooms_udp_step step = rooms_on_datagram(&r->state, d->path.ip, d->path.port, d->bytes, d->len, now_ms);

	switch (step.what) {
	case ROOMS_UDP_ANSWER:
		answer(peer_of(step.player), d, step.len);
		break;
	case ROOMS_UDP_FORWARD:
		forward(peer_of(step.player), step.at, step.len);
		break;
	case ROOMS_UDP_DROP:
		count_drop(step.why);
		break;
	}
	rooms_settle(r, now_ms);
}

void rooms_udp_init(struct rooms *r)
{
	r->udp_handler = (struct udp_handler){ .part = r, .got = on_datagram, .banned = M_BAN_REFUSED_ROOMS_UDP };
}

const struct udp_handler *rooms_udp_handler(const struct rooms *r)
{
	return &r->udp_handler;
}

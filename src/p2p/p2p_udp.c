/*
 * The sockets of the NAT check: what comes in is told apart by its first byte, and packets of ours by their session and tag.
 *
 * Each socket is bound to its address, not to the wildcard: an answer has to leave from where the question came to, and a check
 * sends from exactly the address that it names.
 */
#include "p2p/p2p_inside.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "crypt/hash.h"
#include "net/addr.h"
#include "net/inherit.h"
#include "net/listen.h"
#include "os/log.h"
#include "os/random.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STUN_LAST   0x03
#define FIRST_BYTE  0xC0
#define PLACE_BYTES 80
#define PORT_TRIES  16

/* One of the four, as its handler is told. */
static enum p2p_socket socket_of(const struct p2p_place *place)
{
	return (enum p2p_socket)(place - place->p2p->places);
}

/* Out */

static void send_packet(const struct udp_path *path, const struct p2p_session *s, const struct p2p_packet *k)
{
	uint8_t out[P2P_PACKET_BYTES];

	p2p_packet_build(out, k);
	hash_tag(out + P2P_TAGGED_BYTES, s->key, sizeof(s->key), out, P2P_TAGGED_BYTES);
	udp_send(path, out, sizeof(out));
}

void p2p_udp_send(struct p2p *p, enum p2p_socket from, const struct p2p_endpoint *to, const struct p2p_session *s,
                  const struct p2p_packet *k)
{
	struct udp_path path = { .socket = p->sockets[from], .port = to->port };

	memcpy(path.ip, to->ip, sizeof(path.ip));
	send_packet(&path, s, k);
}

/* Written over the question, which is as long: it stays valid until it has left. */
void p2p_udp_answer(const struct udp_datagram *d, const struct p2p_session *s, const struct p2p_packet *hello,
                    uint32_t cookie)
{
	struct p2p_packet k = *hello;

	k.type    = P2P_HELLO_ACK;
	k.time    = cookie;
	k.address = (struct p2p_endpoint){ .is_set = true, .port = d->path.port };
	memcpy(k.address.ip, d->path.ip, sizeof(k.address.ip));
	p2p_packet_build(d->bytes, &k);
	hash_tag(d->bytes + P2P_TAGGED_BYTES, s->key, sizeof(s->key), d->bytes, P2P_TAGGED_BYTES);
	udp_send(&d->path, d->bytes, P2P_PACKET_BYTES);
}

/* In */

/*
 * A private source says that client and server are in one network, or that somebody pretends: it counts only when the control
 * connection is from such a network too.
 */
static bool may_come_from(const struct p2p_session *s, const struct p2p_endpoint *from)
{
	struct addr a = { .family = ADDR_IPV4 };

	memcpy(a.ip, from->ip, sizeof(from->ip));
	if (s->p2p->conf->p2p_allow_loopback || !p2p_is_inside(s->p2p, &a))
		return true;
	return p2p_is_inside(s->p2p, &s->addr);
}

/* A HELLO that was seen on its way could be sent again from elsewhere, and move the address. */
static bool is_newer(struct p2p_session *s, uint32_t time)
{
	if (s->has_time && (int32_t)(time - s->time) <= 0)
		return false;
	s->has_time = true;
	s->time     = time;
	return true;
}

static void offer(struct p2p_session *s, const struct udp_datagram *d, const struct p2p_packet *k,
                  const struct p2p_endpoint *from)
{
	if (!p2p_endpoint_is_same(&s->offered, from)) {
		s->offered = *from;
		s->cookie  = (uint32_t)random_u64();
	}
	p2p_udp_answer(d, s, k, s->cookie);
}

static void on_hello(struct p2p_session *s, enum p2p_socket at, const struct udp_datagram *d,
                     const struct p2p_packet *k, const struct p2p_endpoint *from, int64_t now_ms)
{
	if (!is_newer(s, k->time))
		metric_inc(M_P2P_UDP_TIME);
	else if (!may_come_from(s, from))
		metric_inc(M_P2P_UDP_SOURCE);
	else if (k->step > 0)
		p2p_nat_on_hello(s, at, d, k, from, now_ms);
	else if (at == P2P_AP)
		offer(s, d, k, from);
	else
		metric_inc(M_P2P_UDP_STEP);
}

static bool is_tagged(const struct p2p_session *s, const uint8_t *bytes, const struct p2p_packet *k)
{
	uint8_t tag[P2P_TAG_BYTES];

	hash_tag(tag, s->key, sizeof(s->key), bytes, P2P_TAGGED_BYTES);
	return equal_secret(tag, k->tag, sizeof(tag));
}

static bool is_of_b(enum p2p_socket at)
{
	return at == P2P_BP || at == P2P_BQ;
}

static void on_packet(struct p2p *p, enum p2p_socket at, const struct udp_datagram *d, const struct p2p_endpoint *from,
                      int64_t now_ms)
{
	struct p2p_packet   k;
	struct p2p_session *s;
	bool                was_seen;

	if (!p2p_packet_parse(&k, d->bytes, d->len, true)) {
		metric_inc(M_P2P_UDP_SHAPE);
		return;
	}
	s = map_get(&p->by_sid, k.sid);
	if (!s) {
		metric_inc(M_P2P_UDP_SESSION);
		return;
	}
	if (!is_tagged(s, d->bytes, &k)) {
		metric_inc(M_P2P_UDP_TAG);
		return;
	}
	/* What a check asks is what was so before this packet. */
	was_seen = p2p_was_seen(p, from, now_ms);
	if (is_of_b(at))
		p2p_note_seen(p, from, now_ms);
	s->from_was_seen = was_seen;
	if (k.type == P2P_HELLO)
		on_hello(s, at, d, &k, from, now_ms);
	else
		p2p_nat_on_packet(s, at, &k, from, now_ms);
}

static void on_datagram(void *part, struct udp_datagram *d, int64_t now_ms)
{
	struct p2p_place   *place = part;
	struct p2p         *p     = place->p2p;
	enum p2p_socket     at    = socket_of(place);
	struct p2p_endpoint from  = { .is_set = true, .port = d->path.port };

	memcpy(from.ip, d->path.ip, sizeof(from.ip));
	if (d->len > 0 && d->bytes[0] <= STUN_LAST)
		p2p_stun_on(p, at, d, now_ms);
	else if (d->len > 0 && d->bytes[0] == FIRST_BYTE)
		on_packet(p, at, d, &from, now_ms);
	else
		metric_inc(M_P2P_UDP_FOREIGN);
}

/* Listening */

static const struct {
	bool is_b, is_alt;
} rows[] = {
	[P2P_AP] = { false, false }, [P2P_AQ] = { false, true }, [P2P_BP] = { true, false }, [P2P_BQ] = { true, true }
};

static void close_from(int fds[P2P_SOCKETS], enum p2p_socket first)
{
	for (int i = (int)first; i < P2P_SOCKETS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

static void unbind_from(struct p2p *p, int fds[P2P_SOCKETS], enum p2p_socket first)
{
	close_from(fds, first);
	for (int i = (int)first; i < P2P_SOCKETS; i++)
		p->bound[i].is_set = false;
}

static const char *setting_of(bool is_alt)
{
	return is_alt ? "p2p.alt_port" : "p2p.port";
}

/* One that came with the start, or a new one. */
static enum err bind_one(int *fd, struct addr *bound, bool is_alt, const char *text, FILE *report)
{
	struct addr want;

	if (addr_parse(&want, text, strlen(text), true) == ERR_OK &&
	    inherit_inet(fd, bound, setting_of(is_alt), SOCK_DGRAM, &want, INHERIT_EXACT)) {
		listen_tune_udp(*fd);
		return ERR_OK;
	}
	return listen_udp(fd, bound, text, 0, report);
}

/* Both ports of one address. port 0 of A is chosen by the system, and B takes the same. */
static enum err bind_address(struct p2p *p, int fds[P2P_SOCKETS], bool is_b, FILE *report)
{
	const char *ip = is_b ? p->conf->p2p_listen2 : p->conf->p2p_listen1;

	for (int i = 0; i < P2P_SOCKETS; i++) {
		char        text[PLACE_BYTES];
		int64_t     port = rows[i].is_alt ? p->conf->p2p_alt_port : p->conf->p2p_port;
		struct addr bound;
		enum err    e;

		if (rows[i].is_b != is_b)
			continue;
		if (port == 0 && is_b)
			port = p->bound[rows[i].is_alt ? P2P_AQ : P2P_AP].port;
		text_format(text, sizeof(text), "%s:%lld", ip, (long long)port);
		e = bind_one(&fds[i], &bound, rows[i].is_alt, text, report);
		if (e != ERR_OK)
			return e;
		p->bound[i] = (struct p2p_endpoint){ .is_set = true, .port = bound.port };
		memcpy(p->bound[i].ip, bound.ip, sizeof(p->bound[i].ip));
	}
	return ERR_OK;
}

static void announce_as(struct p2p *p)
{
	for (int i = 0; i < P2P_SOCKETS; i++) {
		const char *ip = rows[i].is_b ? p->conf->p2p_public2 : p->conf->p2p_public1;
		struct addr a;

		p->announced[i] = p->bound[i];
		if (*ip && p->bound[i].is_set && addr_parse(&a, ip, strlen(ip), false) == ERR_OK)
			memcpy(p->announced[i].ip, a.ip, sizeof(p->announced[i].ip));
	}
}

/* A free port of A is not always free on B: then both are chosen anew. */
static enum err bind_both(struct p2p *p, int fds[P2P_SOCKETS], FILE *report)
{
	bool is_any = p->conf->p2p_port == 0 || p->conf->p2p_alt_port == 0;

	for (int tries = is_any ? PORT_TRIES : 1;; tries--) {
		enum err e = bind_address(p, fds, false, report);

		if (e == ERR_OK)
			e = bind_address(p, fds, true, report);
		if (e != ERR_HELD || tries == 1)
			return e;
		unbind_from(p, fds, P2P_AP);
	}
}

/* That the addresses differ, and are there when the second is required, conf has seen to. */
static enum err bind_all(struct p2p *p, int fds[P2P_SOCKETS], FILE *report)
{
	enum err e = *p->conf->p2p_listen2 ? bind_both(p, fds, report) : bind_address(p, fds, false, report);

	if (e == ERR_OK || !p->bound[P2P_AQ].is_set)
		return e;
	if (p->conf->p2p_second_required) {
		fputs("coopd: that was p2p.listen2, and p2p.second_required is set; give it another address.\n",
		      report);
		return e;
	}
	fputs("coopd: that was p2p.listen2; without it only part of the NAT check can be done.\n", report);
	unbind_from(p, fds, P2P_BP);
	return ERR_OK;
}

enum err p2p_try_listen(const struct conf *conf, FILE *report)
{
	struct p2p *p                = calloc(1, sizeof(*p));
	int         fds[P2P_SOCKETS] = { -1, -1, -1, -1 };
	enum err    e                = ERR_NOMEM;

	if (p) {
		p->conf = conf;
		e       = *conf->p2p_listen1 ? bind_all(p, fds, report) : ERR_OK;
	}
	for (int i = 0; i < P2P_SOCKETS && e == ERR_OK; i++) {
		if (fds[i] >= 0)
			inherit_put_back(setting_of(rows[i].is_alt), fds[i]);
	}
	free(p);
	return e;
}

enum err p2p_listen(struct p2p *p, struct udp *udp, FILE *report)
{
	int      fds[P2P_SOCKETS] = { -1, -1, -1, -1 };
	enum err e;

	if (!*p->conf->p2p_listen1)
		return ERR_OK;
	e = bind_all(p, fds, report);
	for (int i = 0; i < P2P_SOCKETS && e == ERR_OK; i++) {
		struct udp_handler handler = { .part   = &p->places[i],
			                       .got    = on_datagram,
			                       .banned = M_BAN_REFUSED_P2P_UDP };
		struct addr        bound   = { .family = ADDR_IPV4, .port = p->bound[i].port };

		p->places[i].p2p = p;
		if (fds[i] < 0)
			continue;
		memcpy(bound.ip, p->bound[i].ip, sizeof(p->bound[i].ip));
		inherit_keep(setting_of(rows[i].is_alt), fds[i]);
		e      = udp_listen(&p->sockets[i], udp, fds[i], &bound, &handler);
		fds[i] = -1;
	}
	close_from(fds, P2P_AP);
	p->has_second = p->sockets[P2P_BP] && p->sockets[P2P_BQ];
	announce_as(p);
	return e;
}

/* On a cloud machine that is easily forgotten, and then nobody from outside gets an answer. */
static void warn_inside(const struct p2p *p)
{
	for (int i = 0; i < P2P_SOCKETS; i++) {
		struct addr a = { .family = ADDR_IPV4 };

		memcpy(a.ip, p->announced[i].ip, sizeof(p->announced[i].ip));
		if (!p->sockets[i] || rows[i].is_alt || !p->conf->server_production || !p2p_is_inside(p, &a))
			continue;
		log_warn("server", 0, "inside-address",
		         "part=p2p clients are told the address of p2p.listen%d, which only its own network reaches; "
		         "p2p.public%d can name another",
		         rows[i].is_b ? 2 : 1, rows[i].is_b ? 2 : 1);
	}
}

void p2p_announce(const struct p2p *p)
{
	char text[P2P_ADDRESS_TEXT_BYTES + 1];

	if (!p->conf->p2p_enable)
		return;
	for (int i = 0; i < P2P_SOCKETS; i++) {
		if (!p->sockets[i])
			continue;
		p2p_endpoint_text(text, &p->bound[i]);
		listen_announce(rows[i].is_alt ? "p2p-alt" : "p2p", text, " over=udp");
	}
	if (!p->sockets[P2P_AP])
		log_info("server", 0, "no-udp", "part=p2p p2p.listen1 is empty: no NAT check and no STUN");
	else if (!p->has_second)
		log_warn("server", 0, "one-address",
		         "part=p2p p2p.listen2 is missing: the NAT check can only be done in part");
	warn_inside(p);
}

/*
 * What the files of the live peer-to-peer part share, for them alone.
 *
 *	p2p_serve.c	the whole of it; sessions: opened, hello, pings, closed
 *	p2p_ask.c	requests: the table of ops, what they need, their members read
 *	p2p_say.c	answers and messages in JSON
 *	p2p_address.c	local addresses, mapped addresses as text
 *	p2p_udp.c	the sockets; packets with tags; who was seen
 *	p2p_stun.c	STUN with its rates
 *	p2p_nat.c	checks under way, results
 *	p2p_rooms.c	create, join, leave, rooms of games
 *	p2p_start.c	start, plans, links up and down
 *	p2p_links.c	groups, LINK, LINK_ACK and RELAY frames
 *	p2p_guard.c	what an address may use
 *	p2p_admin.c	what operators see and do
 */
#ifndef P2P_P2P_INSIDE_H
#define P2P_P2P_INSIDE_H

#include "account/rate.h"
#include "base/json.h"
#include "base/list.h"
#include "base/map.h"
#include "base/pool.h"
#include "p2p/p2p_group_state.h"
#include "p2p/p2p_link_state.h"
#include "p2p/p2p_nat_state.h"
#include "p2p/p2p_room_state.h"
#include "p2p/p2p_serve.h"

#define P2P_LOCALS_MAX       8
#define P2P_LOCALS_ASKED_MAX 32 /* in one list; those that may not be local are left out of it */

struct p2p_session {
	struct p2p        *p2p;
	struct ws_conn    *ws;
	uint64_t           id;
	struct addr        addr;     /* of the control connection */
	int64_t            since_ms; /* wall clock */
	bool               is_exempt, has_hello, is_leaving;
	bool               is_choked;  /* too much waits for it: its connection is closing */
	uint8_t            digest[32]; /* SHA-256 of the player key */
	uint8_t            sid[P2P_SID_BYTES], key[P2P_KEY_BYTES];
	size_t             local_count;
	char               locals[P2P_LOCALS_MAX][P2P_ADDRESS_TEXT_BYTES + 1];
	struct p2p_member  member; /* uid, mapped, relay_only, latency, nat are kept there */
	struct p2p_latency latency;
	uint8_t            ping[8];
	int64_t            pinged_ms, ponged_ms;
	struct timer       timer; /* for p2p.hello; then of the next ping */
	/* HELLO outside of a check: the address that waits for its cookie */
	struct p2p_endpoint offered;
	uint32_t            cookie;
	bool                has_time;
	uint32_t            time;
	bool                from_was_seen; /* of the packet that is being looked at */
	/* the check under way, and the stored result */
	struct p2p_check     *check; /* NULL: none */
	uint32_t              check_id;
	int64_t               check_req; /* id of the request that began it */
	bool                  check_stores;
	bool                  was_checked;
	int64_t               checked_ms; /* when the last one began */
	struct timer          check_timer;
	bool                  has_result;
	struct p2p_nat_result result;
	int64_t               result_s;     /* Unix time */
	struct rate           asked;        /* requests */
	struct rate           sent, pushed; /* bytes that it made the server send */
	struct list           in_sessions;
};

/* A socket, as its handler is told of it. */
struct p2p_place {
	struct p2p *p2p;
};

struct p2p {
	bool                 is_draining; /* no new room */
	struct loop         *loop;
	const struct conf   *conf;
	struct store        *store;
	struct ws_handler    ws_handler;
	struct p2p_rooms     rooms;
	struct p2p_guard    *guard;
	struct p2p_stun     *stun;
	struct p2p_seen     *seen;
	struct map           by_sid, by_player; /* by_player: the session of a player (its digest's first 16 bytes) */
	struct list          sessions;
	struct pool          session_pool;
	size_t               session_count, check_count;
	uint32_t             next_check;
	struct udp_socket   *sockets[P2P_SOCKETS]; /* NULL: not there */
	struct p2p_place     places[P2P_SOCKETS];
	struct p2p_endpoint  bound[P2P_SOCKETS], announced[P2P_SOCKETS];
	bool                 has_second;
	struct addr_nets     local_nets;
	p2p_game_asker       ask_game;
	void                *ask_game_arg;
	struct p2p_link_host link_host;
	struct timer         links_timer;
	bool                 is_stopping;
};

/* A request, while it is answered. */
struct p2p_request {
	const char        *op;
	int64_t            id;
	const struct json *json;
};

enum p2p_error {
	P2P_ERR_NONE,
#define P2P_ERROR(id, word, people) P2P_ERR_##id,
#include "p2p/p2p_error.def"
#undef P2P_ERROR
};

/*
 * p2p_say.c. An answer is begun, gets its members by json_put_..., and is told; NULL (no memory) must be looked for before
 * members are put. p2p_tell takes the message over.
 */
struct json *p2p_answer(const struct p2p_request *r);
struct json *p2p_refusal(const struct p2p_request *r, enum p2p_error e);
void         p2p_put_error(struct json *j, enum p2p_error e); /* its word, and a sentence */
struct json *p2p_message(const char *op);                     /* one that nobody asked for */
void         p2p_tell(struct p2p_session *s, struct json *message);
void         p2p_tell_room(const struct p2p_room *room, const struct p2p_session *but, struct json *message);
/* Answers that have nothing more to say. */
void p2p_done(struct p2p_session *s, const struct p2p_request *r);
void p2p_refuse(struct p2p_session *s, const struct p2p_request *r, enum p2p_error e);

/* p2p_serve.c. It leaves its room at once, and is closed. */
enum p2p_end {
	P2P_END_PEER,
	P2P_END_NO_HELLO,
	P2P_END_MESSAGE,
	P2P_END_SILENT,
	P2P_END_REPLACED,
	P2P_END_WAITING,
	P2P_END_OPERATOR,
	P2P_END_BANNED,
	P2P_END_SERVER
};
void p2p_session_end(struct p2p_session *s, enum p2p_end why);                    /* without a status */
void p2p_session_close(struct p2p_session *s, enum p2p_end why, uint16_t status); /* of WebSocket */

/* Handlers of requests, each a row of the table in p2p_ask.c. */
typedef void p2p_op(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms);
p2p_op       p2p_on_hello, p2p_on_local, p2p_on_mapped;                /* p2p_serve.c, p2p_address.c */
p2p_op       p2p_on_create, p2p_on_join, p2p_on_leave;                 /* p2p_rooms.c */
p2p_op       p2p_on_start, p2p_on_plan, p2p_on_link, p2p_on_ping_done; /* p2p_start.c */
p2p_op       p2p_on_nat_check, p2p_on_nat_update, p2p_on_nat_get, p2p_on_step_done, p2p_on_ping_try; /* p2p_nat.c */
p2p_op       p2p_on_links;                                                                           /* p2p_links.c */
void         p2p_ask(struct p2p_session *s, const uint8_t *text, size_t len, int64_t now_ms);

struct p2p_session *p2p_session_of(struct p2p_member *m);

/* p2p_address.c: "203.0.113.14:61314", and without the port */
enum err p2p_locals_init(struct p2p *p);
bool     p2p_is_inside(const struct p2p *p, const struct addr *a); /* private, or loopback */
void     p2p_endpoint_text(char out[P2P_ADDRESS_TEXT_BYTES + 1], const struct p2p_endpoint *e);
void     p2p_ip_text(char out[ADDR_TEXT_BYTES], const struct p2p_endpoint *e);
/* The member "local" of a request, if there is one, becomes its list. */
enum p2p_error p2p_take_locals(struct p2p_session *s, const struct p2p_request *r);

/* p2p_rooms.c: out of its room, with all that follows; and s, of the same player, comes to the seat of from, if that has one. */
void p2p_session_leave(struct p2p_session *s, int64_t now_ms);
void p2p_room_empty(struct p2p *p, struct p2p_room *room); /* everybody is told, and leaves; it is gone then */
void p2p_session_take_over(struct p2p_session *from, struct p2p_session *s, int64_t now_ms);
enum p2p_error p2p_own_room(const struct p2p_session *s,
                            const struct p2p_request *r); /* the one that it names, or none */

/* p2p_start.c */
void p2p_tell_if_settled(struct p2p_room *room);                /* everybody has said p2p.ping_try_done */
void p2p_mapped_changed(struct p2p_session *s, int64_t now_ms); /* the others of its room are told */

/* p2p_links.c */
void p2p_links_init(struct p2p *p);
void p2p_on_frame(struct p2p_session *s, uint8_t *bytes, size_t len, int64_t now_ms); /* changes the bytes */
void p2p_links_leave(struct p2p_session *s, int64_t now_ms);                          /* before it leaves the room */
void p2p_links_look(struct p2p_session *s, int64_t now_ms); /* it has said something of a link */
void p2p_tell_groups(struct p2p_room *room);

/* p2p_nat.c */
void p2p_nat_init(struct p2p_session *s);
void p2p_nat_keep(struct p2p *p, const struct p2p_nat_result *r); /* for statistics, if they are wanted */
void p2p_nat_gone(struct p2p_session *s); /* its connection ended, or a new hello came (then the request gets stale) */
void p2p_nat_stale(struct p2p_session *s);
void p2p_nat_on_hello(struct p2p_session *s, enum p2p_socket at, const struct udp_datagram *d,
                      const struct p2p_packet *k, const struct p2p_endpoint *from, int64_t now_ms);
/* PING_REPLY and OPEN. */
void p2p_nat_on_packet(struct p2p_session *s, enum p2p_socket at, const struct p2p_packet *k,
                       const struct p2p_endpoint *from, int64_t now_ms);

/* p2p_udp.c: a packet with its tag, from this socket. */
void p2p_udp_send(struct p2p *p, enum p2p_socket from, const struct p2p_endpoint *to, const struct p2p_session *s,
                  const struct p2p_packet *k);
void p2p_udp_answer(const struct udp_datagram *d, const struct p2p_session *s, const struct p2p_packet *hello,
                    uint32_t cookie);

/* p2p_seen.c: outside addresses that a check must not use again. */
struct p2p_seen *p2p_seen_new(const struct limits *limits, uint64_t seed);
void             p2p_seen_free(struct p2p_seen *s);
bool             p2p_was_seen(struct p2p *p, const struct p2p_endpoint *e, int64_t now_ms);
void             p2p_note_seen(struct p2p *p, const struct p2p_endpoint *e, int64_t now_ms);

/* p2p_stun.c: one datagram that begins like STUN. */
struct p2p_stun *p2p_stun_new(const struct conf *conf, uint64_t seed);
void             p2p_stun_free(struct p2p_stun *s);
void             p2p_stun_on(struct p2p *p, enum p2p_socket at, struct udp_datagram *d, int64_t now_ms);

/* p2p_guard.c */
struct p2p_guard;
struct p2p_guard *p2p_guard_new(const struct limits *limits, uint64_t seed);
void              p2p_guard_free(struct p2p_guard *g);
enum p2p_guard_says { P2P_GUARD_FINE, P2P_GUARD_TOTAL, P2P_GUARD_ADDRESS };
enum p2p_guard_says p2p_guard_enter(struct p2p_guard *g, const struct addr *a, bool is_exempt); /* a session */
void                p2p_guard_leave(struct p2p_guard *g, const struct addr *a, bool is_exempt);
bool                p2p_guard_knows(const struct p2p_guard *g, const struct addr *a); /* it has a session */
bool p2p_guard_check(struct p2p_guard *g, const struct addr *a, bool is_exempt);      /* a check, given back */
void p2p_guard_check_over(struct p2p_guard *g, const struct addr *a, bool is_exempt);
bool p2p_guard_room(struct p2p_guard *g, const struct addr *a, bool is_exempt);
void p2p_guard_room_gone(struct p2p_guard *g, const struct addr *a, bool is_exempt);
void p2p_guard_join_failed(struct p2p_guard *g, const struct addr *a, bool is_exempt, int64_t now_ms);
bool p2p_guard_may_join(struct p2p_guard *g, const struct addr *a, bool is_exempt, int64_t now_ms);
bool p2p_guard_join(struct p2p_guard *g, const struct addr *a, bool is_exempt,
                    int64_t now_ms); /* one more; seats run out */

#endif

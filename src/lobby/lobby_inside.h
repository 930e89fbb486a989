/*
 * Inside the lobby master: what its files share.
 *
 *	lobby_serve	the master itself, its routes and errors, sweeping
 *	lobby_settings	the settings that can change while it runs
 *	lobby_say	answers as JSON
 *	lobby_host	announces and challenges
 *	lobby_beat	heartbeats, leaves, visibility
 *	lobby_ask	the list, joins, and what else is asked
 *	lobby_thanks	the file of thanks
 *	lobby_ban	what bans do to those that are there
 *
 * A POST comes to its handler with its body read and its place in the window of its address taken. A handler fills in
 * the refusals that the document knows by lobby_refuse; an error that it returns becomes one through lobby_errors.
 */
#ifndef LOBBY_LOBBY_INSIDE_H
#define LOBBY_LOBBY_INSIDE_H

#include "base/json.h"
#include "lobby/lobby_guard.h"
#include "lobby/lobby_keep.h"
#include "lobby/lobby_list.h"
#include "lobby/lobby_proof.h"
#include "lobby/lobby_serve.h"
#include "lobby/lobby_state.h"
#include "lobby/lobby_turn.h"
#include "lobby/lobby_wire.h"
#include "os/log_lines.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* --- lobby_settings.c --- */

/* What is used where the operator set no secret: outside production, and kept with the database. In production "". */
struct lobby_secrets {
	char turn[STORE_SECRET_TEXT_BYTES], signal[STORE_SECRET_TEXT_BYTES];
};

/* Never changed once made. */
struct lobby_settings {
	atomic_uint users;
	unsigned    secret;      /* generation of turn_secret: 1, and one more with each that is another one */
	bool        is_old_good; /* the TURN server still takes the one before */
	char       *turn_secret, *turn_secret_before;
	char       *turn_uri, *stun_uri, *signal_url, *signal_token;
	char       *latest_mod, *latest_url;
	int64_t     latest_proto, host_ttl_s;
};

/* Those of conf; before: what they were, or NULL. NULL when out of memory. */
struct lobby_settings *lobby_settings_new(const struct conf *conf, const struct lobby_secrets *made,
                                          const struct lobby_settings *before);
struct lobby_settings *lobby_settings_use(struct lobby_master *m); /* as they are now; for lobby_settings_drop */
void                   lobby_settings_drop(struct lobby_settings *s);
void                   lobby_settings_dropp(struct lobby_settings **s);

bool        lobby_has_turn(const struct lobby_settings *s);
const char *lobby_secret_of(const struct lobby_settings *s, unsigned generation);

/* --- lobby_thanks.c --- */

struct lobby_thanks {
	pthread_mutex_t     lock;
	pthread_cond_t      known;
	const char         *path;
	int64_t             every_ms, next_ms;
	bool                is_reading, is_known; /* it was looked at once */
	bool                is_missing;
	struct http_shared *body; /* of the last good read; NULL: none */
};

/* path must outlive it; "": there is no file. */
void lobby_thanks_init(struct lobby_thanks *t, const char *path, int64_t every_ms);
void lobby_thanks_fini(struct lobby_thanks *t);

/* --- The master --- */

struct lobby_master {
	struct loop       *loop;
	struct store      *store;
	const struct conf *conf;
	uint16_t           signal_port;

	pthread_mutex_t
		lock; /* of the two below; held for as long as it takes to look something up, never while waiting */
	struct lobby_state  state;
	struct lobby_guard *guard;

	struct lobby_keep  *keep;
	struct lobby_proof *proof;
	struct lobby_list  *list;
	struct lobby_thanks thanks;
	_Atomic int64_t     live;

	struct lobby_secrets   made;
	pthread_mutex_t        settings_lock; /* of the pointer */
	struct lobby_settings *settings;

	/* Loop thread. */
	struct timer     sweep;
	struct loop_work sweep_work;
	bool             is_sweeping;

	/* How often the log says that an address is over its limit, and that an announce is refused. */
	_Atomic int64_t  rate_told_ms, rate_untold;
	struct log_lines refused;
};

/* Around everything that is done with state and guard. */
void lobby_lock(struct lobby_master *m);
void lobby_unlock(struct lobby_master *m); /* what was counted is published */

/* One request on its way. */
struct lobby_ask {
	struct lobby_master *m;
	struct http_answer  *a;
	struct http_request *rq;
	const struct json   *body; /* NULL: it has none */
	int64_t              now_ms, wall_ms;
	uint8_t              addr[LOBBY_ADDR_BYTES], addr_wide[LOBBY_ADDR_BYTES];
	bool                 has_wide;
	bool                 is_exempt; /* of limits per address */
};

typedef enum err (*lobby_handler)(struct lobby_ask *q);

enum err lobby_on_host(struct lobby_ask *q);
void     lobby_tell_refused(struct lobby_master *m, int64_t now_ms); /* those of which the log said nothing yet */
enum err lobby_on_challenge(struct lobby_ask *q);
enum err lobby_on_heartbeat(struct lobby_ask *q);
enum err lobby_on_leave(struct lobby_ask *q);
enum err lobby_on_visibility(struct lobby_ask *q);
enum err lobby_on_join(struct lobby_ask *q);

enum err lobby_on_list(struct http_answer *a, struct http_request *rq, void *part);
enum err lobby_on_latest(struct http_answer *a, struct http_request *rq, void *part);
enum err lobby_on_thanks(struct http_answer *a, struct http_request *rq, void *part);

/* --- lobby_ban.c --- */

/* Whether the lobby's host is banned now, by its identity or where it was last. With the lock held. */
bool lobby_is_banned(const struct lobby *l);

/* It was taken out because of a ban: forgets and frees it. Without the lock. NULL is fine. */
void lobby_bury_banned(struct lobby_master *m, struct lobby *l);

/* --- lobby_say.c --- */

#define LOBBY_HOST_BYTES     256
#define LOBBY_ID_TEXT_BYTES  (2 * LOBBY_ID_BYTES + 1)
#define LOBBY_LOG_TEXT_BYTES 128

enum err lobby_say_ok(struct http_answer *a); /* {"ok":true} */
enum err lobby_refuse(struct http_answer *a, int status, const char *text);

void lobby_put_hex(struct json *j, const char *key, const void *bytes, size_t len);
void lobby_put_identity(struct json *j, const uint8_t key[LOBBY_KEY_BYTES]);

/*
 * How to reach a brokered host: signalingUrl, signalingToken, stun and turn. user: of the TURN credential, minted with the
 * secret of now; not looked at when no TURN server is set.
 */
void lobby_put_ways(struct json *j, const struct lobby_ask *q, const struct lobby_settings *s, const char *user,
                    int64_t ttl_s);

/* For this client, from now on; *until_ms: wall time of its end. */
void lobby_mint(char user[LOBBY_TURN_USER_BYTES], int64_t *until_ms, const struct lobby_ask *q, int64_t ttl_s);

/*
 * What clients call this server: server.public_host, or else what the request's Host says if that can be a name, or else
 * "". Lower case, without port and without brackets.
 */
void lobby_server_name(char out[LOBBY_HOST_BYTES], const struct lobby_ask *q);

/* For a line of log. */
void lobby_log_id(char out[LOBBY_ID_TEXT_BYTES], const uint8_t id[LOBBY_ID_BYTES]);
void lobby_log_text(char out[LOBBY_LOG_TEXT_BYTES], const char *text);

/* For operators who watch: it is gone, and why in a word. */
void lobby_event_gone(const uint8_t id[LOBBY_ID_BYTES], const char *reason);

#endif

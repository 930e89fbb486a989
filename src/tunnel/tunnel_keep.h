/*
 * What the tunnel keeps: turns players, games and friends into jobs of the store, and brings the answers back to the
 * loop.
 *
 * Everything here is for the loop thread. An answer never comes from inside the call that asked.
 */
#ifndef TUNNEL_TUNNEL_KEEP_H
#define TUNNEL_TUNNEL_KEEP_H

#include "net/loop.h"
#include "store/store.h"
#include "tunnel/tunnel_state.h"

struct tunnel_keep;

/* The player that tunnel_keep_player was called with. */
struct tunnel_kept_player {
	const uint8_t *id;
	const uint8_t *addr;
	int64_t        asked_ms; /* monotonic */
};

struct tunnel_keep_answers {
	void (*player)(void *arg, const struct tunnel_kept_player *p, enum err result);
	void (*friend)(void *arg, uint32_t code, int64_t made_ms, uint16_t number);
	/* what tunnel_keep_new_code was called with */
	void (*new_code)(void *arg, void *asker, const uint8_t *digest, uint32_t to, enum err result);
	/* digests of players whose code expired, CODE_DIGEST_BYTES each. */
	void (*removed)(void *arg, const uint8_t *digests, size_t count);
	void *arg;
};

struct tunnel_keep *tunnel_keep_new(struct store *store, struct loop *loop, const struct limits *limits,
                                    const struct tunnel_keep_answers *answers);

/* After the store has stopped and the loop has run what was posted. */
void tunnel_keep_free(struct tunnel_keep *k);

/*
 * Durable; answered by player and friend, also when the store refuses at once. ERR_NOMEM: nothing was asked, and no
 * answer comes. addr: hashed address of the asker; now_ms: monotonic.
 */
enum err tunnel_keep_player(struct tunnel_keep *k, const struct code_entry *e, const uint8_t addr[TUNNEL_ADDR_BYTES],
                            int64_t now_ms);
enum err tunnel_keep_friend(struct tunnel_keep *k, const struct tunnel_friend *f);

/* The player gets another code; durable, and answered like the two above. */
enum err tunnel_keep_new_code(struct tunnel_keep *k, const uint8_t digest[CODE_DIGEST_BYTES], uint32_t from,
                              uint32_t to, void *asker);

/* Lazy; what is refused is lost, which costs a restart in the middle of a game at most. */
void tunnel_keep_touch(struct tunnel_keep *k, const struct code_entry *e);
void tunnel_keep_game(struct tunnel_keep *k, const struct tunnel_game *g);
void tunnel_keep_forget_friend(struct tunnel_keep *k, uint32_t code, uint16_t number);
void tunnel_keep_forget_game(struct tunnel_keep *k, uint32_t code);

/* The sweep of old codes; answered by removed when any went. */
void tunnel_keep_sweep(struct tunnel_keep *k, int64_t mono_ms);

/*
 * Loads players, games and friends into the state, before the store starts; now_ms is monotonic. Rows that do not fit
 * together are logged and left out.
 */
enum err tunnel_keep_load(struct tunnel_state *s, struct store *store, int64_t now_ms);

#endif

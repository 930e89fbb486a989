/*
 * What the files of the vault share, for them alone: its connections, and how they have things done elsewhere.
 *
 *	vault_serve.c	connections: opened, closed, which message means what
 *	vault_ask.c	LIST and FORGET
 *	vault_put.c	one upload, from PUT to its answer
 *	vault_get.c	one download
 *
 * An upload, a download or a question outlives its connection while a job or a piece of work of it is under way: its
 * conn is NULL then, and it undoes what it did and frees itself when that has come back.
 */
#ifndef CLOUD_VAULT_CONN_H
#define CLOUD_VAULT_CONN_H

#include "base/list.h"
#include "base/metric.h"
#include "cloud/cloud_inside.h"
#include "cloud/vault_state.h"
#include "cloud/vault_wire.h"
#include "store/campaign.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vault_ask;
struct vault_put;
struct vault_get;

struct vault {
	struct cloud     *cloud;
	struct count     *per_address;
	size_t            conn_count;
	struct list       conns;
	struct list       waiting;   /* uploads that could not even ask for their end */
	size_t            under_way; /* errands */
	bool              is_over;   /* the loop has ended: nothing is tried again */
	struct ws_handler handler;
	struct job_port   port;
};

struct vault_conn {
	struct vault      *vault;
	struct ws_conn    *ws;
	struct list        in_conns;
	struct timer       timer;
	struct vault_state state;
	struct vault_ask  *ask; /* what is under way; each NULL when nothing is */
	struct vault_put  *put;
	struct vault_get  *get;
	bool               is_exempt, is_closing;
	bool     owes_gone; /* its upload was lost while another request was under way: to be said after its answer */
	uint64_t slow_from; /* bytes of the upload that had come when the time began over which it is measured */
	int64_t  slow_ms;   /* when that was; 0: no upload is measured */
	uint8_t  key[ADDR_KEY_BYTES]; /* of its address */
	uint8_t  addr[PLAYER_ADDR_BYTES];
	uint8_t  digest[PLAYER_DIGEST_BYTES]; /* its first PLAYER_ID_BYTES are the player's id */
};

/* vault_serve.c */

void vault_send(struct vault_conn *c, const struct vault_msg *msg);

/* The FAULT of this error; or the connection is closed, when it has none. */
void vault_send_err(struct vault_conn *c, enum err e);

/* The request under way is answered, with this message or error. */
void vault_answer(struct vault_conn *c, const struct vault_msg *msg);
void vault_answer_err(struct vault_conn *c, enum err e);

/* Its answer was sent already. */
void vault_answered(struct vault_conn *c);

/* Goes on when all that was sent has left: with the download, or else with the next message. */
void vault_go_on(struct vault_conn *c);

/* PUT may go on: PUT_GO, and the time of the upload begins. */
void vault_grant(struct vault_conn *c, uint32_t declared);

void vault_close(struct vault_conn *c, enum metric why);

/*
 * One thing at a time that somebody else does, and that comes back to the loop: a job of the store or a piece of work.
 * done always comes, later and from the loop, also when the store refused.
 */
struct errand {
	struct vault    *vault;
	struct job       job;
	struct loop_post post;
	struct loop_work work;
	void (*run_work)(struct errand *e);
	void (*done_work)(struct errand *e);
	void (*done_job)(struct errand *e, enum err result);
};

enum errand_kind { ERRAND_DURABLE, ERRAND_EAGER, ERRAND_LAZY };
void errand_job(struct errand *e, enum errand_kind kind, enum err (*run)(struct job *job, struct db *db),
                void (*done)(struct errand *e, enum err result));
void errand_work(struct errand *e, void (*run)(struct errand *e), void (*done)(struct errand *e));

/* vault_ask.c; the request is BUSY in all of these. */
void vault_list(struct vault_conn *c);
void vault_forget(struct vault_conn *c, const uint8_t campaign[VAULT_ID_BYTES]);
void vault_ask_leave(struct vault_conn *c); /* its connection ends; c->ask is NULL then */

/* Notes, when the store finds time, that the player loaded the campaign. */
void vault_note_loaded(struct vault_conn *c, const uint8_t campaign[VAULT_ID_BYTES]);

/* vault_put.c */
void vault_put_begin(struct vault_conn *c, const struct vault_msg *msg);
void vault_put_take(struct vault_conn *c, const uint8_t *bytes, size_t len);
void vault_put_end(struct vault_conn *c);
void vault_put_leave(struct vault_conn *c);        /* nobody waits for its answer any more; c->put is NULL then */
void vault_put_refuse(struct vault_conn *c);       /* its answer was sent; c->put is NULL then */
void vault_put_give_up(struct vault *v);           /* those in v->waiting */
bool vault_put_is_full(const struct vault_put *p); /* the connection is paused because of it */

bool    vault_put_is_of(const struct vault_put *p, const uint8_t campaign[VAULT_ID_BYTES]); /* once it was granted */
int64_t vault_put_reservation(const struct vault_put *p); /* of one that was granted */

/* vault_get.c */
bool vault_get_is_of(const struct vault_get *g, const uint8_t campaign[VAULT_ID_BYTES]);
void vault_get_begin(struct vault_conn *c, const struct vault_msg *msg);
void vault_get_on_drained(struct vault_conn *c);
void vault_get_leave(struct vault_conn *c);

#endif

/*
 * Connections of the vault. The header says how the work is divided.
 *
 * While a request is under way the connection is paused, and it stays so until the answer has left: a client that asks
 * much and reads nothing waits for itself.
 */
#include "cloud/vault_serve.h"

#include "account/count.h"
#include "base/auto.h"
#include "cloud/vault_conn.h"
#include "crypt/hash.h"
#include "os/log.h"
#include "os/random.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ECHO_QUEUE_BYTES 16384 /* so much may wait for a client that sends and does not read */

static_assert(ADDR_KEY_BYTES == KEYED_KEY_BYTES, "addresses are counted by their key");
static_assert(PLAYER_ADDR_BYTES == HASH_KEYED_BYTES, "one form of hashed address");
static_assert(PLAYER_DIGEST_BYTES == HASH_SHA256_BYTES, "one form of key digest");

static const struct limits *limits_of(const struct vault_conn *c)
{
	return &c->vault->cloud->conf->limits;
}

static int64_t now_of(const struct vault_conn *c)
{
	return loop_now_ms(c->vault->cloud->loop);
}

static uint64_t id_of(const struct vault_conn *c)
{
	return ws_conn_id(c->ws);
}

/* Errands */

static void on_job_back(struct loop_post *p)
{
	struct errand *e = CONTAINER(p, struct errand, post);

	e->vault->under_way--;
	e->done_job(e, e->job.result);
}

/* Store thread. */
static void deliver(struct job *first, void *arg)
{
	struct vault *v = arg;

	for (struct job *next, *j = first; j; j = next) {
		next = j->next; /* j is the loop's from here on */
		loop_post(v->cloud->loop, &CONTAINER(j, struct errand, job)->post);
	}
}

/* Never called: deliver does all. The store wants one. */
static void done_nothing(struct job *job, enum err result)
{
	(void)job;
	(void)result;
}

void errand_job(struct errand *e, enum errand_kind kind, enum err (*run)(struct job *job, struct db *db),
                void (*done)(struct errand *e, enum err result))
{
	struct vault *v = e->vault;

	e->post.run = on_job_back;
	e->done_job = done;
	e->job      = (struct job){ .port    = &v->port,
		                    .surface = SURFACE_CLOUD,
		                    .lazy    = kind == ERRAND_LAZY,
		                    .eager   = kind == ERRAND_EAGER,
		                    .run     = run,
		                    .done    = done_nothing };
	v->under_way++;

	enum err refused = store_submit(v->cloud->store, &e->job);

	/* The store's own otherwise: it may have come back already, so its result is not to be touched. */
	if (refused == ERR_OK)
		return;
	e->job.result = refused;
	loop_post(v->cloud->loop, &e->post);
}

static void run_work(struct loop_work *w)
{
	struct errand *e = CONTAINER(w, struct errand, work);

	e->run_work(e);
}

static void on_work_back(struct loop_work *w)
{
	struct errand *e = CONTAINER(w, struct errand, work);

	e->vault->under_way--;
	e->done_work(e);
}

void errand_work(struct errand *e, void (*run)(struct errand *e), void (*done)(struct errand *e))
{
	e->run_work  = run;
	e->done_work = done;
	e->work      = (struct loop_work){ .run = run_work, .done = on_work_back };
	e->vault->under_way++;
	loop_work(e->vault->cloud->loop, &e->work);
}

/* Answers */

void vault_send(struct vault_conn *c, const struct vault_msg *msg)
{
	uint8_t   buf[VAULT_BUILT_BYTES];
	struct wr w = wr_over(buf, sizeof(buf));

	vault_build(&w, msg);
	assert(wr_ok(&w));
	ws_send(c->ws, buf, wr_len(&w));
}

void vault_close(struct vault_conn *c, enum metric why)
{
	if (c->is_closing)
		return;
	metric_inc(why);
	c->is_closing = true;
	timer_clear(&c->timer);
	ws_close(c->ws);
}

static void count_fault(uint8_t fault)
{
	static const struct {
		uint8_t     fault;
		enum metric metric;
	} faults[] = {
		{ 8, M_VAULT_FAULT_NOT_ALLOWED }, { 9, M_VAULT_FAULT_NO_ROOM },   { 10, M_VAULT_FAULT_NOT_FOUND },
		{ 11, M_VAULT_FAULT_TOO_OFTEN },  { 12, M_VAULT_FAULT_BAD_DATA },
	};

	for (size_t i = 0; i < COUNT_OF(faults); i++)
		if (faults[i].fault == fault)
			metric_inc(faults[i].metric);
}

/*
 * What clients know of faults is what they can do about them; whatever is not one of theirs passes, so they try again.
 * NO_ROOM (a new player of an address that had its share) is a matter of time, too: 1 means nothing here.
 */
static uint8_t fault_of(enum err e)
{
	int fault = err_tunnel(e);

	return (uint8_t)(fault >= 8 && fault <= 12 ? fault : err_tunnel(ERR_LIMIT));
}

void vault_send_err(struct vault_conn *c, enum err e)
{
	if (e == ERR_DAMAGED) {
		vault_close(c, M_VAULT_CLOSED_DAMAGED);
		return;
	}
	log_debug("vault", id_of(c), "refused", "error=%s fault=%u", err_name(e), fault_of(e));
	count_fault(fault_of(e));
	vault_send(c, &(struct vault_msg){ .op = VAULT_FAULT, .fault = fault_of(e) });
}

static void on_drained(void *data, int64_t now_ms)
{
	struct vault_conn *c = data;

	vault_on_progress(&c->state, now_ms);
	if (c->get)
		vault_get_on_drained(c);
	else if (!c->state.busy && !(c->put && vault_put_is_full(c->put)))
		ws_resume(c->ws);
}

void vault_go_on(struct vault_conn *c)
{
	if (!c->is_closing)
		ws_when_drained(c->ws, on_drained);
}

void vault_answered(struct vault_conn *c)
{
	vault_on_answered(&c->state, now_of(c));
	if (c->owes_gone && !c->is_closing)
		vault_send_err(c, ERR_GONE);
	c->owes_gone = false;
	vault_go_on(c);
}

void vault_answer(struct vault_conn *c, const struct vault_msg *msg)
{
	vault_send(c, msg);
	vault_answered(c);
}

void vault_answer_err(struct vault_conn *c, enum err e)
{
	vault_send_err(c, e);
	vault_answered(c);
}

/* Messages */

static void on_echo(struct vault_conn *c, const uint8_t *bytes, size_t len)
{
	/* Among the answers, in their order, and never dropped. */
	ws_send(c->ws, bytes, len < VAULT_ECHO_BYTES ? len : VAULT_ECHO_BYTES);
	if (ws_conn_queued(c->ws) < ECHO_QUEUE_BYTES)
		return;
	ws_pause(c->ws);
	vault_go_on(c);
}

static void on_failed(struct vault_conn *c)
{
	vault_put_refuse(c);
	vault_send_err(c, ERR_CONTENT);
}

static void do_message(struct vault_conn *c, const struct vault_msg *msg, enum vault_what what)
{
	switch (what) {
	case VAULT_DO_NOTHING:
		metric_inc(M_VAULT_IGNORED);
		break;
	case VAULT_DO_ECHO: /* done before */
		break;
	case VAULT_DO_LIST:
		vault_list(c);
		break;
	case VAULT_DO_GET:
		vault_get_begin(c, msg);
		break;
	case VAULT_DO_FORGET:
		vault_forget(c, msg->campaign);
		break;
	case VAULT_DO_BEGIN:
		vault_put_begin(c, msg);
		break;
	case VAULT_DO_TAKE:
		vault_put_take(c, msg->rest, msg->rest_len);
		break;
	case VAULT_DO_END:
		vault_put_end(c);
		break;
	case VAULT_DO_FAIL:
		on_failed(c);
		break;
	}
}

static void on_message(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct vault_conn *c = data;
	struct vault_msg   msg;

	if (vault_parse_client(&msg, bytes, len) != VAULT_PARSED) {
		metric_inc(M_VAULT_IGNORED);
		return;
	}

	enum vault_what what = vault_on_message(&c->state, &msg, now_ms);

	if (what == VAULT_DO_ECHO)
		on_echo(c, bytes, len);
	if (c->state.busy)
		ws_pause(c->ws);
	do_message(c, &msg, what);
}

/* Time */

/* Too slow an upload holds room that others could use. False: it is fast enough, or cannot be told yet. */
static bool is_slow(struct vault_conn *c, int64_t now_ms)
{
	const struct limits *l = limits_of(c);

	if (c->state.upload != VAULT_UPLOAD_OPEN) {
		c->slow_ms = 0;
		return false;
	}
	if (c->slow_ms != 0 && now_ms - c->slow_ms < l->http_transfer_rate_ms)
		return false;

	bool slow = c->slow_ms != 0 &&
	            (int64_t)(c->state.come - c->slow_from) < l->http_transfer_rate * (l->http_transfer_rate_ms / 1000);

	c->slow_ms   = now_ms;
	c->slow_from = c->state.come;
	return slow && !vault_put_is_full(c->put); /* not when he waits for our disk */
}

static int64_t next_look_ms(const struct vault_conn *c, int64_t now_ms)
{
	int64_t idle = vault_idle_at(&c->state);
	int64_t slow = now_ms + limits_of(c)->http_transfer_rate_ms;

	if (idle <= now_ms) /* it waits for us */
		return slow;
	return c->state.upload == VAULT_UPLOAD_OPEN && slow < idle ? slow : idle;
}

static void on_timer(struct timer *t, int64_t now_ms)
{
	struct vault_conn *c          = CONTAINER(t, struct vault_conn, timer);
	bool               waits_here = c->state.busy && !c->get;

	if (is_slow(c, now_ms) || (now_ms >= vault_idle_at(&c->state) && !waits_here))
		vault_close(c, M_VAULT_CLOSED_IDLE);
	else
		timer_set(c->vault->cloud->loop, t, next_look_ms(c, now_ms));
}

void vault_grant(struct vault_conn *c, uint32_t declared)
{
	vault_on_granted(&c->state, declared);
	c->slow_from = 0;
	c->slow_ms   = now_of(c);
	timer_set(c->vault->cloud->loop, &c->timer, next_look_ms(c, c->slow_ms));
	vault_answer(c, &(struct vault_msg){ .op = VAULT_PUT_GO });
}

/* Campaigns that are revoked */

/* As after too many bytes: the answer comes now, and what still comes of the upload, its END too, means nothing. */
static void cut_upload(struct vault_conn *c)
{
	if (!vault_on_lost(&c->state))
		return; /* its END has come: the store knows what to say */
	vault_put_refuse(c);
	c->owes_gone = c->state.busy;
	if (c->owes_gone || c->is_closing)
		return;
	vault_send_err(c, ERR_GONE);
	vault_go_on(c); /* it may have been paused until there was room */
}

static void cut_download(struct vault_conn *c)
{
	vault_get_leave(c);
	vault_close(c, M_VAULT_CLOSED_REVOKED);
}

static bool uploads(const struct vault_conn *c, const uint8_t *campaign, int64_t last_upload)
{
	return c->put && vault_put_is_of(c->put, campaign) && vault_put_reservation(c->put) <= last_upload;
}

struct live_count vault_count(const struct vault *v, const uint8_t campaign[VAULT_ID_BYTES])
{
	struct live_count out = { 0 };

	for (const struct list *at = v->conns.next; at != &v->conns; at = at->next) {
		const struct vault_conn *c = CONST_CONTAINER(at, struct vault_conn, in_conns);

		out.uploads += uploads(c, campaign, INT64_MAX);
		out.downloads += c->get && vault_get_is_of(c->get, campaign);
	}
	return out;
}

struct live_count vault_cut(struct vault *v, const uint8_t campaign[VAULT_ID_BYTES], int64_t last_upload)
{
	struct live_count out = { 0 };

	for (struct list *at = v->conns.next; at != &v->conns; at = at->next) {
		struct vault_conn *c = CONTAINER(at, struct vault_conn, in_conns);

		if (uploads(c, campaign, last_upload)) {
			out.uploads++;
			cut_upload(c);
		}
		if (c->get && vault_get_is_of(c->get, campaign)) {
			out.downloads++;
			cut_download(c);
		}
	}
	return out;
}

/* Connections */

static void leave(struct vault_conn *c)
{
	struct vault *v = c->vault;

	vault_ask_leave(c);
	vault_put_leave(c);
	vault_get_leave(c);
	timer_clear(&c->timer);
	list_remove(&c->in_conns);
	if (!c->is_exempt)
		count_give(v->per_address, c->key);
	v->conn_count--;
	metric_add(M_VAULT_CONNECTIONS, -1);
	free(c);
}

static void on_closed(void *data, int64_t now_ms)
{
	(void)now_ms;
	leave(data);
}

/* One that is refused has nothing to say and nothing to be told. */
static void ignore_message(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	(void)data;
	(void)bytes;
	(void)len;
	(void)now_ms;
}

static void ignore_closed(void *data, int64_t now_ms)
{
	(void)data;
	(void)now_ms;
}

static void refuse(struct ws_conn *ws, enum err e)
{
	static const struct ws_handler nobody   = { .message = ignore_message, .closed = ignore_closed };
	uint8_t                        fault[2] = { VAULT_FAULT, fault_of(e) };

	count_fault(fault[1]);
	log_debug("vault", ws_conn_id(ws), "refused", "error=%s", err_name(e));
	ws_hand_over(ws, &nobody, NULL);
	ws_send(ws, fault, sizeof(fault));
	ws_close(ws);
}

static void open_conn(struct vault_conn *c, int64_t now_ms)
{
	struct vault    *v   = c->vault;
	struct vault_msg msg = { .op = VAULT_OPENED };

	hash_keyed(c->addr, store_addr_key(v->cloud->store), c->key, sizeof(c->key));
	vault_init(&c->state, limits_of(c)->cloud_vault_idle_ms, now_ms);
	list_init(&c->in_conns);
	list_append(&v->conns, &c->in_conns);
	timer_init(&c->timer, on_timer);
	timer_set(v->cloud->loop, &c->timer, next_look_ms(c, now_ms));
	v->conn_count++;
	metric_inc(M_VAULT_CONNECTIONS);
	ws_hand_over(c->ws, &v->handler, c);
	log_debug("vault", id_of(c), "opens", "forwarded=%d", ws_conn_is_forwarded(c->ws));
	memcpy(msg.id, c->digest, sizeof(msg.id));
	vault_send(c, &msg);
}

void vault_open(struct vault *v, struct ws_conn *ws, const uint8_t *key, int64_t now_ms)
{
	size_t             most = (size_t)v->cloud->conf->limits.cloud_vaults;
	struct vault_conn *c    = v->conn_count < most ? calloc(1, sizeof(*c)) : NULL;

	if (!c) {
		refuse(ws, ERR_LIMIT);
		return;
	}
	hash_sha256(c->digest, key, VAULT_KEY_BYTES);
	if (ban_has_player(c->digest)) {
		metric_inc(M_BAN_REFUSED_VAULT);
		free(c);
		refuse(ws, ERR_BANNED);
		return;
	}
	c->vault     = v;
	c->ws        = ws;
	c->is_exempt = ws_conn_is_exempt(ws);
	addr_key(c->key, ws_conn_client(ws));
	if (!c->is_exempt && !count_take(v->per_address, c->key)) {
		free(c);
		refuse(ws, ERR_LIMIT);
		return;
	}
	open_conn(c, now_ms);
}

size_t vault_ban(struct vault *v, const struct ban *b, bool end)
{
	size_t count = 0;

	for (struct list *at = v->conns.next; at != &v->conns; at = at->next) {
		struct vault_conn *c = CONTAINER(at, struct vault_conn, in_conns);

		if (!ban_is_player(b, c->digest))
			continue;
		count += !c->is_closing;
		if (end)
			vault_close(c, M_VAULT_CLOSED_BANNED);
	}
	return count;
}

enum err vault_new(struct vault **out, struct cloud *cloud)
{
	const struct limits *l = &cloud->conf->limits;
	struct vault        *v = calloc(1, sizeof(*v));

	if (!v)
		return ERR_NOMEM;
	v->cloud       = cloud;
	v->handler     = (struct ws_handler){ .part = v, .message = on_message, .closed = on_closed };
	v->port        = (struct job_port){ .deliver = deliver, .arg = v };
	v->per_address = count_new(l->cloud_vaults_per_address, (size_t)l->ws_connections, random_u64());
	list_init(&v->conns);
	list_init(&v->waiting);
	if (!v->per_address) {
		free(v);
		return ERR_NOMEM;
	}
	*out = v;
	return ERR_OK;
}

static bool nothing_under_way(void *arg)
{
	const struct vault *v = arg;

	return v->under_way == 0;
}

void vault_finish(struct vault *v)
{
	v->is_over = true;
	while (!list_is_empty(&v->conns))
		leave(CONTAINER(v->conns.next, struct vault_conn, in_conns));
	vault_put_give_up(v);
	loop_drain_until(v->cloud->loop, nothing_under_way, v);
}

void vault_free(struct vault *v)
{
	if (!v)
		return;
	assert(v->under_way == 0 && list_is_empty(&v->conns));
	count_free(v->per_address);
	free(v);
}

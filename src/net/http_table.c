/*
 * The connections of an HTTP server.
 *
 * One mutex guards all. It is also what makes shutdown() on another thread's socket safe: the library closes a socket
 * only after http_table_leave, so that no number is shut down that already belongs to somebody else.
 */
#include "net/http_table.h"

#include "base/auto.h"
#include "base/metric.h"
#include "conf/conf_lock.h"
#include "os/clock.h"
#include "os/log.h"

#include <assert.h>
#include <linux/tcp.h> /* the C library's struct tcp_info ends too early */
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define LINGER_MS    2000
#define SWEEP_MS_MAX 250 /* how late a deadline may be noticed, and the longest real wait while there are connections */
#define SWEEP_MS_MIN 10

#define BIT(phase) (1u << (phase))

/* clang-format off */
static const unsigned allowed[HTTP_PHASE_COUNT] = {
	[HTTP_IDLE]      = BIT(HTTP_IDLE) | BIT(HTTP_READING) | BIT(HTTP_CUT),
	[HTTP_READING]   = BIT(HTTP_WORKING) | BIT(HTTP_ANSWERING) | BIT(HTTP_LINGERING) | BIT(HTTP_IDLE) |
	                   BIT(HTTP_CUT),
	[HTTP_WORKING]   = BIT(HTTP_ANSWERING) | BIT(HTTP_TRANSFER) | BIT(HTTP_IDLE) | BIT(HTTP_CUT),
	[HTTP_TRANSFER]  = BIT(HTTP_WORKING) | BIT(HTTP_IDLE) | BIT(HTTP_LINGERING) | BIT(HTTP_CUT),
	[HTTP_ANSWERING] = BIT(HTTP_IDLE) | BIT(HTTP_LINGERING) | BIT(HTTP_CUT),
	[HTTP_LINGERING] = BIT(HTTP_CUT),
};
/* clang-format on */

static bool is_running(enum http_phase p)
{
	return p == HTTP_WORKING || p == HTTP_TRANSFER || p == HTTP_ANSWERING;
}

/* Those whose slot another may have: nothing of a complete request would be lost. */
static bool may_be_pushed(enum http_phase p)
{
	return p == HTTP_IDLE || p == HTTP_READING || p == HTTP_LINGERING;
}

static int64_t patience_ms(const struct http_table *t, enum http_phase p)
{
	switch (p) {
	case HTTP_IDLE:
		return t->cfg.idle_ms;
	case HTTP_READING:
	case HTTP_ANSWERING:
		return t->cfg.request_ms;
	case HTTP_TRANSFER:
		return t->cfg.rate_ms;
	case HTTP_LINGERING:
		return LINGER_MS;
	default:
		return 0;
	}
}

/* Whose it is between two requests: the proxy's again. Without memory it stays the client's. */
static void forget_name(struct http_table *t, struct http_slot *s)
{
	if (s->is_named && http_share_change(&s->share, &t->shares, &s->peer) == ERR_OK)
		s->is_named = false;
}

static void set_phase(struct http_table *t, struct http_slot *s, enum http_phase to)
{
	int64_t ms = patience_ms(t, to), now = clock_mono_ms();

	assert(allowed[s->phase] & BIT(to));
	t->running -= is_running(s->phase);
	t->running += is_running(to);
	s->phase       = to;
	s->since_ms    = now;
	s->deadline_ms = ms ? now + ms : 0;
	if (to == HTTP_IDLE) {
		forget_name(t, s);
		s->client     = (struct addr){ .family = ADDR_NONE };
		s->has_player = false;
	}
}

static void give_slot(struct http_table *t, struct http_slot *s)
{
	set_phase(t, s, HTTP_CUT);
	if (s->share.narrow) {
		t->taken--;
		metric_add(M_HTTP_CONNECTIONS, -1);
	}
	http_share_leave(&s->share, &t->shares);
	if (t->stopping)
		pthread_cond_signal(&t->settled);
}

static void cut(struct http_table *t, struct http_slot *s)
{
	give_slot(t, s);
	shutdown(s->fd, SHUT_RDWR);
}

static struct http_slot *slot_of(struct list *in)
{
	return CONTAINER(in, struct http_slot, in);
}

/* Whether a should go rather than b, which is older. */
static bool goes_before(const struct http_slot *a, const struct http_slot *b)
{
	bool a_waits = a->phase != HTTP_READING, b_waits = b->phase != HTTP_READING;

	if (a_waits != b_waits)
		return a_waits;
	return a->share.narrow->count > b->share.narrow->count;
}

static void push(struct http_table *t, struct http_slot *s)
{
	log_debug("http", s->id, "pushed-out", "server=%s", t->cfg.name);
	cut(t, s);
}

/* The connection that matters least, of this bucket unless it is NULL. NULL when all have a complete request. */
static struct http_slot *find_incomplete(struct http_table *t, const struct http_bucket *of)
{
	struct http_slot *least = NULL;

	for (struct list *in = t->slots.next; in != &t->slots; in = in->next) {
		struct http_slot *s = slot_of(in);

		if (!may_be_pushed(s->phase) || (of && s->share.narrow != of && s->share.wide != of))
			continue;
		if (!least || goes_before(s, least))
			least = s;
	}
	return least;
}

static bool push_incomplete(struct http_table *t, const struct http_bucket *of)
{
	struct http_slot *least = find_incomplete(t, of);

	if (least)
		push(t, least);
	return least;
}

/*
 * How long an answer is left alone by a newcomer. Who has more than he gets as much less: otherwise those who end their
 * own answers just before their time, and come back at once, would leave none for him.
 */
static int64_t grace_ms(const struct http_table *t, const struct http_slot *s, const struct http_slot *newcomer)
{
	int64_t his = (int64_t)s->share.narrow->count, own = (int64_t)newcomer->share.narrow->count;

	return his > own ? t->cfg.push_ms * own / his : t->cfg.push_ms;
}

/* Cuts an answer that is not taken, in no hurry. False when there is none. */
static bool push_answer(struct http_table *t, const struct http_slot *newcomer)
{
	struct http_slot *least = NULL;
	int64_t           now   = clock_mono_ms();

	for (struct list *in = t->slots.next; in != &t->slots; in = in->next) {
		struct http_slot *s = slot_of(in);
		size_t            count, most;

		if (s->phase != HTTP_ANSWERING || now - s->since_ms < grace_ms(t, s, newcomer))
			continue;
		count = s->share.narrow->count;
		most  = least ? least->share.narrow->count : 0;
		if (!least || count > most || (count == most && s->since_ms < least->since_ms))
			least = s;
	}
	if (least)
		push(t, least);
	return least;
}

static bool is_limited(const struct http_table *t, const struct addr *a)
{
	bool is_unlimited;

	conf_hold();
	is_unlimited = addr_nets_contain(t->cfg.unlimited, a);
	conf_let_go();
	return t->cfg.per_address_max && !is_unlimited;
}

/*
 * Who has more than anybody who still says what he wants pushes out none of those: it would be the newcomer whom he keeps
 * out with answers that he does not read.
 */
static bool push_any(struct http_table *t, const struct http_slot *newcomer)
{
	struct http_slot *least = find_incomplete(t, NULL);

	if (least && (least->phase != HTTP_READING || least->share.narrow->count >= newcomer->share.narrow->count)) {
		push(t, least);
		return true;
	}
	return push_answer(t, newcomer);
}

/* Makes the newcomer, which is in its buckets but not in the list yet, fit into every limit. */
static bool fit(struct http_table *t, const struct http_slot *s)
{
	bool limited = is_limited(t, &s->peer);

	for (const struct http_bucket *full; limited && (full = http_share_over(&s->share, t->cfg.per_address_max));) {
		metric_inc(M_HTTP_REFUSED_ADDRESS);
		if (!push_incomplete(t, full))
			return false;
	}
	if (t->taken > t->cfg.slots_max) {
		metric_inc(M_HTTP_REFUSED_TOTAL);
		return push_any(t, s);
	}
	return true;
}

static bool take_slot(struct http_table *t, struct http_slot *s)
{
	if (http_share_join(&s->share, &t->shares, &s->peer) != ERR_OK)
		return false;
	t->taken++;
	metric_inc(M_HTTP_CONNECTIONS);
	return fit(t, s);
}

bool http_table_enter(struct http_table *t, struct http_slot *s, int fd, const struct addr *peer)
{
	static _Atomic uint64_t last_id;
	bool                    in;

	*s = (struct http_slot){
		.id    = atomic_fetch_add(&last_id, 1) + 1,
		.peer  = *peer,
		.fd    = fd,
		.phase = HTTP_IDLE,
	};
	pthread_mutex_lock(&t->lock);
	set_phase(t, s, HTTP_READING);
	in = !t->stopping && take_slot(t, s);
	if (!in)
		cut(t, s);
	if (t->asleep)
		pthread_cond_signal(&t->wake);
	list_append(&t->slots, &s->in);
	pthread_mutex_unlock(&t->lock);
	return in;
}

void http_table_leave(struct http_table *t, struct http_slot *s)
{
	pthread_mutex_lock(&t->lock);
	if (s->phase != HTTP_CUT)
		give_slot(t, s); /* the library closes the socket */
	list_remove(&s->in);
	pthread_mutex_unlock(&t->lock);
}

bool http_table_move(struct http_table *t, struct http_slot *s, enum http_phase to)
{
	bool alive;

	pthread_mutex_lock(&t->lock);
	alive = s->phase != HTTP_CUT;
	if (alive) {
		set_phase(t, s, to);
		if (t->stopping && may_be_pushed(to)) {
			cut(t, s);
			alive = false;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return alive;
}

void http_table_hear(struct http_table *t, struct http_slot *s)
{
	pthread_mutex_lock(&t->lock);
	if (s->phase == HTTP_IDLE)
		set_phase(t, s, HTTP_READING);
	pthread_mutex_unlock(&t->lock);
}

static bool is_same_client(const struct addr *a, const struct addr *b)
{
	uint8_t keys[2][ADDR_KEY_BYTES];

	addr_key(keys[0], a);
	addr_key(keys[1], b);
	return memcmp(keys[0], keys[1], ADDR_KEY_BYTES) == 0;
}

/* A peer that is its own client was counted, and limited, when it came. */
bool http_table_name(struct http_table *t, struct http_slot *s, const struct addr *client)
{
	bool fits = true;

	pthread_mutex_lock(&t->lock);
	s->client = *client;
	if (!is_same_client(&s->peer, client) && s->phase != HTTP_CUT &&
	    http_share_change(&s->share, &t->shares, client) == ERR_OK) {
		s->is_named = true;
		fits        = !is_limited(t, client) || !http_share_over(&s->share, t->cfg.per_address_max);
	}
	pthread_mutex_unlock(&t->lock);
	if (!fits)
		metric_inc(M_HTTP_REFUSED_ADDRESS);
	return fits;
}

/* --- Bans --- */

void http_table_set_player(struct http_table *t, struct http_slot *s, const uint8_t id[BAN_PLAYER_BYTES])
{
	pthread_mutex_lock(&t->lock);
	memcpy(s->player, id, sizeof(s->player));
	s->has_player = true;
	pthread_mutex_unlock(&t->lock);
}

static bool is_meant(const struct ban *b, const struct http_slot *s)
{
	return ban_is_address(b, &s->peer) || ban_is_address(b, &s->client) ||
	       (s->has_player && ban_is_player(b, s->player));
}

size_t http_table_ban(struct http_table *t, const struct ban *b, bool end)
{
	size_t count = 0;

	pthread_mutex_lock(&t->lock);
	for (struct list *in = t->slots.next; in != &t->slots; in = in->next) {
		struct http_slot *s = slot_of(in);

		if (s->phase == HTTP_CUT || !is_meant(b, s))
			continue;
		count++;
		if (!end)
			continue;
		metric_inc(M_HTTP_REFUSED_BANNED);
		log_debug("http", s->id, "banned", "server=%s", t->cfg.name);
		cut(t, s);
	}
	pthread_mutex_unlock(&t->lock);
	return count;
}

/* --- Transfers --- */

/*
 * Bytes the peer has. For what goes out, the kernel knows what the peer has acknowledged, where we only know what was
 * given to the library, a large block at a time; sockets that are not TCP have no such count.
 */
static uint64_t progress(const struct http_slot *s)
{
	struct tcp_info info;
	socklen_t       len = sizeof(info);

	if (s->is_outgoing && getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	    len >= offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof(info.tcpi_bytes_acked))
		return info.tcpi_bytes_acked;
	return s->moved;
}

static void begin_window(const struct http_table *t, struct http_slot *s, int64_t now)
{
	s->mark        = progress(s);
	s->deadline_ms = now + t->cfg.rate_ms;
}

bool http_table_begin_transfer(struct http_table *t, struct http_slot *s, bool is_outgoing)
{
	bool alive;

	pthread_mutex_lock(&t->lock);
	alive = s->phase != HTTP_CUT;
	if (alive) {
		set_phase(t, s, HTTP_TRANSFER);
		s->is_outgoing = is_outgoing;
		s->is_held     = false;
		s->moved       = 0;
		begin_window(t, s, clock_mono_ms());
	}
	pthread_mutex_unlock(&t->lock);
	return alive;
}

void http_table_hold(struct http_table *t, struct http_slot *s)
{
	pthread_mutex_lock(&t->lock);
	s->is_held = true;
	s->held_ms = clock_mono_ms();
	pthread_mutex_unlock(&t->lock);
}

void http_table_pass(struct http_table *t, struct http_slot *s, size_t bytes)
{
	pthread_mutex_lock(&t->lock);
	s->moved += bytes;
	s->is_held = false;
	if (s->phase == HTTP_TRANSFER)
		s->deadline_ms += clock_mono_ms() - s->held_ms;
	pthread_mutex_unlock(&t->lock);
}

bool http_table_is_slow(struct http_table *t, struct http_slot *s)
{
	bool slow;

	pthread_mutex_lock(&t->lock);
	slow = s->is_slow;
	pthread_mutex_unlock(&t->lock);
	return slow;
}

/* At the end of a window: another one, or the end of the transfer. */
static void judge_transfer(struct http_table *t, struct http_slot *s, int64_t now)
{
	uint64_t least = (uint64_t)(t->cfg.rate * t->cfg.rate_ms / 1000);

	if (s->is_held)
		return;
	if (progress(s) - s->mark >= least) {
		begin_window(t, s, now);
		return;
	}
	s->is_slow = true;
	metric_inc(M_HTTP_TRANSFERS_SLOW);
	log_debug("http", s->id, "slow", "server=%s", t->cfg.name);
	cut(t, s);
}

/* --- Deadlines --- */

static void judge(struct http_table *t, struct http_slot *s, int64_t now)
{
	if (s->phase == HTTP_TRANSFER) {
		judge_transfer(t, s, now);
		return;
	}
	if (s->phase == HTTP_READING || s->phase == HTTP_ANSWERING) {
		metric_inc(M_HTTP_REFUSED_LATE);
		log_debug("http", s->id, "late", "server=%s", t->cfg.name);
	}
	cut(t, s);
}

static void sweep(struct http_table *t)
{
	int64_t now = clock_mono_ms();

	for (struct list *in = t->slots.next; in != &t->slots; in = in->next) {
		struct http_slot *s = slot_of(in);

		if (s->deadline_ms != 0 && now >= s->deadline_ms)
			judge(t, s, now);
	}
}

void http_table_sweep(struct http_table *t)
{
	pthread_mutex_lock(&t->lock);
	sweep(t);
	pthread_mutex_unlock(&t->lock);
}

/* Waits for at most ms of real time, which no test moves. */
static void wait_real(struct http_table *t, pthread_cond_t *cond, int64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(cond, &t->lock, &until);
}

static int64_t sweep_period_ms(const struct http_table *t)
{
	int64_t shortest = t->cfg.request_ms < t->cfg.idle_ms ? t->cfg.request_ms : t->cfg.idle_ms;
	int64_t ms       = shortest / 20;

	return ms < SWEEP_MS_MIN ? SWEEP_MS_MIN : ms > SWEEP_MS_MAX ? SWEEP_MS_MAX : ms;
}

static void *sweep_thread(void *arg)
{
	struct http_table *t      = arg;
	int64_t            period = sweep_period_ms(t);

	pthread_mutex_lock(&t->lock);
	while (!t->ended) {
		t->asleep = list_is_empty(&t->slots);
		if (t->asleep)
			pthread_cond_wait(&t->wake, &t->lock);
		else
			wait_real(t, &t->wake, period);
		t->asleep = false;
		sweep(t);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static int64_t real_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void http_table_stop(struct http_table *t, int64_t wait_ms)
{
	int64_t until = real_ms() + wait_ms;

	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	for (struct list *in = t->slots.next; in != &t->slots; in = in->next) {
		if (may_be_pushed(slot_of(in)->phase))
			cut(t, slot_of(in));
	}
	for (int64_t left = wait_ms; t->running > 0 && left > 0; left = until - real_ms())
		wait_real(t, &t->settled, left);
	pthread_mutex_unlock(&t->lock);
}

static void free_parts(struct http_table *t)
{
	pthread_cond_destroy(&t->settled);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
	http_shares_fini(&t->shares);
}

enum err http_table_init(struct http_table *t, const struct http_table_config *cfg)
{
	pthread_condattr_t attr;

	*t = (struct http_table){ .cfg = *cfg };
	list_init(&t->slots);
	http_shares_init(&t->shares);
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attr);
	pthread_cond_init(&t->settled, &attr);
	pthread_condattr_destroy(&attr);

	if (pthread_create(&t->sweeper, NULL, sweep_thread, t) == 0)
		return ERR_OK;
	free_parts(t);
	return ERR_IO;
}

void http_table_fini(struct http_table *t)
{
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->sweeper, NULL);
	free_parts(t);
}

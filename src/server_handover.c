#include "server_handover.h"

#include "base/auto.h"
#include "net/inherit.h"
#include "os/file.h"
#include "os/log.h"
#include "os/service.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS     200 /* who was accepted last gets to say what he wants, and an operator his answer */
#define LOCK_LOOK_MS 5

enum phase { IDLE, STARTING, LEAVING, STOPPED };

struct handover {
	struct loop          *loop;
	const struct limits  *limits;
	struct handover_parts parts;
	struct loop_post      leaving;
	struct timer          grace;
	/* One that nobody waits for. */
	pthread_t        thread;
	bool             has_thread; /* loop thread */
	struct loop_post failed;
	/* Shared. */
	pthread_mutex_t  lock; /* of phase */
	enum phase       phase;
	atomic_bool      is_over;
	struct successor successor; /* whoever made it STARTING; the loop's once LEAVING */
};

/* --- Starting it --- */

static enum err enter(struct handover *h)
{
	enum err e = ERR_OK;

	pthread_mutex_lock(&h->lock);
	if (h->phase == STOPPED)
		e = ERR_DRAINING;
	else if (h->phase != IDLE)
		e = ERR_EXISTS;
	else
		h->phase = STARTING;
	pthread_mutex_unlock(&h->lock);
	return e;
}

/* False: the server stops since. */
static bool move(struct handover *h, enum phase from, enum phase to)
{
	bool moved;

	pthread_mutex_lock(&h->lock);
	moved = h->phase == from;
	if (moved)
		h->phase = to;
	pthread_mutex_unlock(&h->lock);
	return moved;
}

static enum phase phase_of(struct handover *h)
{
	enum phase phase;

	pthread_mutex_lock(&h->lock);
	phase = h->phase;
	pthread_mutex_unlock(&h->lock);
	return phase;
}

/* Each line of what it said is one of the log. */
static void log_refusal(const char *text)
{
	AUTO(auto_free) char *lines = strdup(text);
	char                 *rest  = lines;

	log_error("server", 0, "hands-over", "nothing changed; the new process cannot take over:");
	for (char *line = lines ? strtok_r(rest, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
		log_error("server", 0, "hands-over", "%s", line);
}

static enum err start(struct handover *h, char text[SUCCESSOR_TEXT_BYTES])
{
	struct inherit_kept  *kept = calloc(INHERIT_MAX, sizeof(*kept));
	struct service_socket sockets[SERVICE_SOCKETS_MAX];
	size_t                count = kept ? inherit_kept(kept) : 0;
	enum err              e;

	for (size_t i = 0; i < count; i++) {
		sockets[i].fd = kept[i].fd;
		memcpy(sockets[i].name, kept[i].name, sizeof(sockets[i].name));
	}
	free(kept);
	if (!kept)
		return ERR_NOMEM;
	e = successor_start(&h->successor, sockets, count, text);
	if (e != ERR_OK)
		return e == ERR_IO ? ERR_INVALID : e;
	e = successor_await(&h->successor, h->limits->handover_check_ms, &h->is_over, text);
	if (e != ERR_OK)
		successor_give_up(&h->successor);
	return e;
}

/* The container's engine would end all of it. */
static bool is_first_process(char text[SUCCESSOR_TEXT_BYTES])
{
	static const char why[] =
		"this server is the first process of its container, which ends with it; start a new container "
		"instead";

	if (getpid() != 1)
		return false;
	memcpy(text, why, sizeof(why));
	return true;
}

enum err handover_ask(pid_t *pid, char text[SUCCESSOR_TEXT_BYTES], struct handover *h, bool only_try)
{
	enum err e;

	text[0] = '\0';
	*pid    = 0;
	if (is_first_process(text))
		return ERR_INVALID;
	e = enter(h);
	if (e != ERR_OK)
		return e;
	e = start(h, text);
	if (e != ERR_OK || only_try) {
		if (e == ERR_OK)
			successor_give_up(&h->successor);
		else if (e == ERR_INVALID)
			log_refusal(text);
		move(h, STARTING, IDLE);
		return e;
	}
	*pid = h->successor.pid;
	if (!move(h, STARTING, LEAVING)) {
		successor_give_up(&h->successor);
		return ERR_DRAINING;
	}
	loop_post(h->loop, &h->leaving);
	return ERR_OK;
}

/* --- Leaving --- */

static void on_grace_over(struct timer *t, int64_t now_ms)
{
	struct handover *h = CONTAINER(t, struct handover, grace);

	(void)now_ms;
	h->parts.leave(h->parts.arg);
}

static void on_leaving(struct loop_post *p)
{
	struct handover *h = CONTAINER(p, struct handover, leaving);

	if (phase_of(h) != LEAVING) /* stopped since */
		return;
	if (!successor_is_alive(&h->successor)) {
		log_error("server", 0, "hands-over", "nothing changed; the new process stood by and is gone");
		successor_give_up(&h->successor);
		move(h, LEAVING, IDLE);
		h->parts.stay(h->parts.arg);
		return;
	}
	log_info("server", 0, "hands-over", "to=%ld", (long)h->successor.pid);
	h->parts.accept_end(h->parts.arg);
	timer_set(h->loop, &h->grace, loop_now_ms(h->loop) + GRACE_MS);
}

/* --- Without somebody who waits --- */

static void on_failed(struct loop_post *p)
{
	struct handover *h = CONTAINER(p, struct handover, failed);

	h->parts.stay(h->parts.arg);
}

static void *run(void *arg)
{
	struct handover *h = arg;
	char             text[SUCCESSOR_TEXT_BYTES];
	pid_t            pid;
	enum err         e = handover_ask(&pid, text, h, false);

	if (e != ERR_OK && e != ERR_EXISTS)
		loop_post(h->loop, &h->failed);
	return NULL;
}

void handover_begin(struct handover *h)
{
	if (phase_of(h) != IDLE) {
		log_warn("server", 0, "hands-over", "already; asked again, which changes nothing");
		return;
	}
	if (h->has_thread)
		pthread_join(h->thread, NULL); /* what it did is over */
	h->has_thread = pthread_create(&h->thread, NULL, run, h) == 0;
	if (!h->has_thread) {
		log_error("server", 0, "hands-over", "nothing changed; no thread could be started");
		h->parts.stay(h->parts.arg);
	}
}

/* --- The end --- */

void handover_cancel(struct handover *h)
{
	bool leaves;

	pthread_mutex_lock(&h->lock);
	leaves   = h->phase == LEAVING;
	h->phase = STOPPED;
	pthread_mutex_unlock(&h->lock);
	atomic_store(&h->is_over, true);
	timer_clear(&h->grace);
	if (leaves)
		successor_give_up(&h->successor);
}

void handover_end_asks(struct handover *h)
{
	atomic_store(&h->is_over, true);
	if (h->has_thread)
		pthread_join(h->thread, NULL); /* it posts to the loop */
	h->has_thread = false;
}

void handover_pass_on(struct handover *h)
{
	if (phase_of(h) != LEAVING)
		return;
	if (successor_is_alive(&h->successor))
		service_tell("MAINPID=%ld\nWATCHDOG=1", (long)h->successor.pid);
	else
		log_error("server", 0, "hands-over", "the new process is gone; this one starts anew in its place");
}

void handover_finish(struct handover *h)
{
	if (!h)
		return;
	if (phase_of(h) == LEAVING && !successor_is_alive(&h->successor))
		successor_become(&h->successor);
	successor_let_go(&h->successor);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

struct handover *handover_new(struct loop *loop, const struct limits *limits, const struct handover_parts *parts)
{
	struct handover *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->loop           = loop;
	h->limits         = limits;
	h->parts          = *parts;
	h->leaving.run    = on_leaving;
	h->failed.run     = on_failed;
	h->successor.pipe = -1;
	timer_init(&h->grace, on_grace_over);
	pthread_mutex_init(&h->lock, NULL);
	return h;
}

/* --- The new process --- */

static struct {
	char  *text;
	size_t len;
} report;

FILE *handover_report(void)
{
	FILE *f = successor_is_this() ? open_memstream(&report.text, &report.len) : NULL;

	return f ? f : stderr;
}

/* What was no mistake is a warning, and stands in our log as ever. */
void handover_answer(FILE *written, bool is_good)
{
	if (written == stderr)
		return;
	fclose(written);
	if (is_good)
		successor_stand_by();
	else
		successor_refuse(report.text && *report.text ? report.text : "its settings are not good");
	fputs(report.text ? report.text : "", stderr);
	free(TAKE(report.text));
}

static int64_t real_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool handover_wait(const struct conf *conf)
{
	int64_t  until = real_ms() + conf->limits.handover_wait_ms;
	int      fd;
	pid_t    holder;
	enum err e;

	if (!successor_is_this())
		return true;
	log_info("server", 0, "stands-by", "until the other process has released the data folder");
	while ((e = file_lock(&fd, conf->server_data, &holder)) == ERR_HELD && real_ms() < until)
		usleep(LOCK_LOOK_MS * 1000);
	if (e == ERR_OK)
		file_unlock(fd);
	if (e != ERR_HELD) /* whatever else is wrong, the store says it */
		return true;
	log_error("server", 0, "does-not-take-over", "process %ld did not release the data folder in time",
	          (long)holder);
	return false;
}

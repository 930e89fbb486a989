/*
 * A store and nothing else, as a program of its own, so that a test can put a bad disk under it, trace it and kill it.
 *
 *	store_probe FOLDER
 *
 * One command per line of standard input; each is answered by one line, written when the store has answered:
 *
 *	put N		adds player N in a durable job		put N OK
 *	lazy N		the same in a lazy one			lazy N OK
 *	both N M	two jobs submitted together		put N OK, put M OK
 *	blob N		stores "blob number N"			blob N OK
 *	health						health ok
 *	flood		adds players 0, 1, 2 ... without end	put 0 OK, put 1 OK, ...
 *	stop						stopped, and the program ends
 *
 * Results are the names of errors. When the store cannot be opened it says why on standard error and ends with 1.
 */
#include "base/auto.h"
#include "conf/limits.h"
#include "store/blob.h"
#include "store/player.h"
#include "store/store.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLOOD_AT_ONCE 50

struct put {
	struct job  job;
	const char *verb;
	uint32_t    n;

	struct blob_writer writer; /* of a blob */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  less = PTHREAD_COND_INITIALIZER;
static int             under_way;

/* In one piece and past stdio, so that a trace shows when it was said. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char    line[128];
	va_list args;

	va_start(args, format);
	int len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(STDOUT_FILENO, line, (size_t)len) != len)
		_exit(2);
}

static enum err run(struct job *job, struct db *db)
{
	static const uint8_t addr[PLAYER_ADDR_BYTES];
	struct put          *p   = CONTAINER(job, struct put, job);
	struct player_row    row = { .code = 100000 + p->n, .used_ms = 1 };

	memcpy(row.digest, &p->n, sizeof(p->n));
	return player_add(db, &row, addr);
}

static enum err run_blob(struct job *job, struct db *db)
{
	struct put *p = CONTAINER(job, struct put, job);

	return blob_take(db, &p->writer);
}

static enum err write_blob(struct blob_writer *w, struct store *s, uint32_t n)
{
	char text[64];

	snprintf(text, sizeof(text), "blob number %u", n);
	enum err e = blob_writer_open(w, s);
	if (e == ERR_OK)
		e = blob_writer_put(w, text, strlen(text));
	return e == ERR_OK ? blob_writer_finish(w) : e;
}

static void finish(struct put *p, enum err result)
{
	say("%s %u %s\n", p->verb, p->n, err_name(result));
	blob_writer_fini(&p->writer);
	free(p);
	pthread_mutex_lock(&lock);
	under_way--;
	pthread_cond_signal(&less);
	pthread_mutex_unlock(&lock);
}

static void done(struct job *job, enum err result)
{
	finish(CONTAINER(job, struct put, job), result);
}

/* Returns when no more than so many others are under way. */
static void await_less(int most)
{
	pthread_mutex_lock(&lock);
	while (under_way > most)
		pthread_cond_wait(&less, &lock);
	pthread_mutex_unlock(&lock);
}

static void put(struct store *s, const char *verb, uint32_t n, bool lazy)
{
	struct put *p       = calloc(1, sizeof(*p));
	bool        is_blob = strcmp(verb, "blob") == 0;
	enum err    e       = ERR_OK;

	if (!p)
		abort();
	p->job = (struct job){ .surface = SURFACE_TUNNEL, .lazy = lazy, .run = is_blob ? run_blob : run, .done = done };
	p->writer.fd = -1;
	p->verb      = verb;
	p->n         = n;
	pthread_mutex_lock(&lock);
	under_way++;
	pthread_mutex_unlock(&lock);

	if (is_blob)
		e = write_blob(&p->writer, s, n);
	if (e == ERR_OK)
		e = store_submit(s, &p->job);
	if (e != ERR_OK)
		finish(p, e);
}

static void obey(struct store *s, const char *line)
{
	unsigned n, m;

	if (sscanf(line, "put %u", &n) == 1) {
		put(s, "put", n, false);
	} else if (sscanf(line, "both %u %u", &n, &m) == 2) {
		/* The first is lazy and waits for the second: one batch, whatever the threads do. */
		put(s, "put", n, true);
		put(s, "put", m, false);
	} else if (sscanf(line, "blob %u", &n) == 1) {
		put(s, "blob", n, false);
	} else if (sscanf(line, "lazy %u", &n) == 1) {
		put(s, "lazy", n, true);
	} else if (strcmp(line, "health\n") == 0) {
		say("health %s\n", store_health_text(store_health(s)));
	} else if (strcmp(line, "flood\n") == 0) {
		for (uint32_t i = 0;; i++) {
			await_less(FLOOD_AT_ONCE);
			put(s, "put", i, false);
		}
	}
	await_less(0);
}

int main(int argc, char **argv)
{
	struct conf   conf = { 0 };
	struct store *s;
	char          line[128];

	if (argc != 2)
		return 2;
	limits_default(&conf.limits);
	conf.server_data = argv[1];
	if (store_open(&s, &conf, stderr) != ERR_OK || store_start(s) != ERR_OK)
		return 1;
	say("started\n");
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "stop\n") != 0)
		obey(s, line);
	store_stop(s);
	say("stopped\n");
	return 0;
}

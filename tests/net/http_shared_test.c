/*
 * Bodies that many answers share: sent whole to everybody, and freed when the last is done with them.
 */
#include "net/http.h"

#include "base/auto.h"
#include "support/dial.h"
#include "support/http_fixture.h"
#include "support/leaks.h"

#include <criterion/criterion.h>
#include <pthread.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRANGER   "127.0.0.2"
#define BODY_BYTES ((size_t)3 << 20)

static pthread_mutex_t     lock = PTHREAD_MUTEX_INITIALIZER;
static struct http_shared *now; /* what is served; under the lock */

static struct http_shared *make_body(char with, size_t len)
{
	char *bytes = malloc(len);

	cr_assert_not_null(bytes);
	memset(bytes, with, len);
	return http_shared_new(bytes, len);
}

static void serve(struct http_shared *s)
{
	pthread_mutex_lock(&lock);
	http_shared_drop(now);
	now = s;
	pthread_mutex_unlock(&lock);
}

static enum err on_get(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)part;
	pthread_mutex_lock(&lock);
	a->shared = http_shared_use(now);
	pthread_mutex_unlock(&lock);
	a->status = http_query(rq, "not") ? 304 : 200;
	a->type   = "text/plain";
	http_answer_field(a, "ETag", "\"x\"");
	return ERR_OK;
}

static const struct http_route routes[] = { { "GET", "/", on_get, NULL, NULL }, { 0 } };

static struct http_fixture f;

static void start(void)
{
	http_fixture_init(&f);
	http_fixture_start(&f, routes, NULL);
}

static void stop(void)
{
	http_fixture_stop(&f);
	serve(NULL);
}

TestSuite(http_shared, .init = start, .fini = stop, .timeout = 60);

static void expect_body(int fd, char with, size_t len)
{
	struct http_result r = http_hear(fd);

	cr_expect_eq(r.status, 200);
	cr_assert_eq(r.body_len, len);
	for (size_t i = 0; i<len; i += len> 1000 ? 997 : 1)
		cr_assert_eq(r.body[i], with);
	http_result_free(&r);
}

static void say_get(int fd, const char *target)
{
	char request[200];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target);
	cr_assert(http_say(fd, request));
}

Test(http_shared, a_body_goes_to_many_and_a_new_one_disturbs_no_answer_under_way)
{
	enum { CLIENTS = 8 };
	int fds[CLIENTS];

	serve(make_body('a', BODY_BYTES));
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = http_fixture_dial(&f, STRANGER);
		say_get(fds[i], "/");
	}
	/* The first bytes of each: all answers are under way, and none can be finished, nobody reads them. */
	for (int i = 0; i < CLIENTS; i++) {
		char byte;

		while (recv(fds[i], &byte, 1, MSG_PEEK) != 1)
			real_sleep_ms(1);
	}
	serve(make_body('b', 10));
	for (int i = 0; i < CLIENTS; i++) {
		expect_body(fds[i], 'a', BODY_BYTES);
		say_get(fds[i], "/");
		expect_body(fds[i], 'b', 10);
		close(fds[i]);
	}
	http_fixture_await_connections(0);
}

Test(http_shared, nothing_is_copied_and_nothing_stays)
{
	size_t before, during;
	int    fds[4];

	serve(make_body('a', BODY_BYTES));
	before = leaks_held_bytes();
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = http_fixture_dial(&f, STRANGER);
		say_get(fds[i], "/");
		char byte;
		while (recv(fds[i], &byte, 1, MSG_PEEK) != 1)
			real_sleep_ms(1);
	}
	during = leaks_held_bytes();
	cr_expect_lt(during - before, BODY_BYTES / 2);
	/* Those who hang up in the middle give it back too. */
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		dial_abort(fds[i]);
	http_fixture_await_connections(0);
	serve(NULL);
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; real_now_ms() < until; real_sleep_ms(1))
		if (leaks_held_bytes() < before - BODY_BYTES / 2)
			break;
	cr_expect_lt(leaks_held_bytes(), before - BODY_BYTES / 2, "it is freed");
}

Test(http_shared, head_and_304_have_the_fields_and_no_body)
{
	int                fd = http_fixture_dial(&f, STRANGER);
	struct http_result r;
	char               value[32];

	serve(make_body('a', 100));
	http_say(fd, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
	r = http_hear_head(fd);
	cr_expect_eq(r.status, 200);
	cr_expect_str_eq(http_result_header(&r, "Content-Length", value, sizeof(value)), "100");
	http_result_free(&r);
	say_get(fd, "/?not=1");
	r = http_hear_head(fd);
	cr_expect_eq(r.status, 304);
	cr_expect_str_eq(http_result_header(&r, "ETag", value, sizeof(value)), "\"x\"");
	http_result_free(&r);
	say_get(fd, "/");
	expect_body(fd, 'a', 100);
	close(fd);
}

enum { USERS = 8, TURNS = 20000 };

static void *use_and_drop(void *arg)
{
	for (int i = 0; i < TURNS; i++)
		http_shared_drop(http_shared_use(arg));
	return NULL;
}

Test(http_shared, users_on_many_threads_are_counted_right)
{
	struct http_shared *s = make_body('a', 1);
	pthread_t           threads[USERS];

	for (int i = 0; i < USERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, use_and_drop, s), 0);
	for (int i = 0; i < USERS; i++)
		pthread_join(threads[i], NULL);
	serve(s);
	int fd = http_fixture_dial(&f, STRANGER);
	say_get(fd, "/");
	expect_body(fd, 'a', 1);
	close(fd);
	http_shared_drop(NULL);
}

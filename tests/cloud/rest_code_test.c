/*
 * New codes: whoever gives them answers at once, late, from another thread, or not in time. An HTTP server of the test's
 * own, over a cloud that has nothing else.
 */
#include "base/auto.h"
#include "cloud/cloud_inside.h"
#include "crypt/hash.h"
#include "net/listen.h"
#include "support/http_fixture.h"
#include "support/rest_client.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result

static struct http_fixture f;
static struct cloud        cloud;
static struct server       pretended; /* for rest_ask, which looks at its port only */

/* Whom the cloud asked, and when the answer may be given. */
static struct {
	cloud_code_done done;
	void           *done_arg;
	uint8_t         digest[32];
} asked;

static void start(void)
{
	struct http_config cfg = { .name = "test", .routes = rest_routes, .part = &cloud, .connections_max = 8 };
	struct addr        bound;
	int                fd;

	http_fixture_init(&f);
	cr_assert_eq(crypt_init(), ERR_OK);
	cloud = (struct cloud){ .conf = &f.conf };
	cr_assert_eq(listen_tcp(&fd, &bound, "127.0.0.1:0", stderr), ERR_OK);
	cr_assert_eq(http_start(&f.server, &cfg, &f.conf, &(struct http_listen){ .fd = fd }, 1, NULL), ERR_OK);
	pretended.http_port = bound.port;
}

static void stop(void)
{
	http_fixture_stop(&f);
}

TestSuite(rest_code, .init = start, .fini = stop);

static struct http_result ask(void)
{
	return rest_ask(&pretended, "00112233445566778899aabbccddeeff", "POST", "/v1/me/code", "", NULL, 0);
}

static void note(void *arg, const uint8_t digest[32], cloud_code_done done, void *done_arg)
{
	(void)arg;
	asked.done     = done;
	asked.done_arg = done_arg;
	memcpy(asked.digest, digest, sizeof(asked.digest));
}

static void give_at_once(void *arg, const uint8_t digest[32], cloud_code_done done, void *done_arg)
{
	note(arg, digest, done, done_arg);
	done(done_arg, ERR_OK, 654321);
}

static void refuse_at_once(void *arg, const uint8_t digest[32], cloud_code_done done, void *done_arg)
{
	note(arg, digest, done, done_arg);
	done(done_arg, ERR_NO_ROOM, 0);
}

static void *give(void *arg)
{
	(void)arg;
	asked.done(asked.done_arg, ERR_OK, 123456);
	return NULL;
}

static void give_elsewhere(void *arg, const uint8_t digest[32], cloud_code_done done, void *done_arg)
{
	pthread_t thread;

	note(arg, digest, done, done_arg);
	cr_assert_eq(pthread_create(&thread, NULL, give, NULL), 0);
	pthread_detach(thread);
}

Test(rest_code, is_given_to_the_player_of_the_key)
{
	static const uint8_t key[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
		                         0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };
	uint8_t              digest[32];

	cloud_set_new_code(&cloud, give_at_once, NULL);
	ANSWER r = ask();
	rest_expect(&r, 200, NULL);
	cr_expect_str_eq(r.body, "{\"code\":654321}");
	hash_sha256(digest, key, sizeof(key));
	cr_expect_arr_eq(asked.digest, digest, sizeof(digest));
}

Test(rest_code, comes_from_any_thread)
{
	cloud_set_new_code(&cloud, give_elsewhere, NULL);
	ANSWER r = ask();
	rest_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "code"), 123456);
}

Test(rest_code, is_refused_with_a_reason)
{
	cloud_set_new_code(&cloud, refuse_at_once, NULL);
	ANSWER r = ask();
	rest_expect(&r, 429, "no_room");
}

static void be_at_it_still(void *arg, const uint8_t digest[32], cloud_code_done done, void *done_arg)
{
	note(arg, digest, done, done_arg);
	done(done_arg, ERR_BUSY, 0);
}

Test(rest_code, a_second_change_at_the_same_time_is_over_a_limit)
{
	cloud_set_new_code(&cloud, be_at_it_still, NULL);
	ANSWER r = ask();
	rest_expect(&r, 429, "rate");
}

Test(rest_code, nobody_gives_any)
{
	ANSWER r = ask();

	rest_expect(&r, 404, "not_found");
}

/* Five real seconds, after which nobody waits any more; the answer that comes then finds its own memory. */
Test(rest_code, is_not_waited_for_for_ever)
{
	cloud_set_new_code(&cloud, note, NULL);
	ANSWER r = ask();
	rest_expect(&r, 503, "store_busy");
	asked.done(asked.done_arg, ERR_OK, 111111);
}

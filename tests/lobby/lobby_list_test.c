/*
 * The list's body: made seldom, shared by all, whole at any moment.
 */
#include "lobby/lobby_list.h"

#include "base/metric.h"
#include "conf/limits.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static struct limits      limits;
static struct lobby_state state;
static pthread_mutex_t    lock;
static struct lobby_list *list;

static void start(void)
{
	limits_default(&limits);
	pthread_mutex_init(&lock, NULL);
	cr_assert_eq(lobby_state_init(&state, &limits, 1), ERR_OK);
	list = lobby_list_new(&state, &lock);
	cr_assert_not_null(list);
}

static void stop(void)
{
	lobby_list_free(list);
	lobby_state_fini(&state);
	pthread_mutex_destroy(&lock);
}

TestSuite(lobby_list, .init = start, .fini = stop);

/* The n-th one; its version is n % 3. */
static struct lobby *add(unsigned n, int64_t now_ms)
{
	struct lobby_announce a   = { .has_identity = true, .players_max = 4, .listed = true, .direct_port = -1 };
	struct lobby_newcomer who = { .announce = &a, .is_exempt = true };
	struct lobby         *l, *pushed;

	snprintf(a.name, sizeof(a.name), "lobby %u", n);
	snprintf(a.version, sizeof(a.version), "%u", n % 3);
	memcpy(who.session, &n, sizeof(n));
	memcpy(who.id, &n, sizeof(n));
	cr_assert_eq(lobby_announce(&l, &pushed, &state, &who, now_ms), LOBBY_WELCOME);
	return l;
}

static struct lobby *add_live(unsigned n, int64_t now_ms)
{
	struct lobby *l = add(n, now_ms);

	lobby_admit(&state, l);
	return l;
}

static struct http_shared *get(const char *filter, bool gzip, int64_t now_ms, char etag[LOBBY_ETAG_BYTES])
{
	struct http_shared *s = NULL;

	cr_assert_eq(lobby_list_get(&s, etag, list, filter, gzip, now_ms), ERR_OK);
	return s;
}

static const char *etag_at(int64_t now_ms)
{
	static char etags[4][LOBBY_ETAG_BYTES];
	static int  turn;
	char       *etag = etags[turn++ % 4];

	http_shared_drop(get("", false, now_ms, etag));
	return etag;
}

static int64_t made(void)
{
	return metric_get(M_LOBBY_LISTS_MADE);
}

Test(lobby_list, it_is_made_once_while_nothing_changes)
{
	const char *first;

	add_live(1, 0);
	first = etag_at(0);
	for (int64_t t = 0; t < 5000; t += 100)
		cr_expect_str_eq(etag_at(t), first);
	cr_expect_eq(made(), 1);
	etag_at(5000);
	cr_expect_eq(made(), 2, "ages are in it");
}

Test(lobby_list, a_change_shows_after_a_second_and_not_before)
{
	char before[LOBBY_ETAG_BYTES];

	add_live(1, 0);
	strcpy(before, etag_at(0));
	add_live(2, 10);
	cr_expect_str_eq(etag_at(999), before);
	cr_expect_str_neq(etag_at(1000), before);
	cr_expect_eq(made(), 2);
	add_live(3, 1001);
	etag_at(1999);
	cr_expect_eq(made(), 2);
	etag_at(2000);
	cr_expect_eq(made(), 3);
}

Test(lobby_list, nobody_asks_nothing_is_made)
{
	for (unsigned n = 1; n < 50; n++)
		add_live(n, 0);
	cr_expect_eq(made(), 0);
}

Test(lobby_list, pending_and_hidden_ones_are_not_in_it)
{
	struct lobby *pending, *hidden;
	char          none[LOBBY_ETAG_BYTES];

	strcpy(none, etag_at(0));
	pending = add(1, 0);
	hidden  = add_live(2, 0);
	lobby_show(&state, hidden, false);
	cr_expect_str_eq(etag_at(10000), none);
	lobby_admit(&state, pending);
	cr_expect_str_neq(etag_at(20000), none);
}

Test(lobby_list, all_get_the_same_bytes_and_gzip_is_made_once)
{
	char                etag[LOBBY_ETAG_BYTES];
	struct http_shared *a, *b, *c, *d;

	add_live(1, 0);
	a = get("", false, 0, etag);
	b = get("", false, 1, etag);
	c = get("", true, 2, etag);
	d = get("", true, 3, etag);
	cr_expect_eq(a, b);
	cr_expect_eq(c, d);
	cr_expect_neq(a, c);
	http_shared_drop(a);
	http_shared_drop(b);
	http_shared_drop(c);
	http_shared_drop(d);
}

Test(lobby_list, a_body_outlives_the_list_that_made_it)
{
	char                etag[LOBBY_ETAG_BYTES];
	struct http_shared *old;

	add_live(1, 0);
	old = get("", true, 0, etag);
	add_live(2, 0);
	etag_at(10000);
	lobby_list_free(list);
	list = NULL;
	http_shared_drop(old);
}

Test(lobby_list, a_filter_makes_nothing_anew)
{
	char all[LOBBY_ETAG_BYTES], some[LOBBY_ETAG_BYTES], none[LOBBY_ETAG_BYTES], empty[LOBBY_ETAG_BYTES];

	strcpy(empty, etag_at(0));
	for (unsigned n = 1; n <= 9; n++)
		add_live(n, 0);
	strcpy(all, etag_at(10000));
	http_shared_drop(get("1", false, 10001, some));
	http_shared_drop(get("x", false, 10002, none));
	cr_expect_str_neq(some, all);
	cr_expect_str_eq(none, empty);
	cr_expect_eq(made(), 2);
}

/* --- Many at once --- */

static atomic_bool is_over;

static void *ask(void *arg)
{
	char etag[LOBBY_ETAG_BYTES];

	for (int64_t t = (intptr_t)arg; !is_over; t += 700)
		http_shared_drop(get(t % 3 ? "" : "1", t % 2, t, etag));
	return NULL;
}

Test(lobby_list, it_is_whole_while_hosts_come_and_go)
{
	pthread_t threads[4];

	limits.lobby_list_ms = 0;
	for (intptr_t i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, ask, (void *)i), 0);
	for (unsigned n = 1; n < 3000; n++) {
		pthread_mutex_lock(&lock);
		add_live(n, n);
		if (n > 50) {
			struct lobby *l = CONTAINER(state.by_beat.next, struct lobby, by_beat);

			lobby_remove(&state, l);
			lobby_free(l);
		}
		pthread_mutex_unlock(&lock);
	}
	is_over = true;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

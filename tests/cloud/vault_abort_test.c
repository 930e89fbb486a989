/*
 * Two members store into one campaign at the same time, in pieces of any size, and half of them give up in the middle:
 * what was acknowledged is there, whole; versions have no gap; nothing is left over.
 */
#include "support/dial.h"
#include "support/server.h"
#include "support/tunnel_message.h"
#include "support/vault_client.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ISLAND "1122334455667788"

enum { ROUNDS = 200, SAVE_MAX = 150000 };

TestSuite(vault_abort, .timeout = 240);

static struct server *s;

struct member {
	const char *key;
	unsigned    seed, state;
	int         done, given_up;
	pthread_t   thread;
};

static unsigned next_random(struct member *m)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 17;
	m->state ^= m->state << 5;
	return m->state;
}

/* Which round it is of whom stands in the level: so the newest says whether it was sent, and its bytes are made again. */
static void make(struct checkpoint *cp, const char *key, unsigned round)
{
	char     lines[200] = "";
	uint8_t  id[ID_BYTES];
	unsigned state = round * 2654435761u + (unsigned)key[0];

	for (int i = 0; i < 2; i++) {
		id_of(id, i ? "anna" : "bert");
		snprintf(lines + strlen(lines), 40, "player=id:");
		for (size_t k = 0; k < ID_BYTES; k++)
			snprintf(lines + strlen(lines), 3, "%02x", id[k]);
		snprintf(lines + strlen(lines), 3, "\n");
	}
	snprintf(lines + strlen(lines), 60, "level=%u\nname=%s", round, key);
	checkpoint_make(cp, ISLAND, lines, state % SAVE_MAX, state);
}

static void round_of(struct member *m, unsigned round)
{
	struct ws_client *c = vault_client(s->tunnel_port, m->key, NULL);
	struct checkpoint cp;
	bool              gives_up = next_random(m) % 3 == 0;
	size_t            chunk    = 1 + next_random(m) % 60000;
	size_t            upto;

	make(&cp, m->key, round);
	upto = gives_up ? next_random(m) % cp.len : cp.len;
	if (chunk < cp.len / 100)
		chunk = cp.len / 100 + 1;
	cr_assert_eq(vault_client_begin(c, ISLAND, cp.len), 0);
	vault_client_parts(c, cp.bytes, upto, chunk);
	if (gives_up) {
		if (round % 2)
			ws_client_drop(c);
		m->given_up++;
	} else {
		cr_assert_eq(vault_client_end(c), 0);
		m->done++;
	}
	checkpoint_free(&cp);
	ws_client_free(c);
}

static void *store_all(void *arg)
{
	struct member *m = arg;

	for (unsigned round = 1; round <= ROUNDS / 2; round++)
		round_of(m, round);
	return NULL;
}

/* What is downloaded is one that was made, byte for byte. */
static void expect_known(struct ws_client *c, unsigned which)
{
	struct checkpoint got, made;
	char             *level, *name;

	cr_assert_eq(vault_client_get(&got, c, ISLAND, which), 0);
	level = memmem(got.bytes, got.len, "level=", 6);
	name  = memmem(got.bytes, got.len, "name=", 5);
	cr_assert(level && name);
	make(&made, name[5] == 'a' ? "anna" : "bert", (unsigned)atoi(level + 6));
	cr_expect(made.len == got.len && memcmp(made.bytes, got.bytes, got.len) == 0);
	checkpoint_free(&got);
	checkpoint_free(&made);
}

static int temporary_files(void)
{
	char           path[300];
	struct dirent *e;
	int            n = 0;

	snprintf(path, sizeof(path), "%s/blobs/.tmp", s->data);
	DIR *d = opendir(path);

	cr_assert_not_null(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static int64_t ask(const char *sql)
{
	char  command[500], line[64] = "";
	FILE *f;

	snprintf(command, sizeof(command), "sqlite3 -readonly '%s/coop.db' \"%s\"", s->data, sql);
	f = popen(command, "r");
	cr_assert_not_null(f);
	cr_assert_not_null(fgets(line, sizeof(line), f));
	pclose(f);
	return atoll(line);
}

Test(vault_abort, two_members_at_once_with_any_chunks_and_aborts)
{
	struct member     m[2] = { { .key = "anna", .state = 77 }, { .key = "bert", .state = 991 } };
	struct checkpoint first;
	int64_t           until;

	s                   = server_start((const char *[]){ "limits.cloud_interval_ms=0", NULL });
	struct ws_client *c = vault_client(s->tunnel_port, "anna", NULL);

	make(&first, "anna", 0);
	cr_assert_eq(vault_client_put(c, ISLAND, &first), 0);
	checkpoint_free(&first);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&m[i].thread, NULL, store_all, &m[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(m[i].thread, NULL);

	cr_expect_gt(m[0].given_up + m[1].given_up, ROUNDS / 5);
	cr_expect_eq(ask("SELECT max(version) FROM checkpoints"), 1 + m[0].done + m[1].done, "versions have no gap");
	expect_known(c, 0);
	expect_known(c, 1);
	until = real_now_ms() + 10000;
	while (temporary_files() > 0 && real_now_ms() < until)
		real_sleep_ms(10);
	cr_expect_eq(temporary_files(), 0);
	server_await_metric(s, "coopd_cloud_reserved_bytes", NULL, 0, 10000);
	cr_expect_eq(server_metric(s, "coopd_cloud_uploads_total", "stored"), 1 + m[0].done + m[1].done);
	cr_expect_eq(server_metric(s, "coopd_cloud_uploads_total", "broken_off"), m[0].given_up + m[1].given_up);
	ws_client_free(c);
	server_finish(s);
}

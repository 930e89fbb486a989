/*
 * What an operator does to the server as a whole, over its unix socket: reload, drain, backup.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/lobby_client.h"
#include "support/p2p_peer.h"
#include "support/rooms_client.h"
#include "support/tunnel_client.h"
#include "support/vault_client.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ISLAND "00112233445566aa"
#define JUNGLE "00112233445566bb"
#define TITLE  "title"
#define ANSWER AUTO(rest_freep) struct http_result

static struct server *s;
static char           file[SERVER_PATH_BYTES + 32], place[SERVER_PATH_BYTES + 32]; /* of settings; of backups */

static void write_settings(const char *text)
{
	FILE *out = fopen(file, "w");

	cr_assert_not_null(out);
	fputs(text, out);
	cr_assert_eq(fclose(out), 0);
}

static void start(void)
{
	s = server_start(NULL);
	snprintf(place, sizeof(place), "%s/backup", s->root);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(control, .init = start, .fini = stop);

/* query: "" or "?dry_run=true". */
static struct http_result back_up(const char *query, const char *dest)
{
	char path[80], body[PATH_MAX + 100];

	snprintf(path, sizeof(path), "/admin/v1/backup%s", query);
	snprintf(body, sizeof(body), "{\"dest\":\"%s\"}", dest);
	return admin_ask(s, "POST", path, body);
}

/* --- Reload --- */

Test(control, a_reload_says_what_changed)
{
	ANSWER r = admin_ask(s, "POST", "/admin/v1/reload", NULL);

	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_count(&r, "changed"), 0);
	cr_expect_eq(rest_count(&r, "restart"), 0);
	cr_expect(server_log_contains(s, "reloads done"));
}

Test(reload, says_what_changed_what_needs_a_restart_and_what_is_wrong)
{
	char text[200];

	s = server_prepare(NULL);
	snprintf(file, sizeof(file), "%s/coopd.conf", s->root);
	write_settings("[latest]\nproto = 5\n");
	cr_assert_eq(chdir(s->root), 0); /* ./coopd.conf is what a server without --config reads */
	server_launch(s);
	server_await_ready(s);

	write_settings("[latest]\nproto = 6\n[rooms]\nrelay = yes\n");
	ANSWER tried = admin_ask(s, "POST", "/admin/v1/reload?dry_run=true", NULL);
	admin_expect(&tried, 200, NULL);
	cr_expect_eq(rest_count(&tried, "changed"), 1);
	cr_expect_eq(rest_count(&tried, "restart"), 1);
	ANSWER r = admin_ask(s, "POST", "/admin/v1/reload", NULL);
	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_count(&r, "changed"), 1, "trying took nothing over");
	cr_expect_str_eq(rest_text(&r, "changed.0", text, sizeof(text)), "latest.proto");
	cr_expect_eq(rest_count(&r, "restart"), 1);
	cr_expect_not_null(strstr(rest_text(&r, "restart.0", text, sizeof(text)), "rooms.relay"), "%s", text);

	write_settings("[latest]\nproto = many\n");
	ANSWER bad = admin_ask(s, "POST", "/admin/v1/reload", NULL);
	admin_expect(&bad, 422, "invalid");
	cr_expect_not_null(strstr(bad.body, "latest.proto"), "%s", bad.body);
	ANSWER also = admin_ask(s, "POST", "/admin/v1/reload?dry_run=true", NULL);
	admin_expect(&also, 422, "invalid");
	ANSWER odd = admin_ask(s, "POST", "/admin/v1/reload", "{\"dry_run\":true}");
	admin_expect(&odd, 422, "unknown_member");

	/* A mistake in each line is told of the first ones only. */
	char many[2000] = "";
	for (int i = 0; i < 100; i++)
		strcat(many, "[x]\n");
	write_settings(many);
	ANSWER full = admin_ask(s, "POST", "/admin/v1/reload", NULL);
	admin_expect(&full, 422, "invalid");
	cr_expect(server_log_contains(s, "coopd.conf:20:"));
	cr_expect_not(server_log_contains(s, "coopd.conf:21:"));
	cr_expect(server_log_contains(s, "and more"));
	server_finish(s);
}

/* --- Drain --- */

static void expect_announce(int status)
{
	ANSWER r = master_post(s, "203.0.113.9", "/v1/host",
	                       J("{'game':'" LOBBY_GAME "','proto':1,'name':'late','world':'w',"
	                         "'identity':'" LOBBY_IDENTITY "'}"));

	cr_expect_eq(r.status, status, "%d %s", r.status, r.body);
}

Test(control, a_drain_begins_nothing_new_and_ends_nothing)
{
	uint32_t          code;
	struct ws_client *host  = host_open(s->tunnel_port, "A", &code);
	struct gamer     *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");
	uint64_t          room = gamer_create(alice, 4, NOTHING)->room_id;
	struct p2p_peer   ann, dave;

	server_advance(s, 5000); /* figures are set by a tick */
	server_await_metric(s, "coopd_tunnel_games", NULL, 1, ADMIN_PATIENCE_MS);
	p2p_peer_open(&ann, s, 1);
	p2p_peer_open(&dave, s, 2);
	ANSWER r = admin_ask(s, "POST", "/admin/v1/drain", "{\"deadline_s\":0}");
	admin_expect(&r, 200, NULL);
	cr_expect(rest_bool(&r, "draining"));
	cr_expect_eq(rest_int(&r, "left.games"), 1);
	cr_expect_eq(rest_int(&r, "left.rooms"), 1);
	cr_expect_eq(rest_int(&r, "left.room_players"), 2);
	cr_expect_eq(rest_int(&r, "left.p2p_sessions"), 2);

	/* Nothing new. */
	struct ws_client *late = tunnel_connect(s->tunnel_port, NULL);
	struct pattern    open;
	msg_host_open(&open, "B");
	ws_client_send_pattern(late, &open);
	tunnel_expect_fault(late, 1);
	expect_announce(503);
	gamer_expect_error(bob, gamer_ask_create(bob, 4, NOTHING), SAYS_LIMIT);
	p2p_peer_ask(&dave, "p2p.create", "");
	cr_expect_not_null(strstr(dave.text, "room_limit"), "%s", dave.text);
	ANSWER ready = http_get(s->http_port, "/readyz");
	cr_expect_eq(ready.status, 503);
	cr_expect_not_null(strstr(ready.body, "draining"));

	/* What is there goes on, and friends still come; the host may come again. */
	struct ws_client *friend = friend_join(s->tunnel_port, code, "visit", "C");
	host_expect_friend(host, 1, "C");
	friend_send(friend, "hi", 2);
	host_expect_datagram(host, 1, "hi", 2);
	gamer_join(bob, room, NOTHING);
	ws_client_free(host);
	friend_expect_state(friend, STATE_LOST);
	host = host_open(s->tunnel_port, "A", NULL);
	host_send_state(host, STATE_READY);
	friend_expect_state(friend, STATE_READY);

	/* Taken back. */
	ANSWER back = admin_ask(s, "DELETE", "/admin/v1/drain", NULL);
	admin_expect(&back, 200, NULL);
	cr_expect_not(rest_bool(&back, "draining"));
	expect_announce(200);
	ws_client_free(late);
	late = host_open(s->tunnel_port, "B", NULL);
	p2p_peer_ask(&dave, "p2p.create", "");
	cr_expect_not_null(strstr(dave.text, "\"seat\""), "%s", dave.text);

	ws_client_free(late);
	ws_client_free(friend);
	ws_client_free(host);
	gamer_free(alice);
	gamer_free(bob);
	p2p_peer_free(&ann);
	p2p_peer_free(&dave);
}

Test(control, a_drain_stops_the_server_at_its_deadline_and_not_before)
{
	ANSWER r = admin_ask(s, "POST", "/admin/v1/drain", "{\"deadline_s\":600}");

	admin_expect(&r, 200, NULL);
	cr_expect(rest_has(&r, "deadline_at"));
	server_advance(s, 590000);
	ANSWER still = admin_get(s, "/admin/v1/drain");
	cr_expect(rest_bool(&still, "draining"));
	server_advance(s, 11000);
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
}

Test(control, a_drain_that_is_only_tried_changes_nothing)
{
	ANSWER r = admin_ask(s, "POST", "/admin/v1/drain?dry_run=true", "{\"deadline_s\":1}");

	admin_expect(&r, 200, NULL);
	cr_expect(rest_bool(&r, "draining"), "that is what would be");
	cr_expect(rest_bool(&r, "dry_run"));
	ANSWER now = admin_get(s, "/admin/v1/drain");
	cr_expect_not(rest_bool(&now, "draining"));
	server_advance(s, 5000);
	expect_announce(200);

	ANSWER odd = admin_ask(s, "POST", "/admin/v1/drain", "{\"deadline\":1}");
	admin_expect(&odd, 422, "unknown_member");
	ANSWER low = admin_ask(s, "POST", "/admin/v1/drain", "{\"deadline_s\":-1}");
	admin_expect(&low, 422, "invalid");
	ANSWER real = admin_ask(s, "POST", "/admin/v1/drain", "{\"deadline_s\":1.5}");
	admin_expect(&real, 422, "invalid");
}

/* --- Backup --- */

static void store(const char *campaign, unsigned seed)
{
	struct ws_client *c = vault_client(s->tunnel_port, "A", NULL);
	struct checkpoint cp;

	server_advance(s, 11000); /* between two uploads of one player */
	checkpoint_make(&cp, campaign, "level=Island", 5000, seed);
	cr_assert_eq(vault_client_put(c, campaign, &cp), 0);
	checkpoint_free(&cp);
	ws_client_free(c);
}

/* Files below place/blobs. */
static int count_blobs(void)
{
	char  command[SERVER_PATH_BYTES + 80];
	FILE *out;
	int   count = -1;

	snprintf(command, sizeof(command), "find %s/blobs -type f | wc -l", place);
	out = popen(command, "r");
	cr_assert_not_null(out);
	cr_assert_eq(fscanf(out, "%d", &count), 1);
	pclose(out);
	return count;
}

Test(control, a_backup_has_what_is_there_and_the_next_one_copies_what_is_new)
{
	store(ISLAND, 1);
	ANSWER first = back_up("", place);
	admin_expect(&first, 200, NULL);
	cr_expect_eq(rest_int(&first, "blobs"), 1);
	cr_expect_eq(rest_int(&first, "blobs_copied"), 1);
	cr_expect_gt(rest_int(&first, "bytes_copied"), 5000);
	cr_expect_eq(count_blobs(), 1);

	store(JUNGLE, 2);
	ANSWER second = back_up("", place);
	admin_expect(&second, 200, NULL);
	cr_expect_eq(rest_int(&second, "blobs"), 2);
	cr_expect_eq(rest_int(&second, "blobs_copied"), 1, "the other one is there");
	cr_expect_eq(count_blobs(), 2);

	ANSWER look = admin_get(s, "/admin/v1/backup");
	char   text[PATH_MAX];
	cr_expect_str_eq(rest_text(&look, "dest", text, sizeof(text)), place);
	cr_expect_str_eq(rest_text(&look, "result", text, sizeof(text)), "ok");
	cr_expect_eq(rest_int(&look, "blobs_done"), 2);
}

/* What a restore comes to, by hand: the files in place of those of a data folder. */
Test(control, a_server_over_a_backup_has_the_campaign)
{
	char              command[8 * SERVER_PATH_BYTES + 400];
	struct checkpoint cp;

	store(ISLAND, 1);
	ANSWER r = back_up("", place);
	admin_expect(&r, 200, NULL);
	server_stop(s);
	snprintf(command, sizeof(command), "rm -r %s/* && cp -r %s/blobs %s/secrets %s && cp %s/coop-*.db %s/coop.db",
	         s->data, place, place, s->data, place, s->data);
	cr_assert_eq(system(command), 0);
	server_restart(s);

	struct ws_client *c = vault_client(s->tunnel_port, "A", NULL);
	checkpoint_make(&cp, ISLAND, "level=Island", 5000, 1);
	cr_expect_eq(vault_client_check(c, ISLAND, 0, &cp), 0);
	checkpoint_free(&cp);
	ws_client_free(c);
}

static void damage_the_blob(void)
{
	char command[SERVER_PATH_BYTES + 200];

	snprintf(command, sizeof(command),
	         "for f in $(find %s/blobs -mindepth 2 -type f); do printf X | dd of=$f bs=1 seek=100 conv=notrunc "
	         "status=none; done",
	         s->data);
	cr_assert_eq(system(command), 0);
}

Test(control, a_damaged_checkpoint_is_reported_and_left_out)
{
	store(ISLAND, 1);
	damage_the_blob();
	ANSWER r = back_up("", place);
	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "damaged"), 1);
	cr_expect_eq(rest_int(&r, "blobs_copied"), 0);
	cr_expect_eq(count_blobs(), 0);
	cr_expect(server_log_contains(s, "seen by a backup"));
}

Test(control, a_good_copy_is_not_replaced_by_a_damaged_one)
{
	store(ISLAND, 1);
	ANSWER first = back_up("", place);
	admin_expect(&first, 200, NULL);
	damage_the_blob();
	ANSWER second = back_up("", place);
	admin_expect(&second, 200, NULL);
	cr_expect_eq(rest_int(&second, "damaged"), 0, "the copy that is there is good");
	cr_expect_eq(count_blobs(), 1);
}

Test(control, a_backup_goes_nowhere_it_must_not)
{
	char   path[SERVER_PATH_BYTES + 40];
	ANSWER none = admin_ask(s, "POST", "/admin/v1/backup", "{}");
	admin_expect(&none, 422, "invalid");
	ANSWER name = admin_ask(s, "POST", "/admin/v1/backup", "{\"dest\":\"plain\"}");
	admin_expect(&name, 422, "invalid");
	ANSWER device = admin_ask(s, "POST", "/admin/v1/backup", "{\"dest\":\"/dev/null\"}");
	admin_expect(&device, 422, "invalid");
	ANSWER below = admin_ask(s, "POST", "/admin/v1/backup", "{\"dest\":\"/dev/null/x\"}");
	admin_expect(&below, 422, "invalid");
	ANSWER up = admin_ask(s, "POST", "/admin/v1/backup", "{\"dest\":\"/tmp/../etc\"}");
	admin_expect(&up, 422, "invalid");
	snprintf(path, sizeof(path), "%s/x", s->data);
	ANSWER data = back_up("", path);
	admin_expect(&data, 422, "invalid");
	ANSWER self = back_up("", s->data);
	admin_expect(&self, 422, "invalid");
	ANSWER full = back_up("", s->root);
	admin_expect(&full, 409, "exists");

	/* A way around by a link. */
	snprintf(path, sizeof(path), "%s/link", s->root);
	cr_assert_eq(symlink(s->data, path), 0);
	char below_link[SERVER_PATH_BYTES + 50];
	snprintf(below_link, sizeof(below_link), "%s/x", path);
	ANSWER link = back_up("", below_link);
	admin_expect(&link, 422, "invalid");
}

Test(control, a_backup_that_is_only_tried_writes_nothing)
{
	char   path[SERVER_PATH_BYTES + 40];
	ANSWER r = back_up("?dry_run=true", place);

	snprintf(path, sizeof(path), "%s", place);
	admin_expect(&r, 200, NULL);
	cr_expect_eq(access(path, F_OK), -1);
}

Test(small_disk, a_backup_that_does_not_fit_is_refused)
{
	s = server_start((const char *[]){ "limits.store_free_floor=17592186044416", NULL });
	snprintf(place, sizeof(place), "%s/backup", s->root);
	ANSWER r = back_up("", place);
	admin_expect(&r, 507, "no_space");
	server_finish(s);
}

Test(control, a_backup_of_another_server_is_left_alone)
{
	struct server *other = server_start(NULL);
	char           body[PATH_MAX];
	ANSWER         r = back_up("", place);

	admin_expect(&r, 200, NULL);
	snprintf(body, sizeof(body), "{\"dest\":\"%s\"}", place);
	ANSWER theirs = admin_ask(other, "POST", "/admin/v1/backup", body);
	admin_expect(&theirs, 409, "exists");
	server_finish(other);
}

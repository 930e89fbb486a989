/*
 * How connections of the vault behave: many requests at once, readers that do not read, silence, damage on disk.
 */
#include "base/hex.h"
#include "crypt/hash.h"
#include "support/dial.h"
#include "support/server.h"
#include "support/tunnel_message.h"
#include "support/vault_client.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ISLAND "1122334455667788"
#define GET    "1d 11 22 33 44 55 66 77 88 00"

TestSuite(vault_talk, .timeout = 120);

static struct server    *s;
static struct checkpoint stored;

/* A server in which "owner" has stored a checkpoint with a savegame of this size. */
static void start_with(size_t save_len)
{
	s                   = server_start((const char *[]){ "limits.cloud_interval_ms=0", NULL });
	struct ws_client *c = vault_client(s->tunnel_port, "owner", NULL);

	checkpoint_make(&stored, ISLAND, "name=N\nlevel=L\ncheckpoint=C\nhostname=H", save_len, 5);
	cr_assert_eq(vault_client_put(c, ISLAND, &stored), 0);
	ws_client_free(c);
}

static void finish(void)
{
	checkpoint_free(&stored);
	server_finish(s);
}

/* One masked frame (mask of zeros) behind what is in out. */
static size_t add_frame(uint8_t *out, size_t at, const uint8_t *message, size_t len)
{
	out[at++] = 0x82;
	if (len < 126) {
		out[at++] = (uint8_t)(0x80 | len);
	} else {
		out[at++] = 0x80 | 126;
		out[at++] = (uint8_t)(len >> 8);
		out[at++] = (uint8_t)len;
	}
	memset(out + at, 0, 4);
	memcpy(out + at + 4, message, len);
	return at + 4 + len;
}

#define LINE ISLAND "\town\t1700000000\tL\tC\tN\tH\t0"

Test(vault_talk, requests_that_come_all_at_once_are_answered_in_their_order)
{
	static uint8_t    all[200000];
	size_t            at          = 0;
	uint8_t           part[20001] = { 24 };
	uint8_t           request[13] = { 22, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };
	uint8_t           get[10]     = { 29, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };
	struct checkpoint cp;

	start_with(1000);
	checkpoint_make(&cp, ISLAND, "name=N\nlevel=M", 60000, 6);
	for (int i = 0; i < 4; i++)
		request[9 + i] = (uint8_t)(cp.len >> (8 * i));
	at = add_frame(all, at, (const uint8_t[]){ 27 }, 1);
	at = add_frame(all, at, request, sizeof(request));
	for (size_t from = 0; from < cp.len; from += 20000) {
		size_t take = cp.len - from < 20000 ? cp.len - from : 20000;

		memcpy(part + 1, cp.bytes + from, take);
		at = add_frame(all, at, part, 1 + take);
		at = add_frame(all, at, (const uint8_t[]){ 3, 9 }, 2);
		if (from == 0)
			at = add_frame(all, at, (const uint8_t[]){ 27 }, 1);
	}
	at = add_frame(all, at, (const uint8_t[]){ 25 }, 1);
	at = add_frame(all, at, get, sizeof(get));
	at = add_frame(all, at, (const uint8_t[]){ 3, 1 }, 2);
	for (int i = 0; i < 40; i++)
		at = add_frame(all, at, (const uint8_t[]){ 27 }, 1);

	struct ws_client *c = vault_client(s->tunnel_port, "owner", NULL);

	cr_assert(ws_client_send_raw(c, all, at));
	ws_expect(c, "1c '" ISLAND "' *");
	ws_expect(c, "17");
	ws_expect(c, "03 09");
	ws_expect(c, "1c '" ISLAND "' *");
	for (size_t from = 20000; from < cp.len; from += 20000)
		ws_expect(c, "03 09");
	ws_expect(c, "1a");
	ws_expect(c, "1e *");
	ws_expect(c, "18 'CCSV' *");
	ws_expect(c, "18 *");
	ws_expect(c, "19");
	ws_expect(c, "03 01");
	for (int i = 0; i < 40; i++)
		ws_expect(c, "1c '" ISLAND "' *");
	ws_expect_nothing(c, 50);
	checkpoint_free(&cp);
	ws_client_free(c);
	finish();
}

Test(vault_talk, a_reader_that_waits_costs_a_few_parts_and_gets_it_all)
{
	struct ws_client_options slow     = { .rcvbuf_bytes = 4096 };
	size_t                   at       = 0;
	uint8_t                  open[18] = { 20, 2 };

	start_with(6000000);
	struct ws_client *c = ws_client_open(s->tunnel_port, &slow);

	key_of(open + 2, "owner");
	ws_client_send_bytes(c, open, sizeof(open));
	ws_expect(c, "15 *");
	ws_client_send(c, GET);
	ws_expect(c, "1e *");

	/* Another one is served meanwhile. */
	struct ws_client *other = vault_client(s->tunnel_port, "owner", NULL);

	cr_expect_eq(vault_client_check(other, ISLAND, 0, &stored), 0);
	cr_expect_leq(server_metric(s, "coopd_ws_queued_bytes", NULL), 4 * 49200);
	ws_client_free(other);
	while (at < stored.len) {
		struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);

		cr_assert_eq(e.what, WS_MESSAGE);
		cr_assert_eq(e.data[0], 24);
		cr_assert_eq(memcmp(e.data + 1, stored.bytes + at, e.len - 1), 0);
		at += e.len - 1;
	}
	ws_expect(c, "19");
	ws_client_free(c);
	finish();
}

Test(vault_talk, who_asks_without_end_and_never_reads_is_not_closed)
{
	struct ws_client_options slow     = { .rcvbuf_bytes = 4096 };
	uint8_t                  open[18] = { 20, 2 };

	start_with(1000);
	struct ws_client *c = ws_client_open(s->tunnel_port, &slow);

	key_of(open + 2, "owner");
	ws_client_send_bytes(c, open, sizeof(open));
	ws_expect(c, "15 *");
	for (int i = 0; i < 2000; i++) {
		cr_assert(ws_client_send(c, "1b"));
		cr_assert(ws_client_send(c, "03 (01)x15"));
	}
	for (int i = 0; i < 2000; i++) {
		ws_expect(c, "1c '" ISLAND "' *");
		ws_expect(c, "03 (01)x15");
	}
	ws_client_free(c);
	finish();
}

Test(vault_talk, a_silent_connection_is_closed_after_five_minutes)
{
	start_with(1000);
	struct ws_client *c = vault_client(s->tunnel_port, "owner", NULL);

	server_advance(s, 299000);
	cr_expect_str_eq(vault_client_list(c), LINE);
	server_advance(s, 299000);
	ws_expect_nothing(c, 300);
	server_advance(s, 1500);
	ws_expect_closed(c);
	ws_client_free(c);
	server_await_metric(s, "coopd_vault_closed_total", "idle", 1, 5000);
	finish();
}

Test(vault_talk, an_upload_that_hardly_moves_is_ended)
{
	start_with(1000);
	struct ws_client *fast = vault_client(s->tunnel_port, "owner", NULL);
	struct ws_client *slow = vault_client(s->tunnel_port, "other", NULL);

	cr_assert_eq(vault_client_begin(fast, ISLAND, 1000000), 0);
	cr_assert_eq(vault_client_begin(slow, "00000000000000aa", 1000000), 0);
	vault_client_parts(fast, stored.bytes, 1000, 1000);
	for (int i = 0; i < 130; i++)
		vault_client_parts(fast, stored.bytes, 1000, 1000);
	vault_client_parts(slow, stored.bytes, 1000, 1000);
	ws_client_send(fast, "03 01");
	ws_expect(fast, "03 01");
	ws_client_send(slow, "03 01");
	ws_expect(slow, "03 01");
	server_advance(s, 30500);
	ws_expect_closed(slow);
	ws_client_send(fast, "03 01");
	ws_expect(fast, "03 01");
	ws_client_free(slow);
	ws_client_free(fast);
	finish();
}

/* Where the bytes of what is stored lie. */
static void blob_path(char out[600])
{
	uint8_t sha256[HASH_SHA256_BYTES];
	char    hex[2 * HASH_SHA256_BYTES + 1];

	hash_sha256(sha256, stored.bytes, stored.len);
	hex_encode(hex, sha256, sizeof(sha256));
	snprintf(out, 600, "%s/blobs/%.2s/%s", s->data, hex, hex + 2);
}

static void expect_broken_off(bool announced)
{
	struct ws_client      *c = vault_client(s->tunnel_port, "owner", NULL);
	struct ws_client_event e;

	ws_client_send(c, GET);
	if (announced)
		ws_expect(c, "1e *");
	while ((e = ws_client_receive(c, DIAL_PATIENCE_MS)).what == WS_MESSAGE)
		cr_assert_eq(e.data[0], 24, "no END, no FAULT");
	cr_expect_eq(e.what, WS_CLOSED);
	ws_client_free(c);
}

Test(vault_talk, a_damaged_checkpoint_is_never_given_whole)
{
	char path[600], byte;
	int  fd;

	start_with(500000);
	struct ws_client *c = vault_client(s->tunnel_port, "owner", NULL);

	cr_expect_eq(vault_client_check(c, ISLAND, 0, &stored), 0);
	blob_path(path);
	fd = open(path, O_RDWR);
	cr_assert_geq(fd, 0);
	cr_assert_eq(pread(fd, &byte, 1, 300000), 1);
	byte ^= 1;
	cr_assert_eq(pwrite(fd, &byte, 1, 300000), 1);
	expect_broken_off(true);
	byte ^= 1;
	cr_assert_eq(pwrite(fd, &byte, 1, 300000), 1);
	cr_expect_eq(vault_client_check(c, ISLAND, 0, &stored), 0, "put right by hand");
	cr_assert_eq(ftruncate(fd, 400000), 0);
	expect_broken_off(false);
	close(fd);
	unlink(path);
	expect_broken_off(false);
	cr_expect_eq(server_metric(s, "coopd_vault_closed_total", "damaged"), 3);
	cr_expect(server_log_contains(s, "finds-damaged-blob"));
	ws_client_free(c);
	finish();
}

Test(vault_talk, who_stored_a_checkpoint_can_still_host_and_the_other_way_round)
{
	start_with(1000);
	struct ws_client *host     = ws_client_open(s->tunnel_port, NULL);
	uint8_t           open[18] = { 1, 2 };
	struct checkpoint cp;

	key_of(open + 2, "owner");
	ws_client_send_bytes(host, open, sizeof(open));
	ws_expect(host, "02 *");
	struct ws_client *second = ws_client_open(s->tunnel_port, NULL);

	key_of(open + 2, "second");
	ws_client_send_bytes(second, open, sizeof(open));
	ws_expect(second, "02 *");
	struct ws_client *c = vault_client(s->tunnel_port, "second", NULL);

	checkpoint_make(&cp, "00000000000000bb", NULL, 100, 1);
	cr_expect_eq(vault_client_put(c, "00000000000000bb", &cp), 0);
	checkpoint_free(&cp);
	ws_client_free(host);
	ws_client_free(second);
	ws_client_free(c);
	finish();
}

Test(vault_talk, stopping_in_the_middle_of_everything_leaves_nothing)
{
	start_with(3000000);
	struct ws_client *up = vault_client(s->tunnel_port, "owner", NULL), *down;
	struct checkpoint cp;

	down = vault_client(s->tunnel_port, "owner", NULL);
	checkpoint_make(&cp, ISLAND, NULL, 2000000, 9);
	cr_assert_eq(vault_client_begin(up, ISLAND, cp.len), 0);
	vault_client_parts(up, cp.bytes, 1500000, VAULT_CLIENT_PART);
	ws_client_send(down, GET);
	ws_expect(down, "1e *");
	ws_client_drop(up);
	ws_client_free(up);
	ws_client_drop(down);
	ws_client_free(down);
	server_stop(s);
	cr_expect_not(server_log_contains(s, "ERROR"));
	server_restart(s);
	up = vault_client(s->tunnel_port, "owner", NULL);
	cr_expect_eq(vault_client_check(up, ISLAND, 0, &stored), 0);
	checkpoint_free(&cp);
	ws_client_free(up);
	finish();
}

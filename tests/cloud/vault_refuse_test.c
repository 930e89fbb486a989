/*
 * What the vault refuses, in its order, and each limit at it and one past it.
 */
#include "support/server.h"
#include "support/tunnel_message.h"
#include "support/vault_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ISLAND "1122334455667788"
#define OTHER  "00000000000000aa"

TestSuite(vault_refuse, .timeout = 120);

static struct server *s;

static struct ws_client *open_as(const char *key)
{
	return vault_client(s->tunnel_port, key, NULL);
}

static struct checkpoint naming(const char *campaign, const char *member, unsigned seed)
{
	struct checkpoint cp;
	uint8_t           id[ID_BYTES];
	char              line[64] = "player=id:";

	id_of(id, member);
	for (size_t i = 0; i < ID_BYTES; i++)
		snprintf(line + strlen(line), 3, "%02x", id[i]);
	checkpoint_make(&cp, campaign, line, 1000, seed);
	return cp;
}

static void put_once(const char *key, const char *campaign, unsigned seed)
{
	struct ws_client *c  = open_as(key);
	struct checkpoint cp = naming(campaign, "member", seed);

	cr_assert_eq(vault_client_put(c, campaign, &cp), 0);
	checkpoint_free(&cp);
	ws_client_free(c);
}

Test(vault_refuse, rights_come_before_size_and_size_before_time)
{
	s = server_start(NULL);
	put_once("owner", ISLAND, 1);
	put_once("stranger", OTHER, 2);

	/* Both stored a moment ago, so all of these are too soon as well. */
	struct ws_client *owner = open_as("owner"), *stranger = open_as("stranger");

	cr_expect_eq(vault_client_begin(stranger, ISLAND, 16777217), FAULT_NOT_ALLOWED);
	cr_expect_eq(vault_client_begin(owner, ISLAND, 16777217), FAULT_NO_ROOM);
	cr_expect_eq(vault_client_begin(owner, ISLAND, UINT32_MAX), FAULT_NO_ROOM);
	cr_expect_eq(vault_client_begin(owner, ISLAND, 16777216), FAULT_TOO_OFTEN);
	server_advance(s, 10000);
	cr_expect_eq(vault_client_begin(owner, ISLAND, 16777216), 0, "of exactly 16 MiB");
	ws_client_free(owner);
	ws_client_free(stranger);
	server_finish(s);
}

Test(vault_refuse, only_what_is_accepted_starts_the_ten_seconds)
{
	s = server_start(NULL);
	put_once("owner", ISLAND, 1);
	struct ws_client *c = open_as("other");

	cr_expect_eq(vault_client_begin(c, ISLAND, 100), FAULT_NOT_ALLOWED);
	cr_expect_eq(vault_client_begin(c, OTHER, 16777217), FAULT_NO_ROOM);
	cr_expect_eq(vault_client_begin(c, OTHER, 100), 0);
	cr_expect_eq(vault_client_end(c), FAULT_BAD_DATA);
	cr_expect_eq(vault_client_begin(c, OTHER, 100), FAULT_TOO_OFTEN, "whatever becomes of it");
	server_advance(s, 9000);
	cr_expect_eq(vault_client_begin(c, OTHER, 100), FAULT_TOO_OFTEN);
	server_advance(s, 2000);
	cr_expect_eq(vault_client_begin(c, OTHER, 100), 0, "after eleven seconds it is over");
	ws_client_free(c);
	server_finish(s);
}

Test(vault_refuse, bytes_that_are_not_as_many_as_declared)
{
	struct checkpoint cp;

	s = server_start((const char *[]){ "limits.cloud_interval_ms=0", NULL });
	checkpoint_make(&cp, ISLAND, NULL, 100000, 1);
	struct ws_client *c = open_as("owner");

	cr_assert_eq(vault_client_begin(c, ISLAND, cp.len), 0);
	vault_client_parts(c, cp.bytes, cp.len - 1, 5000);
	cr_expect_eq(vault_client_end(c), FAULT_BAD_DATA, "one too few");

	cr_assert_eq(vault_client_begin(c, ISLAND, cp.len - 1), 0);
	vault_client_parts(c, cp.bytes, cp.len, VAULT_CLIENT_PART);
	cr_expect_eq(vault_client_fault(c), FAULT_BAD_DATA, "one too many, said before the end");
	vault_client_parts(c, cp.bytes, cp.len, VAULT_CLIENT_PART);
	ws_client_send(c, "19");
	ws_client_send(c, "03 01");
	ws_expect(c, "03 01");

	cr_assert_eq(vault_client_begin(c, ISLAND, 0), 0);
	cr_expect_eq(vault_client_end(c), FAULT_BAD_DATA, "nothing");
	cr_expect_str_eq(vault_client_list(c), "");
	cr_expect_eq(vault_client_put(c, ISLAND, &cp), 0);
	cr_expect_eq(server_metric(s, "coopd_cloud_uploads_total", "refused"), 3);
	cr_expect_eq(server_metric(s, "coopd_cloud_uploads_total", "broken_off"), 0);
	checkpoint_free(&cp);
	ws_client_free(c);
	server_finish(s);
}

Test(vault_refuse, content_that_does_not_check_out)
{
	struct checkpoint cp, wrong;

	s                   = server_start((const char *[]){ "limits.cloud_interval_ms=0", NULL });
	struct ws_client *c = open_as("owner");

	checkpoint_make(&wrong, OTHER, NULL, 100000, 1);
	cr_expect_eq(vault_client_put(c, ISLAND, &wrong), FAULT_BAD_DATA, "another campaign's");
	checkpoint_make(&cp, ISLAND, "campaign=zz", 100000, 1);
	cr_expect_eq(vault_client_put(c, ISLAND, &cp), FAULT_BAD_DATA, "the last of a repeated key");
	checkpoint_free(&cp);
	checkpoint_make(&cp, ISLAND, NULL, 100000, 1);
	cp.bytes[0] = 'X';
	cr_expect_eq(vault_client_put(c, ISLAND, &cp), FAULT_BAD_DATA, "another magic");
	cp.bytes[0] = 'C';
	cp.bytes[8]++;
	cr_expect_eq(vault_client_put(c, ISLAND, &cp), FAULT_BAD_DATA, "lengths that do not add up");
	cr_expect_str_eq(vault_client_list(c), "");
	cr_expect_eq(server_metric(s, "coopd_vault_faults_total", "12"), 4);
	cr_expect_eq(vault_client_put(c, OTHER, &wrong), 0);
	checkpoint_free(&cp);
	checkpoint_free(&wrong);
	ws_client_free(c);
	server_finish(s);
}

Test(vault_refuse, an_eleventh_campaign)
{
	s                   = server_start((const char *[]){ "limits.cloud_interval_ms=0", NULL });
	struct ws_client *c = open_as("owner");
	char              campaign[24];

	for (int i = 0; i < 10; i++) {
		snprintf(campaign, sizeof(campaign), "%016x", i);
		put_once("owner", campaign, (unsigned)i);
	}
	cr_expect_eq(vault_client_begin(c, ISLAND, 1000), FAULT_NO_ROOM);
	cr_expect_eq(vault_client_forget(c, campaign), 0);
	cr_expect_eq(vault_client_begin(c, ISLAND, 1000), 0);
	ws_client_free(c);
	server_finish(s);
}

Test(vault_refuse, rights_that_ended_during_an_upload)
{
	s = server_start((const char *[]){ "limits.cloud_interval_ms=0", NULL });
	put_once("owner", ISLAND, 1);
	struct ws_client *owner = open_as("owner"), *member = open_as("member"), *again = open_as("member");
	struct checkpoint cp = naming(ISLAND, "member", 2);

	cr_assert_eq(vault_client_begin(member, ISLAND, cp.len), 0);
	vault_client_parts(member, cp.bytes, cp.len, 100);
	cr_expect_eq(vault_client_forget(again, ISLAND), 0);
	cr_expect_eq(vault_client_end(member), FAULT_NOT_ALLOWED);

	cr_assert_eq(vault_client_begin(owner, ISLAND, cp.len), 0);
	vault_client_parts(owner, cp.bytes, cp.len / 2, 100);
	cr_expect_eq(vault_client_forget(owner, ISLAND), 0, "between his own parts");
	vault_client_parts(owner, cp.bytes + cp.len / 2, cp.len - cp.len / 2, 100);
	cr_expect_eq(vault_client_end(owner), FAULT_BAD_DATA, "a campaign that was deleted meanwhile");
	cr_expect_str_eq(vault_client_list(owner), "");
	checkpoint_free(&cp);
	ws_client_free(owner);
	ws_client_free(member);
	ws_client_free(again);
	server_finish(s);
}

Test(vault_refuse, another_version_and_a_short_open)
{
	s                   = server_start(NULL);
	struct ws_client *c = ws_client_open(s->tunnel_port, NULL);

	ws_client_send(c, "14 02 (00)x15");
	ws_client_send(c, "03 07");
	ws_expect(c, "03 07");
	ws_client_send(c, "14 03 (00)x16");
	ws_expect(c, "07 02");
	ws_expect_closed(c);
	ws_client_free(c);
	server_finish(s);
}

Test(vault_refuse, without_checkpoints_it_is_closed)
{
	s                   = server_start((const char *[]){ "cloud.enable=no", NULL });
	struct ws_client *c = vault_client_ask(s->tunnel_port, "owner", NULL);

	ws_expect_closed(c);
	ws_client_free(c);
	server_finish(s);
}

Test(vault_refuse, a_fifth_connection_of_an_address)
{
	struct ws_client *c[4];

	s = server_start(NULL);
	for (int i = 0; i < 4; i++)
		c[i] = vault_client(s->tunnel_port, "owner", "203.0.113.5");
	struct ws_client *fifth = vault_client_ask(s->tunnel_port, "owner", "203.0.113.5");

	ws_expect(fifth, "07 0b");
	ws_expect_closed(fifth);
	ws_client_free(fifth);
	ws_client_free(vault_client(s->tunnel_port, "owner", "203.0.113.6"));
	ws_client_free(vault_client(s->tunnel_port, "owner", NULL));
	server_await_metric(s, "coopd_vault_connections", NULL, 4, 5000);
	ws_client_free(c[0]);
	server_await_metric(s, "coopd_vault_connections", NULL, 3, 5000);
	c[0] = vault_client(s->tunnel_port, "owner", "203.0.113.5");
	for (int i = 0; i < 4; i++)
		ws_client_free(c[i]);
	server_finish(s);
}

Test(vault_refuse, what_is_too_short_or_unknown_is_ignored)
{
	static const struct {
		unsigned op;
		size_t   bytes_min;
	} rows[]          = { { 22, 13 }, { 29, 10 }, { 33, 9 }, { 20, 19 } };
	uint8_t bytes[32] = { 0 };

	s                   = server_start(NULL);
	struct ws_client *c = open_as("owner");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bytes[0] = (uint8_t)rows[i].op;
		for (size_t len = 1; len < rows[i].bytes_min; len++)
			ws_client_send_bytes(c, bytes, len);
	}
	for (unsigned op = 0; op < 256; op++)
		if (op != 3 && op != 22 && op != 27 && op != 29 && op != 33) {
			bytes[0] = (uint8_t)op;
			ws_client_send_bytes(c, bytes, sizeof(bytes));
		}
	ws_client_send(c, "03 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11");
	ws_expect(c, "03 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f");
	ws_client_send(c, "1d (00)x9");
	ws_expect(c, "07 0a");
	ws_client_free(c);
	server_finish(s);
}

Test(vault_refuse, vault_connections_have_a_bound_in_all)
{
	s                        = server_start((const char *[]){ "limits.cloud_vaults=2", NULL });
	struct ws_client *first  = open_as("A");
	struct ws_client *second = open_as("B");
	struct ws_client *third  = vault_client_ask(s->tunnel_port, "C", NULL);

	ws_expect(third, "07 0b");
	ws_client_free(third);
	ws_client_free(first);
	server_await_metric(s, "coopd_vault_connections", NULL, 1, 10000);
	ws_client_free(open_as("C"));
	ws_client_free(second);
	server_finish(s);
}

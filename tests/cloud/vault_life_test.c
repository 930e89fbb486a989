/*
 * The life of a campaign over WebSocket, as its players see it.
 */
#include "support/server.h"
#include "support/tunnel_message.h"
#include "support/vault_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ISLAND "1122334455667788"
#define OTHER  "00000000000000aa"

TestSuite(vault_life, .timeout = 120);

/* The line of a text that names this player as a member. */
static const char *naming(char *out, size_t cap, const char *before, const char *key)
{
	uint8_t id[ID_BYTES];
	int     n = snprintf(out, cap, "%s\nplayer=id:", before);

	id_of(id, key);
	for (size_t i = 0; i < ID_BYTES; i++)
		n += snprintf(out + n, cap - (size_t)n, "%02X", id[i]);
	snprintf(out + n, cap - (size_t)n, "\tname\tgun");
	return out;
}

Test(vault_life, a_campaign_from_its_first_checkpoint_to_its_end)
{
	struct server    *s = server_start(NULL);
	struct ws_client *owner, *member, *stranger;
	struct checkpoint first, second;
	char              lines[300];

	naming(lines, sizeof(lines), "name=Ours\nlevel=Island\ncheckpoint=beach\nhostname=Anna", "member");
	checkpoint_make(&first, ISLAND, lines, 120000, 1);
	checkpoint_make(&second, ISLAND, "name=Ours\nlevel=Harbour\ncheckpoint=crane\nhostname=Bert", 90000, 2);
	owner    = vault_client(s->tunnel_port, "owner", NULL);
	member   = vault_client(s->tunnel_port, "member", NULL);
	stranger = vault_client(s->tunnel_port, "stranger", NULL);

	cr_expect_str_eq(vault_client_list(owner), "");
	cr_expect_eq(vault_client_put(owner, ISLAND, &first), 0);
	cr_expect_eq(vault_client_put(owner, ISLAND, &first), FAULT_TOO_OFTEN);
	cr_expect_str_eq(vault_client_list(owner), ISLAND "\town\t1700000000\tIsland\tbeach\tOurs\tAnna\t0");
	cr_expect_str_eq(vault_client_list(member), ISLAND "\tmember\t1700000000\tIsland\tbeach\tOurs\tAnna\t0");
	cr_expect_str_eq(vault_client_list(stranger), "");
	cr_expect_eq(vault_client_check(owner, ISLAND, 0, &first), 0);
	cr_expect_eq(vault_client_check(member, ISLAND, 0, &first), 0);
	cr_expect_eq(vault_client_check(member, ISLAND, 1, &first), FAULT_NOT_FOUND);

	cr_expect_eq(vault_client_begin(stranger, ISLAND, 100), FAULT_NOT_ALLOWED);
	cr_expect_eq(vault_client_check(stranger, ISLAND, 0, &first), FAULT_NOT_FOUND);
	cr_expect_eq(vault_client_forget(stranger, ISLAND), FAULT_NOT_FOUND);
	cr_expect_eq(vault_client_forget(owner, OTHER), FAULT_NOT_FOUND);

	cr_expect_eq(vault_client_put(member, ISLAND, &second), 0);
	cr_expect_str_eq(vault_client_list(owner), ISLAND "\town\t1700000000\tHarbour\tcrane\tOurs\tBert\t1");
	cr_expect_eq(vault_client_check(owner, ISLAND, 0, &second), 0);
	cr_expect_eq(vault_client_check(owner, ISLAND, 1, &first), 0);
	cr_expect_eq(vault_client_check(owner, ISLAND, 255, &first), 0);

	/* The ten seconds are over after eleven. Garbage is refused and changes nothing. */
	server_advance(s, 11000);
	cr_assert_eq(vault_client_begin(owner, ISLAND, 200), 0);
	vault_client_parts(owner, second.bytes + 5000, 200, 100);
	cr_expect_eq(vault_client_end(owner), FAULT_BAD_DATA);
	cr_expect_eq(vault_client_check(owner, ISLAND, 0, &second), 0);

	cr_expect_eq(vault_client_forget(member, ISLAND), 0);
	cr_expect_str_eq(vault_client_list(member), "");
	cr_expect_eq(vault_client_check(member, ISLAND, 0, &second), FAULT_NOT_FOUND);
	cr_expect_eq(vault_client_forget(member, ISLAND), FAULT_NOT_FOUND);

	cr_expect_eq(vault_client_forget(owner, ISLAND), 0);
	cr_expect_str_eq(vault_client_list(owner), "");
	cr_expect_eq(vault_client_check(owner, ISLAND, 0, &second), FAULT_NOT_FOUND);

	checkpoint_free(&first);
	checkpoint_free(&second);
	ws_client_free(owner);
	ws_client_free(member);
	ws_client_free(stranger);
	server_finish(s);
}

Test(vault_life, what_was_stored_is_there_after_a_restart)
{
	struct server    *s = server_start(NULL);
	struct ws_client *c = vault_client(s->tunnel_port, "owner", NULL);
	struct checkpoint cp;

	checkpoint_make(&cp, ISLAND, NULL, 300000, 3);
	cr_expect_eq(vault_client_put(c, ISLAND, &cp), 0);
	server_kill(s);
	ws_client_free(c);
	server_restart(s);
	c = vault_client(s->tunnel_port, "owner", NULL);
	cr_expect_eq(vault_client_check(c, ISLAND, 0, &cp), 0);
	checkpoint_free(&cp);
	ws_client_free(c);
	server_finish(s);
}

/*
 * coopd --import: the data folder of the Python relay comes in, the players find what they had, and what is wrong in it is said.
 */
#include "base/auto.h"
#include "support/campaign_client.h"
#include "support/data_folder.h"
#include "support/rest_client.h"
#include "support/server.h"
#include "support/tunnel_client.h"
#include "support/vault_client.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ISLAND "00000000000000a1"
#define HARBOR "00000000000000a2"
#define CAVE   "00000000000000a3"
#define BEACH  "00000000000000a4"

TestSuite(import, .timeout = 240);

/* --- The relay's folder --- */

static void put_file(const char *name, const void *bytes, size_t len)
{
	FILE *f = fopen(data_path(name), "we");

	cr_assert_not_null(f, "%s", name);
	cr_assert_eq(fwrite(bytes, 1, len, f), len);
	cr_assert_eq(fclose(f), 0);
}

static void put_text(const char *name, const char *text)
{
	put_file(name, text, strlen(text));
}

static void make_dir(const char *name)
{
	cr_assert_eq(mkdir(data_path(name), 0700), 0, "%s", name);
}

static void put_checkpoint(const char *name, const char *campaign, const char *lines, size_t save_len, unsigned seed)
{
	struct checkpoint cp;

	checkpoint_make(&cp, campaign, lines, save_len, seed);
	put_file(name, cp.bytes, cp.len);
	checkpoint_free(&cp);
}

/* A campaign with both checkpoints. member: a key's name, or NULL. */
static void put_campaign(const char *campaign, const char *owner, const char *member)
{
	char name[100], meta[400], lines[100] = "name=Island\nlevel=Beach\nstamp=1600000100\n", hex[PLAYER_HEX],
				   other[PLAYER_HEX];

	snprintf(name, sizeof(name), "relay/campaigns/%s", campaign);
	make_dir(name);
	snprintf(meta, sizeof(meta),
	         "{\"owner\":\"%s\",\"members\":[%s%s%s],\"created\":1600000000.5,\"updated\":1600000200,\"size\":null,"
	         "\"stamp\":1600000100,\"name\":\"Island\"}",
	         player_hex(hex, owner), member ? "\"" : "", member ? player_hex(other, member) : "",
	         member ? "\"" : "");
	snprintf(name, sizeof(name), "relay/campaigns/%s/meta.json", campaign);
	put_text(name, meta);
	snprintf(name, sizeof(name), "relay/campaigns/%s/prev.bin", campaign);
	put_checkpoint(name, campaign, "name=Before\n", 3000, 1);
	snprintf(name, sizeof(name), "relay/campaigns/%s/last.bin", campaign);
	put_checkpoint(name, campaign, lines, 4000, 2);
}

static void put_codes(const char *more)
{
	char text[800], a[PLAYER_HEX], b[PLAYER_HEX];

	snprintf(text, sizeof(text), "{\"%s\":[123456,1600000000],\"%s\":[234567,1600000000.75]%s}", player_hex(a, "A"),
	         player_hex(b, "B"), more);
	put_text("relay/codes.json", text);
}

static void make_relay(void)
{
	make_dir("relay");
	make_dir("relay/campaigns");
	put_codes("");
	put_campaign(ISLAND, "A", "B");
}

/* --- Running it --- */

static char said[20000];

static int import(const struct server *s, const char *option)
{
	char  command[400];
	FILE *f;

	snprintf(command, sizeof(command), "'%s' --data '%s' %s '%s' 2>&1", getenv("COOPD_BIN"), s->data, option,
	         data_path("relay"));
	f = popen(command, "r");
	cr_assert_not_null(f);
	said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
	return WEXITSTATUS(pclose(f));
}

static void expect_said(const char *text)
{
	cr_expect_not_null(strstr(said, text), "%s is not in:\n%s", text, said);
}

static void start(struct server *s)
{
	server_set(s, "limits.cloud_interval_ms=0");
	server_launch(s);
	server_await_ready(s);
}

/* --- */

Test(import, players_find_their_codes_and_campaigns)
{
	struct server    *s = server_prepare(NULL);
	uint32_t          code;
	struct checkpoint before, last;

	make_relay();
	checkpoint_make(&before, ISLAND, "name=Before\n", 3000, 1);
	checkpoint_make(&last, ISLAND, "name=Island\nlevel=Beach\nstamp=1600000100\n", 4000, 2);
	cr_expect_eq(import(s, "--import"), 0, "%s", said);
	expect_said("Codes:       2 imported, 0 here already, 0 left out\n");
	expect_said("Campaigns:   1 imported, 0 here already, 0 left out\n");
	expect_said("Checkpoints: 2 imported, 0 here already, 0 left out\n");
	cr_expect_eq(campaign_ask(s, "SELECT made_ms FROM campaigns"), INT64_C(1600000000000));
	cr_expect_eq(campaign_ask(s, "SELECT stored_ms FROM campaigns"), INT64_C(1600000200000));
	cr_expect_eq(campaign_ask(s, "SELECT used_ms FROM codes WHERE code = 234567"), INT64_C(1600000000000));
	start(s);

	struct ws_client *host = host_open(s->tunnel_port, "A", &code);
	cr_expect_eq(code, 123456);
	struct ws_client *owner  = vault_client(s->tunnel_port, "A", NULL),
			 *member = vault_client(s->tunnel_port, "B", NULL);
	cr_expect_str_eq(vault_client_list(owner), ISLAND "\town\t1600000100\tBeach\t\tIsland\t\t1");
	cr_expect_str_eq(vault_client_list(member), ISLAND "\tmember\t1600000100\tBeach\t\tIsland\t\t1");
	cr_expect_eq(vault_client_check(owner, ISLAND, 0, &last), 0);
	cr_expect_eq(vault_client_check(member, ISLAND, 1, &before), 0);
	cr_expect_eq(vault_client_put(member, ISLAND, &before), 0, "he goes on with it");
	campaign_check_sums(s);
	ws_client_free(host);
	ws_client_free(owner);
	ws_client_free(member);
	server_stop(s);
	cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM players WHERE substr(digest, 9) = zeroblob(24)"), 0,
	             "both have shown their keys");
	checkpoint_free(&before);
	checkpoint_free(&last);
	server_finish(s);
}

Test(import, once_more_changes_nothing_and_a_check_nothing_at_all)
{
	struct server *s = server_prepare(NULL);
	struct stat    st;
	char           database[100];

	make_relay();
	snprintf(database, sizeof(database), "%s/coop.db", s->data);
	cr_expect_eq(import(s, "--import-check"), 0, "%s", said);
	expect_said("Codes:       2 would come in, 0 here already, 0 left out\n");
	expect_said("Checkpoints: 2 would come in, 0 here already, 0 left out\n");
	cr_expect_eq(stat(database, &st), -1, "nothing was made");
	cr_expect_eq(import(s, "--import"), 0, "%s", said);
	start(s);

	/* Newer than what is imported. */
	struct ws_client *owner = vault_client(s->tunnel_port, "A", NULL);
	struct checkpoint newer;
	checkpoint_make(&newer, ISLAND, "name=Newer\n", 500, 3);
	cr_assert_eq(vault_client_put(owner, ISLAND, &newer), 0);
	cr_expect_eq(import(s, "--import"), 1, "a server runs: %s", said);
	expect_said("is in use by process");
	cr_expect_eq(import(s, "--import-check"), 0, "%s", said);
	expect_said("Campaigns:   0 would come in, 1 here already, 0 left out\n");
	ws_client_free(owner);
	server_stop(s);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(import(s, "--import"), 0, "%s", said);
		expect_said("Codes:       0 imported, 2 here already, 0 left out\n");
		expect_said("Campaigns:   0 imported, 1 here already, 0 left out\n");
	}
	start(s);
	owner = vault_client(s->tunnel_port, "A", NULL);
	cr_expect_eq(vault_client_check(owner, ISLAND, 0, &newer), 0);
	cr_expect_eq(vault_client_forget(owner, ISLAND), 0);
	ws_client_free(owner);
	server_stop(s);
	cr_expect_eq(import(s, "--import"), 3, "%s", said);
	expect_said("campaigns/" ISLAND ": the campaign was here, and was deleted; left out\n");
	checkpoint_free(&newer);
	server_finish(s);
}

/* Somebody who has the code already keeps it, and who has another one too. */
Test(import, codes_in_use_stay_with_whom_they_are)
{
	struct server *s = server_prepare(NULL);
	char           more[300], hex[PLAYER_HEX];
	uint32_t       code;

	start(s);
	ws_client_free(host_open(s->tunnel_port, "A", &code));
	ws_client_free(host_open(s->tunnel_port, "C", &code));
	server_stop(s);
	make_relay();
	snprintf(more, sizeof(more), ",\"%s\":[%u,1600000000]", player_hex(hex, "D"), (unsigned)code);
	put_codes(more);
	cr_expect_eq(import(s, "--import"), 3);
	expect_said("another player's here; left out");
	expect_said("the player has another code here; left out");
	expect_said("Codes:       1 imported, 0 here already, 2 left out\n");
	server_finish(s);
}

/* The check says what the import does, also of lines that are at odds with each other. */
Test(import, a_check_finds_what_is_there_twice)
{
	static const char *const options[] = { "--import-check", "--import" };
	struct server           *s         = server_prepare(NULL);

	make_relay();
	put_text("relay/codes.json", "{\"00000000000000e1\":[234567,1],\"00000000000000e2\":[234567,1],"
	                             "\"00000000000000E1\":[345678,1],\"00000000000000e3\":[123456.9,1],"
	                             "\"00000000000000e4\":[456789,1],\"00000000000000e4\" : [456780,1]}");
	for (size_t i = 0; i < COUNT_OF(options); i++) {
		cr_expect_eq(import(s, options[i]), 3, "%s", said);
		expect_said(i == 0 ? "Codes:       2 would come in, 0 here already, 4 left out\n"
		                   : "Codes:       2 imported, 0 here already, 4 left out\n");
		expect_said("codes.json/00000000000000e2: code 234567: this is another player's here; left out\n");
		expect_said("codes.json/00000000000000e1: code 345678: the player has another code here; left out\n");
		expect_said("codes.json/00000000000000e3: has no whole code and time; left out\n");
		expect_said("codes.json/00000000000000e4: stands there more than once; what stands last counts");
	}
	cr_expect_eq(campaign_ask(s, "SELECT code FROM codes WHERE player = x'00000000000000e4'"), 456780);
	server_finish(s);
}

static void put_bad_campaigns(void)
{
	char text[200], hex[PLAYER_HEX];

	/* Of another campaign; cut; a link; no checkpoint at all; lies about sizes. */
	put_campaign(HARBOR, "B", NULL);
	put_checkpoint("relay/campaigns/" HARBOR "/prev.bin", CAVE, "", 100, 4);
	cr_assert_eq(truncate(data_path("relay/campaigns/" HARBOR "/last.bin"), 3000), 0);
	put_campaign(CAVE, "B", NULL);
	unlink(data_path("relay/campaigns/" CAVE "/last.bin"));
	cr_assert_eq(symlink("prev.bin", data_path("relay/campaigns/" CAVE "/last.bin")), 0);
	put_campaign(BEACH, "B", NULL);
	snprintf(text, sizeof(text),
	         "{\"owner\":\"%s\",\"members\":[\"nobody\",7],\"size\":99,\"updated\":99999999999}",
	         player_hex(hex, "B"));
	put_text("relay/campaigns/" BEACH "/meta.json", text);
	cr_assert_eq(truncate(data_path("relay/campaigns/" BEACH "/prev.bin"), INT64_C(20) << 20), 0,
	             "sparse, and too large");
	make_dir("relay/campaigns/00000000000000b1");
	put_text("relay/campaigns/00000000000000b1/meta.json", "{\"owner\":\"x\"}");
	make_dir("relay/campaigns/00000000000000b2");
	put_text("relay/campaigns/00000000000000b2/meta.json", "[1");
	make_dir("relay/campaigns/no\xff\x1bid");
	put_text("relay/campaigns/00000000000000b3", "no folder");
	cr_assert_eq(symlink(ISLAND, data_path("relay/campaigns/00000000000000b4")), 0);
	make_dir("relay/campaigns/00000000000000b5");
	cr_assert_eq(mkfifo(data_path("relay/campaigns/00000000000000b5/meta.json"), 0600), 0);
}

Test(import, what_is_wrong_is_said_and_the_rest_comes_in)
{
	struct server *s = server_prepare(NULL);

	make_relay();
	put_codes(",\"xyz\":[1,2],\"00000000000000e1\":[99,1],\"00000000000000e2\":7,\"00000000000000e3\":[123456,1],"
	          "\"00000000000000E4\":[345678,99999999999],\"00000000000000e5\":[1e300,1]");
	put_bad_campaigns();
	cr_expect_eq(import(s, "--import-check"), 3, "%s", said);
	expect_said("Campaigns:   3 would come in, 0 here already, 7 left out\n");
	cr_expect_eq(import(s, "--import"), 3, "%s", said);
	expect_said("codes.json/xyz: is no player's id; left out\n");
	expect_said("codes.json/00000000000000e1: has a number that is no code; left out\n");
	expect_said("codes.json/00000000000000e2: has no whole code and time; left out\n");
	expect_said("codes.json/00000000000000e3: code 123456: this is another player's here; left out\n");
	expect_said("codes.json/00000000000000e5: has no whole code and time; left out\n");
	expect_said("Codes:       3 imported, 0 here already, 5 left out\n");
	expect_said("campaigns/" HARBOR "/prev.bin: is damaged, or of another campaign; left out\n");
	expect_said("campaigns/" HARBOR "/last.bin: is damaged, or of another campaign; left out\n");
	expect_said("campaigns/" HARBOR ": no checkpoint of it is good; the campaign is left out\n");
	expect_said("campaigns/" CAVE "/last.bin: is a link; left out\n");
	expect_said("campaigns/" BEACH "/last.bin: meta.json says another size; taken as it is\n");
	expect_said("campaigns/" BEACH "/prev.bin: is larger than it may be; left out\n");
	expect_said("campaigns/" BEACH "/meta.json: has members that are no ids");
	expect_said("b1/meta.json: names no owner; the campaign is left out\n");
	expect_said("b2/meta.json: is no object of JSON; the campaign is left out\n");
	expect_said("campaigns/no\\xff\\x1bid: its name is no campaign's id; the campaign is left out\n");
	expect_said("b3: it is no folder; the campaign is left out\n");
	expect_said("b4: it is no folder; the campaign is left out\n");
	expect_said("b5/meta.json: is no plain file; the campaign is left out\n");
	expect_said("Campaigns:   3 imported, 0 here already, 7 left out\n");
	expect_said("Checkpoints: 4 imported, 0 here already, 4 left out\n");
	cr_expect_eq(campaign_ask(s,
	                          "SELECT count(*) FROM campaigns WHERE stored_ms > unixepoch('now') * 1000 + 60000"),
	             0, "nothing is of tomorrow");
	cr_expect_eq(campaign_files(s, ".tmp"), 0);
	campaign_check_sums(s);
	cr_expect_eq(import(s, "--import"), 3, "%s", said);
	expect_said("Campaigns:   0 imported, 3 here already, 7 left out\n");
	server_finish(s);
}

Test(import, a_folder_that_is_none_and_files_that_are_broken)
{
	struct server *s = server_prepare(NULL);

	cr_expect_eq(import(s, "--import"), 1);
	expect_said("is no folder that can be read");
	make_dir("relay");
	cr_expect_eq(import(s, "--import"), 3);
	expect_said("codes.json: is not there; no code was imported\n");
	expect_said("campaigns: is no folder that can be read; no campaign was imported\n");
	put_text("relay/codes.json", "{\"a\":");
	cr_expect_eq(import(s, "--import"), 3);
	expect_said("codes.json: is no object of JSON; no code was imported\n");
	server_finish(s);
}

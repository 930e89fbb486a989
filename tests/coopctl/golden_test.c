/*
 * Every command against an API that answers from files: what programs read (--json) and what people read are the files
 * golden/NAME.json and golden/NAME.txt. With COOPCTL_GOLDEN=write in the environment they are written anew, to be looked
 * at in the difference.
 */
#include "support/canned_api.h"
#include "support/coopctl.h"
#include "support/data_folder.h"
#include "support/vectors.h"

#include "base/auto.h"
#include "os/file.h"

#include <criterion/criterion.h>

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* name: of the golden files. Those of commands that show; what they do not find is told by their exit status elsewhere. */
static const struct shown {
	const char *name, *words;
} shown[] = {
	{ "status", "status" },
	{ "games", "games" },
	{ "games_player", "games list --player 00112233445566aa" },
	{ "games_show", "games show 123456" },
	{ "players", "players" },
	{ "players_code", "players list --code 123456" },
	{ "players_none", "players --find ee" },
	{ "players_show", "players show 123456" },
	{ "campaigns", "campaigns list" },
	{ "campaigns_filters",
	  "campaigns list --find island --owner 00112233445566aa --min-bytes 10M --older-than 30d --trash also" },
	{ "campaigns_trash", "campaigns --trash only" },
	{ "campaigns_pages", "campaigns --level pages" },
	{ "campaigns_show", "campaigns show ada" },
	{ "quota", "quota" },
	{ "quota_players", "quota players" },
	{ "quota_campaigns", "quota campaigns" },
	{ "quota_player", "quota player 00112233445566AA" },
	{ "quota_campaign", "quota campaign ada" },
	{ "blobs", "blobs" },
	{ "lobbies", "lobbies" },
	{ "signal", "signal" },
	{ "rooms", "rooms" },
	{ "rooms_show", "rooms show 7" },
	{ "rooms_players", "rooms players" },
	{ "boards", "boards" },
	{ "boards_show", "boards show racer laps" },
	{ "p2p", "p2p" },
	{ "p2p_rooms", "p2p rooms" },
	{ "p2p_show", "p2p show ABCD" },
	{ "bans", "bans" },
	{ "bans_kind", "bans list --kind player" },
	{ "tokens", "tokens" },
	{ "audit", "audit" },
	{ "audit_limit", "audit --limit 1" },
	{ "audit_none", "audit --since 2h --action campaign.revoke" },
	{ "settings", "settings" },
	{ "settings_changed", "settings --changed" },
	{ "settings_some", "settings tunnel" },
	{ "backup_status", "backup --status" },
	{ "drain_status", "drain --status" },
	/* What changes something, done. */
	{ "games_close", "games close 123456 --yes" },
	{ "games_kick", "games kick 123456 2 --yes" },
	{ "players_free_code", "players free-code 123456 -y" },
	{ "players_set_code", "players set-code 00112233445566aa 654321 --yes" },
	{ "players_forget", "players forget 123456 --transfer-to 8899aabbccddeeff --name 'Ada L.' --yes" },
	{ "campaigns_revoke", "campaigns revoke ada --yes" },
	{ "campaigns_unrevoke", "campaigns unrevoke old --number 2" },
	{ "campaigns_purge", "campaigns purge old --yes" },
	{ "campaigns_transfer", "campaigns transfer ada 8899aabbccddeeff --force --yes" },
	{ "campaigns_add_member", "campaigns add-member ada 123456" },
	{ "campaigns_remove_member", "campaigns remove-member ada 8899aabbccddeeff --yes" },
	{ "campaigns_restore", "campaigns restore ada 8 --yes" },
	{ "quota_player_set", "quota player 123456 --campaigns 40" },
	{ "quota_campaign_set", "quota campaign ada --bytes 256M --reset" },
	{ "blobs_sweep", "blobs sweep --yes" },
	{ "lobbies_remove", "lobbies remove a1b2c3d4e5f60718 --yes" },
	{ "signal_close", "signal close 9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f --yes" },
	{ "rooms_close", "rooms close 7 --yes" },
	{ "rooms_kick", "rooms kick 7 2 --yes" },
	{ "rooms_disconnect", "rooms disconnect 12 --yes" },
	{ "boards_remove_score", "boards remove-score racer laps 'Ada L.' --yes" },
	{ "boards_reset", "boards reset racer laps --yes" },
	{ "boards_reset_key", "boards reset Café laps --yes" },
	{ "boards_import", "boards import racer laps laps.csv --yes" },
	{ "p2p_disconnect", "p2p disconnect 00112233445566aa --yes" },
	{ "p2p_close", "p2p close ABCD --yes" },
	{ "bans_add", "bans add 192.0.2.0/24 --reason floods --expires 7d --yes" },
	{ "bans_remove", "bans remove 192.0.2.0/24" },
	{ "tokens_add", "tokens add ci --expires 30d" },
	{ "tokens_revoke", "tokens revoke 3 --yes" },
	{ "web", "web" },
	{ "backup", "backup /var/backups/coopd" },
	{ "drain", "drain --deadline 30m --yes" },
	{ "drain_cancel", "drain --cancel" },
	{ "drain_hand_over", "drain --hand-over --yes" },
	{ "drain_hand_over_try", "drain --hand-over --dry-run" },
	{ "reload", "reload" },
	/* And only tried. */
	{ "games_close_try", "games close 123456 --dry-run" },
	{ "players_forget_try", "players forget 123456 --delete --dry-run" },
	{ "players_forget_undecided", "players forget 8899aabbccddeeff --dry-run" },
	{ "campaigns_revoke_try", "campaigns revoke ada -n" },
	{ "bans_add_try", "bans add 192.0.2.0/24 --dry-run" },
	{ "tokens_add_try", "tokens add ci --dry-run" },
	{ "web_try", "web --dry-run" },
	{ "reload_try", "reload --dry-run" },
};

static void write_csv(void)
{
	static const char csv[] = "name,score,comment,recorded_at\nBob,-5,,2026-10-02T11:00:00Z\n";

	cr_assert_eq(file_write(data_path("laps.csv"), csv, strlen(csv), 0600), ERR_OK);
}

static bool must_write(void)
{
	const char *word = getenv("COOPCTL_GOLDEN");

	return word && strcmp(word, "write") == 0;
}

/* The file of this name is what coopctl said. */
static void expect_golden(const char *name, const char *ending, const char *said)
{
	char                  below[100], path[PATH_MAX];
	AUTO(auto_free) char *want = NULL;
	size_t                len  = 0;

	snprintf(below, sizeof(below), "vectors/coopctl/golden/%s.%s", name, ending);
	tests_path(path, sizeof(path), below);
	if (must_write())
		cr_assert_eq(file_write(path, said, strlen(said), 0644), ERR_OK);
	cr_assert_eq(file_read(&want, &len, path, 1024 * 1024), ERR_OK, "there is no %s", path);
	cr_expect_str_eq(said, want, "%s: coopctl says\n%s\nand not\n%s", name, said, want);
}

static char *both_said(const struct coopctl_result *r)
{
	char *all = NULL;

	cr_assert_geq(asprintf(&all, "%s%s%s", r->out, *r->err ? "--- standard error\n" : "", r->err), 0);
	return all;
}

Test(coopctl_golden, what_people_read_is_as_it_was_looked_at)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	write_csv();
	for (size_t i = 0; i < COUNT_OF(shown); i++) {
		AUTO(coopctl_freep) struct coopctl_result r   = coopctl(&run, shown[i].words);
		AUTO(auto_free) char                     *all = both_said(&r);

		cr_expect_eq(r.status, 0, "%s: %d, %s", shown[i].words, r.status, r.err);
		expect_golden(shown[i].name, "txt", all);
	}
	canned_stop(api);
}

/* Programs find one JSON object on standard output and nothing beside it. */
Test(coopctl_golden, what_programs_read_is_stable)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	write_csv();
	for (size_t i = 0; i < COUNT_OF(shown); i++) {
		char words[400];

		snprintf(words, sizeof(words), "%s --json", shown[i].words);

		AUTO(coopctl_freep) struct coopctl_result r    = coopctl(&run, words);
		json_t                                   *read = json_loads(r.out, 0, NULL);

		cr_expect_eq(r.status, 0, "%s: %d, %s", words, r.status, r.err);
		cr_expect_str_eq(r.err, "", "%s", words);
		cr_expect(json_is_object(read), "%s: no object: %s", words, r.out);
		json_decref(read);
		expect_golden(shown[i].name, "json", r.out);
	}
	canned_stop(api);
}

/* Whether words begin with these, or are the group alone, which means its first command. */
static bool is_shown(const char *command, const char *group, bool is_first)
{
	static const char *const others[] = { "help",          "completions", "campaigns download",
		                              "boards export", "events",      "top",
		                              "doctor",        "publish" };
	size_t                   len      = strlen(command);

	for (size_t i = 0; i < COUNT_OF(shown) + COUNT_OF(others); i++) {
		const char *words = i < COUNT_OF(shown) ? shown[i].words : others[i - COUNT_OF(shown)];

		if (strncmp(words, command, len) == 0 && (words[len] == ' ' || words[len] == '\0'))
			return true;
		if (is_first && strcmp(words, group) == 0)
			return true;
	}
	return false;
}

/* "quota\-x" of a roff line without its backslashes. */
static void take_out_backslashes(char *text)
{
	for (char *at; (at = strchr(text, '\\'));)
		memmove(at, at + 1, strlen(at));
}

/* What the manual page has as .SS coopctl GROUP COMMAND ARGS; other files test those that are named in is_shown. */
Test(coopctl_golden, no_command_is_left_out)
{
	AUTO(coopctl_freep) struct coopctl_result man        = coopctl(&(struct coopctl_run){ 0 }, "--man");
	char                                      before[40] = "", *rest = man.out;
	size_t                                    commands = 0;

	for (char *line; (line = strsep(&rest, "\n"));) {
		char group[40] = "", command[40] = "", both[100];

		if (sscanf(line, ".SS coopctl %39s %39s", group, command) < 1)
			continue;
		/* An argument is in capitals. */
		if (command[0] < 'a' || command[0] > 'z')
			command[0] = '\0';
		snprintf(both, sizeof(both), "%s%s%s", group, *command ? " " : "", command);
		take_out_backslashes(both);
		cr_expect(is_shown(both, group, strcmp(group, before) != 0), "coopctl %s is in no golden file", both);
		strcpy(before, group);
		commands++;
	}
	cr_expect_gt(commands, 50);
}

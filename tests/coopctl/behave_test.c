/* How coopctl ends, asks, and finds what is meant: against an API that answers from files. */
#include "support/canned_api.h"
#include "support/coopctl.h"
#include "support/data_folder.h"
#include "support/dial.h"

#include "base/auto.h"
#include "os/file.h"

#include <criterion/criterion.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* It ends with this status, and says this on standard error ("": nothing). */
static void expect_end(const struct coopctl_run *run, const char *words, int status, const char *said)
{
	AUTO(coopctl_freep) struct coopctl_result r = coopctl(run, words);

	cr_expect_eq(r.status, status, "%s: ends with %d and %s", words, r.status, r.err);
	cr_expect(*said ? strstr(r.err, said) != NULL : *r.err == '\0', "%s: says %s, and not %s", words, r.err, said);
}

/* The code of {"error":{"code"}} on standard error. */
static void expect_json_error(const struct coopctl_run *run, const char *words, int status, const char *code)
{
	AUTO(coopctl_freep) struct coopctl_result r    = coopctl(run, words);
	json_t                                   *read = json_loads(r.err, 0, NULL);
	const char                               *is = NULL, *message = NULL;

	json_unpack(read, "{s:{s:s,s:s}}", "error", "code", &is, "message", &message);
	cr_expect_eq(r.status, status, "%s: %d", words, r.status);
	cr_expect(is && message && *message && strcmp(is, code) == 0, "%s: %s", words, r.err);
	cr_expect_str_eq(r.out, "", "%s", words);
	json_decref(read);
}

static size_t count_asked(struct canned_api *api, const char *beginning)
{
	size_t count = 0;

	for (size_t i = 0; i < canned_count(api); i++)
		count += strncmp(canned_asked(api, i), beginning, strlen(beginning)) == 0;
	return count;
}

/* The only player known would be meant by the empty beginning of an id. */
Test(coopctl_behave, an_empty_id_asks_nothing_of_the_server)
{
	static const char *const words[][8] = { { "players", "forget", "", "-y", NULL },
		                                { "players", "show", "", NULL },
		                                { "campaigns", "revoke", "", "-y", NULL },
		                                { "games", "close", "", "-y", NULL },
		                                { "lobbies", "remove", " ", "-y", NULL },
		                                { "tokens", "revoke", "", "-y", NULL },
		                                { "players", "forget", "x", "--transfer-to", "", "-y", NULL } };
	struct canned_api       *api        = canned_start();
	const struct coopctl_run run        = { .socket = canned_socket(api) };

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		AUTO(coopctl_freep) struct coopctl_result r = coopctl_args(&run, words[i]);

		cr_expect_eq(r.status, 2, "%s %s: %d %s", words[i][0], words[i][1], r.status, r.err);
		cr_expect_not_null(strstr(r.err, "is empty"), "%s", r.err);
	}
	cr_expect_eq(canned_count(api), 0);
	canned_stop(api);
}

/* --- Exit status by kind of failure --- */

Test(coopctl_behave, the_exit_status_tells_what_kind_of_failure_it_was)
{
	static const struct {
		int         status, exit;
		const char *code, *says;
	} cases[] = {
		{ 400, 1, "malformed", "[malformed]" },
		{ 401, 5, "token", "as the user coopd runs as" },
		{ 403, 5, "role", "needs a token of an operator" },
		{ 403, 5, "origin", "[origin]" },
		{ 404, 4, "not_found", "[not_found]" },
		{ 404, 1, "part_off", "switched off" },
		{ 405, 1, "method", "[method]" },
		{ 409, 7, "exists", "[exists]" },
		{ 409, 7, "force", "--force" },
		{ 413, 1, "too_big", "[too_big]" },
		{ 421, 1, "host", "admin.hosts" },
		{ 422, 1, "invalid", "[invalid]" },
		{ 503, 1, "store_busy", "try again" },
		{ 503, 1, "draining", "[draining]" },
		{ 507, 1, "no_space", "takes the space" },
	};
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char answer[200];

		snprintf(answer, sizeof(answer), "{\"error\":{\"code\":\"%s\",\"message\":\"so it is\"}}",
		         cases[i].code);
		canned_put(api, "GET /admin/v1/status", cases[i].status, answer);
		expect_end(&run, "status", cases[i].exit, "so it is");
		expect_end(&run, "status", cases[i].exit, cases[i].says);
		expect_json_error(&run, "status --json", cases[i].exit, cases[i].code);
	}
	canned_stop(api);
}

Test(coopctl_behave, a_server_that_is_not_there_is_exit_3)
{
	const struct coopctl_run run = { .socket = data_path("nobody.sock") };
	const struct coopctl_run tcp = { .env = (const char *const[]){ "COOPCTL_TOKEN=" TOKEN, NULL } };

	expect_end(&run, "status", 3, "does coopd run?");
	expect_json_error(&run, "status --json", 3, "unreachable");
	expect_end(&tcp, "status --url http://127.0.0.1:9", 3, "cannot be reached");

	/* A socket that nobody listens on any more. */
	struct canned_api *api = canned_start();
	char               path[200];

	snprintf(path, sizeof(path), "%s", canned_socket(api));
	canned_stop(api);
	expect_end(&(struct coopctl_run){ .socket = path }, "status", 3, "nobody listens");
}

Test(coopctl_behave, what_is_no_coopd_is_told_so)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	canned_put(api, "GET /admin/v1/status", 200, "<html>hello</html>");
	expect_end(&run, "status", 3, "no API of a coopd");
	canned_put(api, "GET /admin/v1/status", 502, "<html>bad gateway</html>");
	expect_end(&run, "status", 3, "no API of a coopd");
	canned_put(api, "GET /admin/v1/status", 404, "{\"error\":\"none\"}");
	expect_end(&run, "status", 3, "no API of a coopd");
	canned_put(api, "GET /admin/v1/games?limit=1000", 200, "{\"items\":7,\"next\":null}");
	expect_end(&run, "games", 1, "makes no sense");
	canned_stop(api);
}

Test(coopctl_behave, mistakes_on_the_command_line_are_exit_2_and_ask_nothing)
{
	static const char *const words[][2] = {
		{ "", "coopctl --help" },
		{ "gaems", "did you mean \"games\"" },
		{ "games shwo 1", "did you mean \"show\"" },
		{ "games show", "CODE is missing" },
		{ "games show 1 2", "one word too many" },
		{ "games --hots x", "did you mean --host" },
		{ "games --host", "needs a value" },
		{ "games --host a --host b", "given twice" },
		{ "games --json=yes", "takes no value" },
		{ "campaigns --trash maybe", "no only also" },
		{ "campaigns --min-bytes much", "a size" },
		{ "campaigns --older-than 5h", "number of days" },
		{ "audit --since yesterday", "a moment" },
		{ "audit --since 2026-13-41", "a moment" },
		{ "bans add 192.0.2.1 --address --player", "of one kind" },
		{ "bans add 203.0.113.256", "with a slip in it" },
		{ "bans add 00112233445566", "with a slip in it" },
		{ "bans add 192.0.2.1 --expires soon", "a time" },
		{ "drain --status --cancel", "only one of" },
		{ "drain --hand-over --cancel", "only one of" },
		{ "backup", "where to" },
		{ "campaigns download ada", "where to" },
		{ "campaigns restore ada newest", "no version" },
		{ "completions fish", "bash and zsh" },
		{ "help gaems", "no command" },
		{ "status --token " TOKEN, "can be read by everybody" },
		{ "status --token=" TOKEN, "can be read by everybody" },
		{ "status --url http://127.0.0.1:1", "exclude each other" },
		{ "boards import racer laps nowhere.csv", "cannot be read" },
	};
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		char json[200];

		expect_end(&run, words[i][0], 2, words[i][1]);
		snprintf(json, sizeof(json), "%s --json", words[i][0]);
		expect_json_error(&run, json, 2, "usage");
	}
	cr_expect_eq(canned_count(api), 0, "asked: %s", canned_asked(api, 0));
	canned_stop(api);
}

Test(coopctl_behave, problems_of_a_configuration_are_all_listed)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	canned_put(api, "POST /admin/v1/reload", 422,
	           "{\"error\":{\"code\":\"invalid\",\"message\":\"nothing was changed\"},"
	           "\"problems\":[\"coopd.conf:3: log.level\",\"coopd.conf:9: \\u001b[2J\"]}");
	expect_end(&run, "reload", 1, "coopd.conf:3: log.level");
	expect_end(&run, "reload", 1, "coopd.conf:9: \\x1b[2J");
	canned_put(api, "POST /admin/v1/reload", 422,
	           "{\"error\":{\"code\":\"invalid\",\"message\":\"nothing changed: a.conf:3: no\\na.conf:9: "
	           "\\u001b[2J\\n\"}}");
	expect_end(&run, "reload", 1, "coopctl: nothing changed: a.conf:3: no\n  a.conf:9: \\x1b[2J [invalid]\n");
	canned_stop(api);
}

/* --- Lists --- */

Test(coopctl_behave, lists_are_whole_or_cut_where_it_was_said)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	AUTO(coopctl_freep) struct coopctl_result all  = coopctl(&run, "campaigns --level pages --json");
	json_t                                   *list = json_loads(all.out, 0, NULL);

	cr_expect_eq(json_array_size(json_object_get(list, "items")), 7);
	cr_expect_eq(canned_count(api), 3);
	json_decref(list);

	AUTO(coopctl_freep) struct coopctl_result some = coopctl(&run, "campaigns --level pages --json --limit 4");

	list = json_loads(some.out, 0, NULL);
	cr_expect_eq(json_array_size(json_object_get(list, "items")), 4);
	cr_expect_eq(canned_count(api), 5, "the third page is not asked for");
	json_decref(list);
	expect_end(&run, "campaigns --level endless", 1, "makes no sense");
	canned_stop(api);
}

/* --- Names --- */

Test(coopctl_behave, a_campaign_is_found_by_a_part_of_its_name)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	expect_end(&run, "campaigns revoke ada --yes", 0, "");
	expect_end(&run, "campaigns revoke nothing --yes", 4, "no campaigns by \"nothing\"");
	expect_end(&run, "players show 999999", 4, "no players");
	canned_stop(api);
}

Test(coopctl_behave, a_name_that_several_have_does_nothing_and_lists_them)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	expect_end(&run, "campaigns revoke island --yes", 7, "give the id of one");
	expect_end(&run, "campaigns revoke island --yes", 7, "0123456789abcdef");
	expect_end(&run, "campaigns revoke island --yes", 7, "\\x1b[2J");
	expect_json_error(&run, "campaigns revoke island --yes --json", 7, "ambiguous");
	cr_expect_eq(count_asked(api, "DELETE"), 0);

	expect_end(&run, "bans remove 203.0.113.1", 4, "no ban");

	/* One that is called exactly so is meant. */
	AUTO(coopctl_freep)
	struct coopctl_result r =
		coopctl_args(&run, (const char *const[]){ "campaigns", "revoke", "Ada's island", "--yes", NULL });

	cr_expect_eq(r.status, 0, "%s", r.err);
	cr_expect_eq(count_asked(api, "DELETE /admin/v1/campaigns/0123456789abcdef"), 1);
	canned_stop(api);
}

/* --- Requests --- */

static const char *last_asked(struct canned_api *api)
{
	return canned_asked(api, canned_count(api) - 1);
}

Test(coopctl_behave, what_is_asked_of_the_server_is_what_the_words_say)
{
	static const char *const cases[][2] = {
		{ "campaigns transfer ada 8899aabbccddeeff --force --yes",
		  "POST /admin/v1/campaigns/0123456789abcdef/owner {\"player\":\"8899aabbccddeeff\",\"force\":true}" },
		{ "campaigns transfer ada 8899AABBCCDDEEFF --yes",
		  "POST /admin/v1/campaigns/0123456789abcdef/owner {\"player\":\"8899aabbccddeeff\"}" },
		{ "campaigns unrevoke old --number 2",
		  "POST /admin/v1/campaigns/1111111111111111/unrevoke {\"number\":2}" },
		{ "campaigns restore ada 8 --yes",
		  "POST /admin/v1/campaigns/0123456789abcdef/restore {\"version\":8}" },
		{ "players set-code 123456 --yes", "POST /admin/v1/players/00112233445566aa/code {}" },
		{ "players set-code 123456 654321 --yes",
		  "POST /admin/v1/players/00112233445566aa/code {\"code\":654321}" },
		{ "quota player 123456 --campaigns 40", "PUT /admin/v1/quotas/players/00112233445566aa "
		                                        "{\"campaigns\":40,\"bytes\":134217728,\"checkpoint\":null}" },
		{ "quota player 123456 --campaigns 40 --reset",
		  "PUT /admin/v1/quotas/players/00112233445566aa "
		  "{\"campaigns\":40,\"bytes\":null,\"checkpoint\":null}" },
		{ "quota campaign ada --bytes 256M",
		  "PUT /admin/v1/quotas/campaigns/0123456789abcdef {\"bytes\":268435456,\"checkpoint\":null}" },
		{ "bans add 192.0.2.0/24 --reason floods --expires 7d --yes",
		  "POST /admin/v1/bans "
		  "{\"kind\":\"address\",\"value\":\"192.0.2.0/24\",\"reason\":\"floods\",\"expires_s\":604800}" },
		{ "bans add 2001:db8::/48 --force --yes",
		  "POST /admin/v1/bans "
		  "{\"kind\":\"address\",\"value\":\"2001:db8::/48\",\"reason\":\"\",\"force\":true}" },
		{ "bans add 00112233445566aa --yes",
		  "POST /admin/v1/bans {\"kind\":\"player\",\"value\":\"00112233445566aa\",\"reason\":\"\"}" },
		{ "bans add " TOKEN " --yes",
		  "POST /admin/v1/bans {\"kind\":\"identity\",\"value\":\"" TOKEN "\",\"reason\":\"\"}" },
		{ "bans add racer/Mallory --yes",
		  "POST /admin/v1/bans {\"kind\":\"name\",\"value\":\"racer/Mallory\",\"reason\":\"\"}" },
		{ "bans add 192.0.2.1 --name --yes",
		  "POST /admin/v1/bans {\"kind\":\"name\",\"value\":\"192.0.2.1\",\"reason\":\"\"}" },
		{ "tokens add ci --role operator --never-expires",
		  "POST /admin/v1/tokens {\"name\":\"ci\",\"role\":\"operator\",\"expires_s\":0}" },
		{ "tokens add ci", "POST /admin/v1/tokens {\"name\":\"ci\",\"role\":\"viewer\"}" },
		{ "web --role viewer", "POST /admin/v1/login {\"role\":\"viewer\"}" },
		{ "drain --deadline 30m --yes", "POST /admin/v1/drain {\"deadline_s\":1800}" },
		{ "drain --yes", "POST /admin/v1/drain {}" },
		{ "drain --hand-over --yes", "POST /admin/v1/handover {}" },
		{ "drain --hand-over --deadline 30m --yes", "POST /admin/v1/handover {\"deadline_s\":1800}" },
		{ "backup /var/backups/coopd", "POST /admin/v1/backup {\"dest\":\"/var/backups/coopd\"}" },
		{ "blobs sweep --yes", "POST /admin/v1/blobs/sweep {\"confirm\":true}" },
		{ "boards remove-score racer laps 'Ada L.' --yes",
		  "DELETE /admin/v1/boards/racer/laps/scores/~416461204c2e" },
		{ "games show ../players?x=1#y", "GET /admin/v1/games/..%2Fplayers%3Fx%3D1%23y" },
		{ "games show ..", "GET /admin/v1/games/%2E%2E" },
		{ "audit --since 2026-12-01 --until 1h",
		  "GET /admin/v1/audit?since=2026-12-01T00%3A00%3A00Z&until=2026-12-01T11%3A00%3A00Z&limit=1000" },
	};
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct coopctl_result r = coopctl(&run, cases[i][0]);

		cr_expect_str_eq(last_asked(api), cases[i][1], "%s: asks %s", cases[i][0], last_asked(api));
		coopctl_freep(&r);
	}
	canned_stop(api);
}

/* --- Asking before --- */

/* What is to be decided is said first, and nothing is asked. */
Test(coopctl_behave, forgetting_an_owner_needs_a_decision)
{
	struct canned_api *api = canned_start();
	struct coopctl_run run = { .socket = canned_socket(api) };

	expect_end(&run, "players forget 8899aabbccddeeff --dry-run", 0, "");
	expect_end(&run, "players forget 8899aabbccddeeff", 7, "A decision is needed");
	cr_expect_eq(count_asked(api, "POST /admin/v1/players/8899aabbccddeeff/forget "), 0);
	expect_end(&run, "players forget 8899aabbccddeeff --yes", 7, "they are: 0123456789abcdef fedcba9876543210");
	canned_stop(api);
}

static const char *const destroying[] = {
	"games close 123456",
	"games kick 123456 2",
	"players free-code 123456",
	"players set-code 123456",
	"players forget 123456 --delete",
	"campaigns revoke ada",
	"campaigns purge old",
	"campaigns transfer ada 8899aabbccddeeff",
	"campaigns remove-member ada 8899aabbccddeeff",
	"campaigns restore ada 8",
	"blobs sweep",
	"lobbies remove a1b2c3d4e5f60718",
	"rooms close 7",
	"rooms kick 7 2",
	"rooms disconnect 12",
	"boards remove-score racer laps 'Ada L.'",
	"boards reset racer laps",
	"p2p disconnect 00112233445566aa",
	"p2p close ABCD",
	"bans add 192.0.2.0/24",
	"tokens revoke 3",
	"drain",
	"drain --hand-over",
};

/* Of what changes something, only what is tried may have been asked. */
static void expect_only_tried(struct canned_api *api, const char *words)
{
	for (size_t i = 0; i < canned_count(api); i++) {
		const char *asked = canned_asked(api, i);

		cr_expect(strncmp(asked, "GET ", 4) == 0 || strstr(asked, "dry_run=true"), "%s: %s", words, asked);
	}
}

Test(coopctl_behave, nothing_is_destroyed_without_a_yes)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	for (size_t i = 0; i < COUNT_OF(destroying); i++) {
		expect_end(&run, destroying[i], 6, "--yes says that it is meant");
		expect_end(&run, destroying[i], 6, "This would ");
		expect_only_tried(api, destroying[i]);
	}
	expect_json_error(&run, "games close 123456 --json", 6, "not_confirmed");
	expect_only_tried(api, "--json");
	canned_stop(api);
}

Test(coopctl_behave, a_dry_run_only_tries)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	for (size_t i = 0; i < COUNT_OF(destroying); i++) {
		char words[200];

		snprintf(words, sizeof(words), "%s --dry-run --yes", destroying[i]);
		expect_end(&run, words, 0, "");
		expect_only_tried(api, words);
	}
	expect_end(&run, "campaigns unrevoke old --dry-run", 0, "");
	expect_end(&run, "bans remove 3 --dry-run", 0, "");
	expect_end(&run, "drain --cancel -n", 0, "");
	expect_end(&run, "reload -n", 0, "");
	expect_only_tried(api, "others");
	canned_stop(api);
}

Test(coopctl_behave, at_a_terminal_a_person_is_asked)
{
	struct canned_api *api = canned_start();
	struct coopctl_run run = { .socket = canned_socket(api), .on_terminal = true, .typed = "n\n" };

	AUTO(coopctl_freep) struct coopctl_result no = coopctl(&run, "games close 123456");

	cr_expect_eq(no.status, 6);
	cr_expect_not_null(strstr(no.out, "This would end game 123456"), "%s", no.out);
	cr_expect_not_null(strstr(no.out, "Go on? [y/N]"), "%s", no.out);
	cr_expect_not_null(strstr(no.out, "nothing was done"), "%s", no.out);
	run.typed                                       = "\n";
	AUTO(coopctl_freep) struct coopctl_result enter = coopctl(&run, "games close 123456");

	cr_expect_eq(enter.status, 6);
	expect_only_tried(api, "n");

	run.typed                                     = "y\n";
	AUTO(coopctl_freep) struct coopctl_result yes = coopctl(&run, "games close 123456");

	cr_expect_eq(yes.status, 0, "%s", yes.out);
	cr_expect_not_null(strstr(yes.out, "is closed"), "%s", yes.out);
	cr_expect_str_eq(last_asked(api), "DELETE /admin/v1/games/123456");
	canned_stop(api);
}

/* What the server would refuse is said before anybody is asked. */
Test(coopctl_behave, what_cannot_be_is_not_asked_about)
{
	struct canned_api *api = canned_start();
	struct coopctl_run run = { .socket = canned_socket(api), .on_terminal = true };

	AUTO(coopctl_freep) struct coopctl_result r = coopctl(&run, "players set-code 8899aabbccddeeff 123456");

	cr_expect_eq(r.status, 7, "%s", r.out);
	cr_expect_null(strstr(r.out, "[y/N]"), "%s", r.out);
	canned_stop(api);
}

/* --- Tokens and places --- */

Test(coopctl_behave, a_token_comes_from_a_file_or_the_environment)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .env = (const char *const[]){ "COOPCTL_TOKEN=" TOKEN, NULL } };
	char                     url[60], words[200];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d", canned_port(api));
	snprintf(words, sizeof(words), "status --json --url %s", url);
	expect_end(&run, words, 0, "");
	cr_expect_str_eq(canned_authorization(api), "Bearer " TOKEN);

	cr_assert_eq(file_write(data_path("token"), "\n", 1, 0600), ERR_OK);
	snprintf(words, sizeof(words), "status --json --url %s/ --token-file token", url);
	expect_end(&(struct coopctl_run){ 0 }, words, 2, "holds no token");
	cr_assert_eq(file_write(data_path("token"), TOKEN "\n", 65, 0600), ERR_OK);
	expect_end(&(struct coopctl_run){ 0 }, words, 0, "");
	cr_expect_str_eq(canned_authorization(api), "Bearer " TOKEN);

	/* Without one it is asked all the same: the server says what it thinks of that. */
	canned_put(api, "GET /admin/v1/status", 401, "{\"error\":{\"code\":\"token\",\"message\":\"no right token\"}}");
	snprintf(words, sizeof(words), "status --url %s", url);
	expect_end(&(struct coopctl_run){ 0 }, words, 5, "--token-file");
	expect_end(&run, words, 5, "wrong, expired or revoked");
	canned_stop(api);
}

Test(coopctl_behave, a_token_does_not_cross_a_network_in_plain_text)
{
	const struct coopctl_run run = { .env = (const char *const[]){ "COOPCTL_TOKEN=" TOKEN, NULL } };

	expect_end(&run, "status --url http://192.0.2.1:10002", 2, "readable for all");
	expect_end(&run, "status --url http://localhost.example.org:10002", 2, "readable for all");
	expect_end(&run, "status --url http://127.example.org", 2, "readable for all");
	expect_end(&run, "status --url ftp://127.0.0.1", 2, "no URL");
	expect_end(&run, "status --url http://user:pass@127.0.0.1", 2, "no URL");
}

/* A proxy of the environment would get the token. */
Test(coopctl_behave, proxies_of_the_environment_are_not_used)
{
	struct canned_api *api = canned_start();
	char               proxy[80], words[120];

	snprintf(proxy, sizeof(proxy), "http_proxy=http://127.0.0.1:9");
	snprintf(words, sizeof(words), "games --json --url http://127.0.0.1:%d", canned_port(api));
	expect_end(&(struct coopctl_run){ .env = (const char *const[]){ proxy, "ALL_PROXY=http://127.0.0.1:9", NULL } },
	           words, 0, "");
	canned_stop(api);
}

Test(coopctl_behave, the_place_is_found_by_option_environment_and_habit)
{
	struct canned_api *api = canned_start();
	char               socket[200], url[80];

	snprintf(socket, sizeof(socket), "COOPCTL_SOCKET=%s", canned_socket(api));
	snprintf(url, sizeof(url), "COOPCTL_URL=http://127.0.0.1:%d", canned_port(api));
	expect_end(&(struct coopctl_run){ .env = (const char *const[]){ socket, NULL } }, "games --json", 0, "");
	expect_end(&(struct coopctl_run){ .env = (const char *const[]){ url, "COOPCTL_SOCKET=/nowhere", NULL } },
	           "games --json", 0, "");
	expect_end(&(struct coopctl_run){ .socket = canned_socket(api),
	                                  .env    = (const char *const[]){ "COOPCTL_URL=http://127.0.0.1:9", NULL } },
	           "games --json", 0, "");

	/* The server of this folder. */
	cr_assert(mkdir(data_path("data"), 0700) == 0 && mkdir(data_path("data/run"), 0700) == 0);
	cr_assert_eq(rename(canned_socket(api), data_path("data/run/admin.sock")), 0);
	if (access("/run/coopd/admin.sock", F_OK) != 0)
		expect_end(&(struct coopctl_run){ 0 }, "games --json", 0, "");
	canned_stop(api);
}

/* --- Files --- */

static void expect_file(const char *name, const char *text)
{
	AUTO(auto_free) char *is  = NULL;
	size_t                len = 0;

	cr_expect_eq(file_read(&is, &len, data_path(name), 1000), ERR_OK, "%s", name);
	cr_expect(is && strcmp(is, text) == 0, "%s: %s", name, is);
}

Test(coopctl_behave, a_checkpoint_is_saved_whole_or_not_at_all)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };
	struct coopctl_run       at  = { .socket = canned_socket(api), .on_terminal = true, .typed = "n\n" };

	expect_end(&run, "campaigns download ada -o saved", 0, "Saved as saved");
	expect_file("saved", "the bytes of a checkpoint\n");
	expect_end(&run, "campaigns download ada --of-version 8 --output=older", 0, "Saved");
	expect_file("older", "older bytes\n");

	AUTO(coopctl_freep) struct coopctl_result out = coopctl(&run, "campaigns download ada -o -");

	cr_expect_str_eq(out.out, "the bytes of a checkpoint\n");
	cr_expect_str_eq(out.err, "");

	/* One that is there is asked about, and what is refused leaves nothing. */
	expect_end(&run, "campaigns download ada --of-version 8 -o saved", 6, "--yes");
	AUTO(coopctl_freep) struct coopctl_result no = coopctl(&at, "campaigns download ada --of-version 8 -o saved");

	cr_expect_eq(no.status, 6);
	expect_file("saved", "the bytes of a checkpoint\n");
	expect_end(&run, "campaigns download ada --of-version 8 -o saved --yes", 0, "Saved");
	expect_file("saved", "older bytes\n");
	expect_end(&run, "campaigns download ada --of-version 5 -o none", 4, "not_found");
	expect_end(&run, "campaigns download ada -o nowhere/none", 1, "cannot be written");
	cr_expect_eq(data_count_files(".", "none"), 0);

	/* Bytes may upset a terminal. */
	AUTO(coopctl_freep) struct coopctl_result tty = coopctl(&at, "campaigns download ada -o -");

	cr_expect_eq(tty.status, 2, "%s", tty.out);
	canned_stop(api);
}

Test(coopctl_behave, boards_go_out_and_in_as_csv)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };

	expect_end(&run, "boards export racer laps -o laps.csv", 0, "Saved");
	expect_file("laps.csv", "name,score,comment,recorded_at\r\nBob,-5,,2026-10-02T11:00:00Z\r\n");
	expect_end(&run, "boards import racer laps laps.csv --yes", 0, "");
	cr_expect_str_eq(last_asked(api), "POST /admin/v1/boards/racer/laps/csv name,score,comment,recorded_at\r\n"
	                                  "Bob,-5,,2026-10-02T11:00:00Z\r\n");
	canned_stop(api);
}

/* What doctor makes of facts, at each edge; and what it says of an API that answers from files. */
#include "coopctl/doctor.h"

#include "base/auto.h"
#include "base/text.h"
#include "support/canned_api.h"
#include "support/coopctl.h"

#include <criterion/criterion.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW   1700000000
#define DAY   86400
#define FLOOR 1000

/* A server in production with everything in order. */
static struct doctor_facts *healthy(void)
{
	struct doctor_facts *f = calloc(1, sizeof(*f));

	cr_assert_not_null(f);
	*f              = (struct doctor_facts){ .now_s           = NOW,
		                                 .is_here         = true,
		                                 .is_reached      = true,
		                                 .state           = "ready",
		                                 .store           = "ok",
		                                 .version         = "0.1.0",
		                                 .is_production   = true,
		                                 .free_bytes      = 2 * FLOOR,
		                                 .free_floor      = FLOOR,
		                                 .wal_bytes       = 99,
		                                 .wal_max         = 100,
		                                 .is_clock_synced = true,
		                                 .backup          = LOOK_OK,
		                                 .backup_result   = "ok",
		                                 .backup_at_s     = NOW - DAY,
		                                 .listener_count  = 2,
		                                 .stun_count      = 2,
		                                 .file_cert       = { .look = LOOK_OK, .from_s = NOW, .until_s = NOW + 60 * DAY },
		                                 .public_host     = "play.example.org",
		                                 .public_cert   = { .look = LOOK_OK, .until_s = NOW + 60 * DAY, .is_trusted = true },
		                                 .health_status = 200,
		                                 .health_version = "0.1.0",
		                                 .upgrade_status = 101,
		                                 .players_seen   = 2,
		                                 .players_behind = 1,
		                                 .manifest       = LOOK_OK,
		                                 .has_update_key = true,
		                                 .version_count  = 1 };
	f->listeners[0] = (struct doctor_listener){ .part = "tunnel", .address = "127.0.0.1:1", .answers = true };
	f->listeners[1] = (struct doctor_listener){ .part = "http-tls", .address = "127.0.0.1:2", .answers = true };
	f->listeners[1].cert = f->file_cert;
	f->stun[0]     = (struct doctor_stun){ .address = "192.0.2.1:1", .answers = true, .mapped = "192.0.2.9:7" };
	f->stun[1]     = (struct doctor_stun){ .address = "192.0.2.2:1", .answers = true, .mapped = "192.0.2.9:7" };
	f->versions[0] = (struct doctor_version){ "zlib", "1.2.13" };
	return f;
}

static const char *state_of(const struct doctor_facts *f, const char *check, char *message, size_t cap)
{
	const struct doctor_check *row = doctor_checks;
	struct doctor_finding      found;

	while (row->name && strcmp(row->name, check) != 0)
		row++;
	cr_assert_not_null(row->name, "there is no check %s", check);
	memset(&found, 0x55, sizeof(found));
	row->judge(&found, f);
	cr_assert(text_format(message, cap, "%s | %s", found.message, found.advice));
	/* Whoever is told that something is wrong is told what to do. */
	cr_expect(found.state == DOCTOR_OK || found.state == DOCTOR_SKIPPED || found.advice[0], "%s: %s", check,
	          message);
	cr_expect(found.message[0], "%s", check);
	return doctor_words[found.state];
}

/* What this check says once one fact is another. */
static void expect(struct doctor_facts *changed, const char *check, const char *state, const char *says)
{
	char        message[2 * DOCTOR_TEXT_BYTES];
	const char *is = state_of(changed, check, message, sizeof(message));

	cr_expect_str_eq(is, state, "%s: %s", check, message);
	cr_expect_not_null(strstr(message, says), "%s: %s, and not %s", check, message, says);
	free(changed);
}

/* GNU C: the facts with a change in them. */
#define WITH(...)                                   \
	__extension__({                             \
		struct doctor_facts *f = healthy(); \
                                                    \
		__VA_ARGS__;                        \
		f;                                  \
	})

Test(coopctl_doctor, a_healthy_server_has_nothing_but_ok)
{
	struct doctor_facts *f = healthy();
	char                 message[2 * DOCTOR_TEXT_BYTES];
	enum doctor_state    worst;
	json_t              *all = doctor_judge(&worst, f);

	for (const struct doctor_check *row = doctor_checks; row->name; row++)
		cr_expect_str_eq(state_of(f, row->name, message, sizeof(message)), "ok", "%s: %s", row->name, message);
	cr_expect_eq(worst, DOCTOR_OK);
	cr_expect_gt(json_array_size(json_object_get(all, "items")), 15);
	json_decref(all);
	free(f);
}

Test(coopctl_doctor, what_the_server_says_is_judged)
{
	expect(WITH(f->is_reached = false; strcpy(f->why, "no socket")), "api", "problem", "no socket");
	expect(WITH(strcpy(f->state, "failing")), "state", "problem", "cannot serve");
	expect(WITH(strcpy(f->state, "draining")), "state", "warning", "--cancel");
	expect(WITH(strcpy(f->state, "starting")), "state", "warning", "starting");
	expect(WITH(strcpy(f->store, "slow")), "store", "warning", "slow");
	expect(WITH(strcpy(f->store, "failing")), "store", "problem", "fails");
	expect(WITH(f->is_failing = true), "store", "problem", "fails");
	expect(WITH(f->damaged = 1), "integrity", "problem", "1 checkpoints");
	expect(WITH(f->missing = 2), "integrity", "problem", "2 files");
	expect(WITH(f->missing = -1), "integrity", "ok", "not counted");
	expect(WITH(f->free_bytes = 2 * FLOOR - 1), "space", "warning", "soon");
	expect(WITH(f->free_bytes = FLOOR), "space", "warning", "will be refused");
	expect(WITH(f->free_bytes = FLOOR - 1), "space", "problem", "are refused");
	expect(WITH(f->wal_bytes = 100), "wal", "warning", "sqlite3");
}

Test(coopctl_doctor, backups_are_judged_by_their_age_and_result)
{
	expect(WITH(f->backup_at_s = NOW - 8 * DAY), "backup", "ok", "8d 0h");
	expect(WITH(f->backup_at_s = NOW - 8 * DAY - 1), "backup", "warning", "timer");
	expect(WITH(strcpy(f->backup_result, "no_space")), "backup", "problem", "no_space");
	expect(WITH(f->backup = LOOK_NONE), "backup", "warning", "no backup");
	expect(WITH(f->backup = LOOK_NONE; f->is_production = false), "backup", "skipped", "no production");
	expect(WITH(f->backup = LOOK_FAILED), "backup", "skipped", "does not say");
	expect(WITH(f->backup = LOOK_NONE; f->backup_runs = true), "backup", "ok", "being made");
	/* With a schedule, what earlier runs made counts too. */
	expect(WITH(f->backup = LOOK_NONE; f->backup_every_s = DAY; f->backup_good_s = NOW - DAY), "backup", "ok",
	       "due every");
	expect(WITH(f->backup_every_s = DAY; f->backup_good_s = NOW - 2 * DAY - 3601), "backup", "problem",
	       "due every");
	expect(WITH(f->backup = LOOK_NONE; f->backup_every_s = DAY), "backup", "warning", "yet");
}

Test(coopctl_doctor, clocks_may_be_two_seconds_apart)
{
	expect(WITH(f->clock_off_ms = 2000), "clock", "ok", "");
	expect(WITH(f->clock_off_ms = 2001), "clock", "warning", "ahead");
	expect(WITH(f->clock_off_ms = -2001), "clock", "warning", "behind");
	expect(WITH(f->is_clock_synced = false), "clock", "warning", "kernel");
	expect(WITH(f->is_clock_synced = false; f->is_here = false), "clock", "ok", "agree");
}

Test(coopctl_doctor, listeners_have_to_answer)
{
	expect(WITH(f->listeners[0].answers = false; strcpy(f->listeners[0].why, "refused")), "listeners", "problem",
	       "tunnel 127.0.0.1:1 (refused)");
	expect(WITH(f->listeners[0].answers = false; f->listeners[0].is_udp = true), "listeners", "ok", "1 listeners");
	expect(WITH(f->listener_count = 0), "listeners", "warning", "nowhere");
	expect(WITH(f->is_here = false; f->listeners[0].answers = false), "listeners", "skipped", "");
	expect(WITH(f->stun[1].answers = false), "stun", "problem", "192.0.2.2:1");
	expect(WITH(strcpy(f->stun[1].mapped, "192.0.2.9:8")), "stun", "warning", "NAT");
	expect(WITH(f->stun_off = "stun.enable is no"), "stun", "skipped", "stun.enable");
	expect(WITH(f->stun_count = 0), "stun", "skipped", "p2p.listen1");
	expect(WITH(f->is_here = false; f->stun[1].answers = false), "stun", "skipped", "");
}

Test(coopctl_doctor, many_dead_listeners_fit_into_a_sentence)
{
	struct doctor_facts *f = healthy();

	f->listener_count = DOCTOR_LISTENERS_MAX;
	for (size_t i = 0; i < DOCTOR_LISTENERS_MAX; i++) {
		memset(f->listeners[i].address, 'a', DOCTOR_ADDRESS_BYTES - 1);
		f->listeners[i].answers = false;
	}
	expect(f, "listeners", "problem", "");
}

/* Both certificates go the same way. */
static void expect_dates(int64_t from, int64_t left, const char *state, const char *says)
{
	expect(WITH(f->file_cert.from_s = NOW + from; f->listeners[1].cert.from_s = NOW + from;
	            f->file_cert.until_s = NOW + left; f->listeners[1].cert.until_s = NOW + left),
	       "certificate", state, says);
	expect(WITH(f->public_cert.from_s = NOW + from; f->public_cert.until_s = NOW + left), "public_certificate",
	       state, says);
}

Test(coopctl_doctor, certificates_are_renewed_in_time)
{
	expect_dates(0, 14 * DAY, "ok", "good for 14d");
	expect_dates(0, 14 * DAY - 1, "warning", "ends in 13d");
	expect_dates(0, 3 * DAY, "warning", "renewed");
	expect_dates(0, 3 * DAY - 1, "problem", "ends in 2d");
	expect_dates(0, 1, "problem", "ends in 1s");
	expect_dates(0, 0, "problem", "ended");
	expect_dates(1, 60 * DAY, "problem", "not valid yet");
	expect(WITH(f->file_cert.look = LOOK_NONE), "certificate", "skipped", "tls.cert");
	expect(WITH(f->file_cert.look = LOOK_FAILED; strcpy(f->file_cert.why, "Permission denied")), "certificate",
	       "warning", "Permission denied");
	expect(WITH(f->listeners[1].cert.look = LOOK_FAILED), "certificate", "problem", "does not speak TLS");
	expect(WITH(f->listeners[1].cert.until_s -= DAY), "certificate", "warning", "coopctl reload");
	expect(WITH(f->public_cert.is_trusted = false; strcpy(f->public_cert.distrust, "self-signed")),
	       "public_certificate", "problem", "self-signed");
	expect(WITH(f->public_cert.look = LOOK_FAILED; strcpy(f->public_cert.why, "refused")), "public_certificate",
	       "problem", "refused");
}

Test(coopctl_doctor, the_way_from_outside_leads_here)
{
	static const char *const checks[] = { "public_certificate", "public_name", "websocket" };

	for (size_t i = 0; i < COUNT_OF(checks); i++) {
		expect(WITH(f->public_host[0] = '\0'; f->health_status = 0; f->upgrade_status = 0), checks[i],
		       "skipped", "server.public_host");
		expect(WITH(f->is_outside_off = true; f->health_status = 0; f->upgrade_status = 0), checks[i],
		       "skipped", "wished");
	}
	expect(WITH(f->health_status = 502), "public_name", "problem", "502");
	expect(WITH(f->health_status = 0), "public_name", "problem", "does not answer");
	expect(WITH(strcpy(f->health_version, "0.0.9")), "public_name", "problem", "another server");
	expect(WITH(f->health_version[0] = '\0'), "public_name", "problem", "not as coopd");
	expect(WITH(f->upgrade_status = 200), "websocket", "problem", "200");
	expect(WITH(f->upgrade_status = 0), "websocket", "problem", "does not answer");
	expect(WITH(f->players_seen = f->players_behind = 3), "proxy_header", "warning", "X-Forwarded-For");
	expect(WITH(f->players_seen = f->players_behind = 0), "proxy_header", "skipped", "nobody");
	expect(WITH(f->players_seen = 0; f->proxy_seen = 12), "proxy_header", "ok", "12 requests");
	expect(WITH(f->proxy_bad = 3), "proxy_header", "warning", "http.client_address_header");
	expect(WITH(f->players_behind = 2; f->is_production = false), "proxy_header", "ok", "on this machine");
}

Test(coopctl_doctor, update_files_are_good_or_are_named)
{
	expect(WITH(f->manifest = LOOK_NONE), "update", "skipped", "");
	expect(WITH(f->manifest = LOOK_FAILED; strcpy(f->manifest_why, "no package")), "update", "problem",
	       "no package");
	expect(WITH(f->has_update_key = false), "update", "warning", "update.key");
}

Test(coopctl_doctor, holes_of_libraries_are_known_by_their_versions)
{
	static const struct {
		const char *name, *version, *state, *says;
	} cases[] = {
		{ "zlib", "1.2.12", "ok", "" },
		{ "zlib", "1.2.11", "warning", "CVE-2018-25032" },
		{ "libcrypto", "3.0.6", "warning", "CVE-2022-3602" },
		{ "libcrypto", "3.0.7", "ok", "" },
		{ "libcrypto", "1.1.1", "ok", "" },
		{ "sqlite", "3.51.2", "ok", "WAL-reset" },
		{ "sqlite", "3.51.3", "ok", "knows of |" },
		{ "sqlite", "3.6.23", "ok", "knows of |" },
		{ "libmicrohttpd", "0.9.75", "ok", "no forms" },
		{ "libmicrohttpd", "1.0.1", "ok", "knows of |" },
		{ "libwebsockets", "4.1.6", "ok", "CVE-2025-11677" },
		{ "unheard-of", "1", "ok", "" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		expect(WITH(f->versions[0] = (struct doctor_version){ 0 }; strcpy(f->versions[0].name, cases[i].name);
		            strcpy(f->versions[0].version, cases[i].version)),
		       "versions", cases[i].state, cases[i].says);
	expect(WITH(f->version_count = 0), "versions", "skipped", "no coopd");
	cr_expect_lt(doctor_compare("3.9", "3.10"), 0);
	cr_expect_eq(doctor_compare("3.9", "3.9.0"), 0);
	cr_expect_gt(doctor_compare("3.9.1", "3.9"), 0);
}

/* --- The program --- */

/* state of one check in what --json said; "" when it has none. */
static const char *said(const json_t *all, const char *check)
{
	const json_t *item;
	size_t        i;

	json_array_foreach(json_object_get(all, "items"), i, item)
	{
		if (strcmp(json_string_value(json_object_get(item, "check")), check) == 0)
			return json_string_value(json_object_get(item, "state"));
	}
	return "";
}

Test(coopctl_doctor, an_api_that_answers_is_examined)
{
	struct canned_api                        *api = canned_start();
	const struct coopctl_run                  run = { .socket = canned_socket(api) };
	AUTO(coopctl_freep) struct coopctl_result r   = coopctl(&run, "doctor --json");
	json_t                                   *all = json_loads(r.out, 0, NULL);

	cr_assert_not_null(all, "%s", r.out);
	cr_expect_str_eq(said(all, "api"), "ok");
	cr_expect_str_eq(said(all, "store"), "ok");
	/* Of the listeners in its status none is there. */
	cr_expect_str_eq(said(all, "listeners"), "problem");
	cr_expect_eq(r.status, 1);
	cr_expect_str_eq(r.err, "");
	json_decref(all);

	AUTO(coopctl_freep) struct coopctl_result people = coopctl(&run, "doctor");

	cr_expect_not_null(strstr(people.out, "problem  listeners"), "%s", people.out);
	cr_expect_not_null(strstr(people.out, "-> "), "%s", people.out);
	canned_stop(api);
}

Test(coopctl_doctor, a_server_that_is_not_there_is_a_problem)
{
	const struct coopctl_run                  run = { .socket = "/nowhere/admin.sock" };
	AUTO(coopctl_freep) struct coopctl_result r   = coopctl(&run, "doctor --json");
	json_t                                   *all = json_loads(r.out, 0, NULL);

	cr_expect_eq(r.status, 1, "%s", r.err);
	cr_expect_str_eq(said(all, "api"), "problem", "%s", r.out);
	cr_expect_str_eq(said(all, "space"), "", "%s", r.out);
	json_decref(all);
}

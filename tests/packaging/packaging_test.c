/*
 * What is installed and packaged, looked at without root and without a container engine (tests/packaging/content). The
 * package itself is built, installed and removed by `make check-packages`.
 */
#include "base/auto.h"
#include "conf/conf.h"
#include "server_files.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SKIPPED 77

/* Our programs where the Makefile says they are; COOPD and COOPCTL of the script. */
static const char *program(const char *variable)
{
	const char *path = getenv(variable);

	cr_assert_not_null(path, "%s must name a program", variable);
	return path;
}

/* What the script says is what is wrong; it skips by itself. */
static void look(const char *what, const char *first, const char *second)
{
	AUTO(auto_free) char *command = NULL;
	char                  line[512];
	const char           *tests = getenv("TESTS_DIR");

	cr_assert_not_null(tests, "TESTS_DIR must name the folder of the tests");
	cr_assert_geq(asprintf(&command, "'%s/packaging/content' %s '%s' '%s' 2>&1", tests, what, first, second), 0);

	FILE *said = popen(command, "r");

	cr_assert_not_null(said);
	while (fgets(line, sizeof(line), said))
		fputs(line, stderr);

	int status = pclose(said);

	if (!WIFEXITED(status) || WEXITSTATUS(status) != SKIPPED)
		cr_expect_eq(status, 0, "%s: see the lines above", what);
}

Test(packaging, everything_is_installed_below_its_prefix, .timeout = 60)
{
	look("installed", program("COOPD_PLAIN_BIN"), program("COOPCTL_BIN"));
}

Test(packaging, systemd_takes_the_units_and_finds_little_exposed, .timeout = 60)
{
	look("unit", program("COOPD_PLAIN_BIN"), program("COOPCTL_BIN"));
}

Test(packaging, one_list_of_packages_to_build_with)
{
	look("build-packages", "", "");
}

Test(packaging, the_container_has_its_sources_a_user_and_the_ports)
{
	look("container", "", "");
}

Test(packaging, the_container_has_the_libraries_of_the_programs, .timeout = 60)
{
	look("libraries", program("COOPD_PLAIN_BIN"), program("COOPCTL_BIN"));
}

/* The units as text */

static char *read_file(const char *name)
{
	char  path[512];
	char *text = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "%s/../tools/packaging/%s", program("TESTS_DIR"), name);
	file = fopen(path, "r");
	cr_assert_not_null(file, "%s", path);

	size_t  room = 0;
	ssize_t len  = getdelim(&text, &room, '\0', file);

	cr_assert_gt(len, 0);
	fclose(file);
	return text;
}

/* The number behind KEY= at the start of a line; G is 2^30. */
static int64_t number_of(const char *unit, const char *key)
{
	char        line[64];
	const char *at;
	char       *end;

	snprintf(line, sizeof(line), "\n%s=", key);
	at = strstr(unit, line);
	cr_assert_not_null(at, "the unit has no %s=", key);

	int64_t number = strtoll(at + strlen(line), &end, 10);

	return *end == 'G' ? number << 30 : number;
}

static void load_production(struct conf *c)
{
	const char            *sets[] = { "server.production=yes", "turn.secret=a",        "signal.token=b",
		                          "rooms.relay=yes",       "tls.cert=a",           "tls.key=b",
		                          "p2p.listen1=127.0.0.1", "p2p.listen2=127.0.0.2" };
	const struct conf_args args   = { .sets = sets, .set_count = COUNT_OF(sets) };

	cr_assert_eq(conf_load(c, &args, stderr), ERR_OK);
}

Test(packaging, the_unit_lets_coopd_have_all_files_and_threads_of_the_limits)
{
	AUTO(auto_free) char *unit = read_file("coopd.service.in");
	struct conf           c;
	struct server_files   share;

	load_production(&c);
	cr_assert_eq(server_files_share(&share, &c, INT32_MAX, 64, stderr), ERR_OK);
	cr_expect_leq(share.wanted, number_of(unit, "LimitNOFILE"), "%" PRId64 " files", share.wanted);

	/* A thread for each HTTP connection, and for each that is on its way out; a few dozen others. */
	int64_t threads =
		c.limits.http_connections + share.http_leaving +
		2 * (c.limits.admin_connections + c.limits.admin_tcp_connections + c.limits.rooms_status_connections) +
		64;

	cr_expect_leq(threads, number_of(unit, "TasksMax"), "%" PRId64 " threads", threads);
	conf_fini(&c);
}

Test(packaging, the_unit_lets_coopd_have_all_memory_of_the_limits)
{
	AUTO(auto_free) char *unit = read_file("coopd.service.in");
	struct conf           c;

	load_production(&c);

	const struct limits *l = &c.limits;
	int64_t most           = l->ws_output_total + l->ws_input_total + l->rooms_output_total + l->rooms_input_total +
	               l->rooms_blob_total + l->signal_peers * l->signal_queue_bytes +
	               l->p2p_rooms * l->p2p_repeat_bytes + l->admin_viewers * l->admin_viewers_waiting;

	/* What each costs without anything waiting for it, generously: a connection of a library, a row of a board. */
	most += (l->ws_connections + l->rooms_connections + l->signal_peers) * 24 * 1024 + l->rooms_rows * 256;
	cr_expect_leq(most, number_of(unit, "MemoryMax"), "%" PRId64 " MiB", most >> 20);
	conf_fini(&c);
}

/* Each word of these settings is a line that is not commented out. */
static size_t expect_lines(const char *unit, const char *key, const struct conf_list *words)
{
	for (size_t i = 0; i < words->count; i++) {
		char line[100];

		snprintf(line, sizeof(line), "\n%s=%s\n", key, words->words[i]);
		cr_expect_not_null(strstr(unit, line), "coopd.socket has no line%s", line);
	}
	return words->count;
}

Test(packaging, the_socket_unit_listens_where_coopd_does)
{
	AUTO(auto_free) char *unit = read_file("coopd.socket");
	struct conf           c;
	size_t                expected, lines = 0;

	load_production(&c);
	expected = expect_lines(unit, "ListenStream", &c.tunnel_listen) +
	           expect_lines(unit, "ListenStream", &c.http_listen) +
	           expect_lines(unit, "ListenStream", &c.signal_listen) +
	           expect_lines(unit, "ListenStream", &c.rooms_listen) +
	           expect_lines(unit, "ListenDatagram", &c.rooms_listen);
	for (const char *at = unit; (at = strstr(at, "\nListen")); at++)
		lines++;
	cr_expect_eq(lines, expected, "coopd.socket has a line that is no default");
	conf_fini(&c);
}

#include "support/natlab.h"

#include "support/dial.h"
#include "support/netns.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KINDS_MAX  16
#define LINE_BYTES 400

static struct natlab *all_labs;

/* --- The script --- */

/* In the child, between fork and exec. */
static void become_script(int input, int output, const char *const *kinds, uid_t user)
{
	const char *args[KINDS_MAX + 2];
	char        path[300];
	size_t      count = 0;
	sigset_t    none;

	snprintf(path, sizeof(path), "%s/support/natlab", getenv("TESTS_DIR"));
	args[count++] = path;
	for (; *kinds && count < KINDS_MAX + 1; kinds++)
		args[count++] = *kinds;
	args[count] = NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(input, 0);
	dup2(output, 1);
	close_range(3, ~0U, 0);
	if (user && setuid(user) != 0)
		_exit(126);
	execv(path, (char *const *)(uintptr_t)args);
	printf("cannot run %s: %s\n", path, strerror(errno));
	fflush(stdout);
	_exit(127);
}

static FILE *start_script(struct natlab *lab, const char *const *kinds, uid_t user)
{
	int in[2], out[2];

	cr_assert(getenv("TESTS_DIR"), "TESTS_DIR must name the folder of the tests");
	cr_assert(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "no pipe: %s", strerror(errno));
	lab->pid = fork();
	cr_assert_geq(lab->pid, 0, "no process: %s", strerror(errno));
	if (lab->pid == 0)
		become_script(in[0], out[1], kinds, user);
	close(in[0]);
	close(out[1]);
	lab->input = in[1];
	return fdopen(out[0], "re");
}

static void add_node(struct natlab *lab, const char *line)
{
	struct natlab_node *n = &lab->nodes[lab->node_count];
	char                path[64];
	int                 fd;

	cr_assert_lt(lab->node_count, NATLAB_NODES_MAX, "more nodes than there is room for");
	cr_assert_eq(sscanf(line, "node %31s %d %15s %15s", n->name, &fd, n->address, n->outside), 4, "%s", line);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)lab->pid, fd);
	n->netns = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(n->netns, 0, "no namespace of %s: %s", n->name, strerror(errno));
	lab->node_count++;
}

/* Until it is ready; NULL, or why it will not be. */
static const char *read_script(struct natlab *lab, FILE *said)
{
	static char line[LINE_BYTES];

	while (fgets(line, sizeof(line), said)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "ready", 5) == 0)
			return NULL;
		if (strncmp(line, "node ", 5) != 0)
			return line;
		add_node(lab, line);
	}
	return "tests/support/natlab ended without a word";
}

/* --- Coming and going --- */

void natlab_free(struct natlab *lab)
{
	struct natlab **at = &all_labs;

	if (!lab)
		return;
	while (*at != lab)
		at = &(*at)->next;
	*at = lab->next;
	for (size_t i = 0; i < lab->node_count; i++)
		close(lab->nodes[i].netns);
	close(lab->input);
	while (waitpid(lab->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(lab);
}

/* Only reached with a lab in the list when a test ended early; it would go by itself, and is only waited for. */
static void free_all(void)
{
	while (all_labs)
		natlab_free(all_labs);
}

const char *natlab_try(struct natlab **out, const char *const *kinds, uid_t user)
{
	static bool    prepared;
	struct natlab *lab = calloc(1, sizeof(*lab));

	cr_assert_not_null(lab);
	if (!prepared)
		atexit(free_all);
	prepared        = true;
	FILE *said      = start_script(lab, kinds, user);
	lab->next       = all_labs;
	all_labs        = lab;
	const char *why = said ? read_script(lab, said) : "no memory";

	if (said)
		fclose(said);
	if (why)
		natlab_free(lab);
	*out = why ? NULL : lab;
	return why;
}

struct natlab *natlab_new(const char *const *kinds)
{
	struct natlab *lab;
	const char    *why = natlab_try(&lab, kinds, 0);

	if (!why)
		return lab;
	cr_assert(getenv("COOP_NO_NATLAB"), "%s", why);
	fprintf(stderr, "skipped: %s\n", why);
	return NULL;
}

/* --- Nodes --- */

const struct natlab_node *natlab_node(const struct natlab *lab, const char *name)
{
	for (size_t i = 0; i < lab->node_count; i++) {
		if (strcmp(lab->nodes[i].name, name) == 0)
			return &lab->nodes[i];
	}
	cr_assert_fail("there is no node %s in this lab", name);
	return NULL;
}

void natlab_enter(const struct natlab *lab, const char *node)
{
	netns_enter(natlab_node(lab, node)->netns);
}

void natlab_leave(void)
{
	netns_leave();
}

struct server *natlab_server(const struct natlab *lab, const char *const *sets)
{
	struct server *s = server_prepare(NULL);

	server_unset(s, "rooms.listen");
	server_set(s, "rooms.listen=0.0.0.0:36100");
	server_unset(s, "tunnel.listen");
	server_set(s, "tunnel.listen=0.0.0.0:36101");
	server_set(s, "p2p.listen1=" NATLAB_S1);
	server_set(s, "p2p.listen2=" NATLAB_S2);
	server_unset(s, "p2p.port");
	server_unset(s, "p2p.alt_port");
	server_set(s, "p2p.allow_loopback=no");
	for (; sets && *sets; sets++)
		server_set(s, *sets);
	natlab_enter(lab, "server");
	server_launch(s);
	natlab_leave();
	server_await_ready(s);
	return s;
}

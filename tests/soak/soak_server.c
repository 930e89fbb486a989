#include "soak_server.h"

#include "soak_wire.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { READY_MS = 60000, STOP_MS = 30000, LOOK_EVERY_MS = 20, PORT_TRIES = 50, SETS_MAX = 40, SET_BYTES = 200 };

static pid_t server_pid;
static char  log_path[SOAK_PATH_BYTES + 20];

/*
 * Short waits, so that what a limit brings about by the minute happens often in a soak; and small heaps of what is kept for
 * days, so that they are full, and level, before the run is half over.
 */
static const char *const fixed_sets[] = {
	"rooms.relay=yes",
	"signal.token=soak",
	"turn.secret=soak",
	"turn.uri=turn:127.0.0.1:3478",
	"http.tls_listen=",
	"signal.tls_listen=",
	"limits.cloud_interval_ms=200",
	"limits.cloud_trash_days=0",
	"limits.rooms_takeover_ms=0",
	"limits.rooms_hellos=100",
	"limits.p2p_check_gap_ms=0",
	"limits.p2p_start_gap_ms=0",
	"limits.lobby_creates=1000",
	"limits.lobby_joins=1000",
	"limits.admin_audit_rows=500",
	"limits.tunnel_friends=16", /* those in their grace count, and people change faster here than they do */
	"limits.tunnel_seats_per_player=16",
	"limits.tunnel_seats_per_address=16",
	"limits.tunnel_grace_ms=10000",
	"limits.tunnel_check_ms=1000",
};

/* --- Ports --- */

static int bind_to(int type, uint32_t ip, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(ip) } };
	int                fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Free for TCP, and for UDP on the first two loopback addresses. Held until all are chosen, so that no two are the same. */
static uint16_t free_port(int held[3])
{
	for (int i = 0; i < PORT_TRIES; i++) {
		struct sockaddr_in at  = { 0 };
		socklen_t          len = sizeof(at);

		held[0] = bind_to(SOCK_STREAM, INADDR_LOOPBACK, 0);
		if (held[0] < 0 || getsockname(held[0], (struct sockaddr *)&at, &len) != 0)
			break;
		held[1] = bind_to(SOCK_DGRAM, INADDR_LOOPBACK, ntohs(at.sin_port));
		held[2] = bind_to(SOCK_DGRAM, INADDR_LOOPBACK + 1, ntohs(at.sin_port));
		if (held[1] >= 0 && held[2] >= 0)
			return ntohs(at.sin_port);
		for (int k = 0; k < 3; k++)
			if (held[k] >= 0)
				close(held[k]);
	}
	err(1, "no free port");
}

static void choose_ports(void)
{
	struct soak_ports *p = &soak.ports;
	uint16_t *to[] = { &p->tunnel, &p->http, &p->signal, &p->rooms, &p->p2p, &p->p2p_alt, &p->admin, &p->events };
	int       held[sizeof(to) / sizeof(to[0])][3];

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		*to[i] = free_port(held[i]);
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		for (int k = 0; k < 3; k++)
			close(held[i][k]);
}

void soak_server_prepare(void)
{
	const char *tmp = getenv("TMPDIR");

	if (snprintf(soak.root, sizeof(soak.root), "%s/coopd-soak-XXXXXX", tmp ? tmp : "/tmp") > 60)
		errx(1, "TMPDIR is too long for a unix socket's path");
	if (!mkdtemp(soak.root))
		err(1, "%s", soak.root);
	snprintf(soak.data, sizeof(soak.data), "%.70s/data", soak.root);
	snprintf(soak.backup, sizeof(soak.backup), "%.70s/backup", soak.root);
	snprintf(soak.admin_socket, sizeof(soak.admin_socket), "%.70s/admin.sock", soak.root);
	snprintf(soak.events_socket, sizeof(soak.events_socket), "%.70s/events.sock", soak.root);
	snprintf(log_path, sizeof(log_path), "%.70s/server.log", soak.root);
	choose_ports();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* --- The process --- */

static size_t port_sets(char sets[SETS_MAX][SET_BYTES])
{
	const struct soak_ports *p = &soak.ports;
	size_t                   n = 0;

	snprintf(sets[n++], SET_BYTES, "tunnel.listen=127.0.0.1:%u", p->tunnel);
	snprintf(sets[n++], SET_BYTES, "http.listen=127.0.0.1:%u", p->http);
	snprintf(sets[n++], SET_BYTES, "signal.listen=127.0.0.1:%u", p->signal);
	snprintf(sets[n++], SET_BYTES, "rooms.listen=127.0.0.1:%u", p->rooms);
	snprintf(sets[n++], SET_BYTES, "admin.listen=127.0.0.1:%u", p->admin);
	snprintf(sets[n++], SET_BYTES, "admin.events_listen=127.0.0.1:%u", p->events);
	snprintf(sets[n++], SET_BYTES, "p2p.port=%u", p->p2p);
	snprintf(sets[n++], SET_BYTES, "p2p.alt_port=%u", p->p2p_alt);
	snprintf(sets[n++], SET_BYTES, "admin.socket=%s", soak.admin_socket);
	snprintf(sets[n++], SET_BYTES, "admin.events_socket=%s", soak.events_socket);
	return n;
}

/* In the child, between fork and exec. */
static void become_server(pid_t parent, const char *program)
{
	static char sets[SETS_MAX][SET_BYTES];
	const char *args[2 * SETS_MAX + 8] = { program, "--data", soak.data };
	size_t      count                  = 3;
	size_t      own                    = port_sets(sets);
	sigset_t    none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(125);
	for (size_t i = 0; i < own + sizeof(fixed_sets) / sizeof(fixed_sets[0]); i++) {
		args[count++] = "--set";
		args[count++] = i < own ? sets[i] : fixed_sets[i - own];
	}
	unsetenv("NOTIFY_SOCKET");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);

	int log  = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	int null = open("/dev/null", O_RDONLY);

	if (log < 0 || null < 0)
		_exit(126);
	dup2(null, 0);
	dup2(log, 1);
	dup2(log, 2);
	close_range(3, ~0U, 0);
	execv(program, (char *const *)(uintptr_t)args);
	_exit(127);
}

/* Its status, or 256 + a signal; -1 while it runs. */
static int status_now(void)
{
	int how;

	if (!server_pid || waitpid(server_pid, &how, WNOHANG) != server_pid)
		return -1;
	server_pid = 0;
	return WIFEXITED(how) ? WEXITSTATUS(how) : 256 + WTERMSIG(how);
}

static void sleep_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = LOOK_EVERY_MS * 1000000L }, NULL);
}

static bool is_ready(void)
{
	struct soak_answer a;

	soak_http(&a, &(struct soak_ask){ .port = soak.ports.http, .method = "GET", .path = "/readyz" });

	bool ready = a.status == 200;

	soak_answer_fini(&a);
	return ready;
}

static void launch(const char *program)
{
	pid_t parent = getpid();

	server_pid = fork();
	if (server_pid < 0)
		err(1, "fork");
	if (server_pid == 0)
		become_server(parent, program);
}

bool soak_server_start(void)
{
	const char *program  = getenv("COOPD_BIN");
	int64_t     until_ms = soak_now_ms() + READY_MS;

	if (!program)
		errx(2, "COOPD_BIN must name the server");
	if (!server_pid)
		launch(program);
	while (!is_ready()) {
		int status = status_now();

		if (status >= 0 || soak_now_ms() > until_ms) {
			fprintf(stderr, "soak: the server does not start (status %d); see %s\n", status, log_path);
			return false;
		}
		sleep_a_little();
	}
	soak.lives[soak.life].begin_ms = soak_now_ms();
	soak.up                        = true;
	return true;
}

static int await_end(void)
{
	int64_t until_ms = soak_now_ms() + STOP_MS;
	int     status;

	while ((status = status_now()) < 0 && soak_now_ms() < until_ms)
		sleep_a_little();
	return status;
}

bool soak_server_lives(void)
{
	int status = status_now();

	if (status >= 0) {
		soak.up = false;
		fprintf(stderr, "soak: the server ended by itself, with status %d; see %s\n", status, log_path);
	}
	return server_pid != 0;
}

/* The process whose parent we are. Whom a server that ended has left behind is our child then: see soak_server_prepare. */
static pid_t find_child(void)
{
	DIR  *d     = opendir("/proc");
	pid_t found = 0;

	for (struct dirent *e; d && !found && (e = readdir(d));) {
		char  path[64], line[512] = "";
		FILE *f;

		if (strspn(e->d_name, "0123456789") != strlen(e->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%.12s/stat", e->d_name);
		f = fopen(path, "re");
		if (f && fgets(line, sizeof(line), f)) {
			const char *name_end = strrchr(line, ')'); /* then: the state, and the parent */

			if (name_end && strlen(name_end) > 4 && strtol(name_end + 4, NULL, 10) == getpid())
				found = (pid_t)strtol(e->d_name, NULL, 10);
		}
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

/* False: it refuses, or knows nothing of it. */
static bool hand_over(void)
{
	struct soak_answer a;

	soak_http(&a, &(struct soak_ask){ .unix_path = soak.admin_socket,
	                                  .method    = "POST",
	                                  .path      = "/admin/v1/handover",
	                                  .body      = "{}",
	                                  .len       = 2 });
	if (a.status != 200 && a.status != 404)
		fprintf(stderr, "soak: a hand-over is answered %d %.200s\n", a.status, a.body ? a.body : "");

	bool well = a.status == 200;

	soak_answer_fini(&a);
	return well;
}

/* What the actors do from here on is excused. */
static void end_life(enum soak_end how)
{
	soak.up                      = false;
	soak.lives[soak.life].end    = how;
	soak.lives[soak.life].end_ms = soak_now_ms();
	soak.life++;
}

bool soak_server_end(enum soak_end how)
{
	if (!soak_server_lives())
		return false;
	end_life(how);
	if (how == SOAK_HANDED_OVER && !hand_over())
		how = soak.lives[soak.life - 1].end = SOAK_STOPPED;
	if (how != SOAK_HANDED_OVER)
		kill(server_pid, how == SOAK_KILLED ? SIGKILL : SIGTERM);

	int status = await_end();

	if (status < 0) {
		fprintf(stderr, "soak: the server does not end within %d s\n", STOP_MS / 1000);
		kill(server_pid, SIGKILL);
		await_end();
		return false;
	}
	if (status != (how == SOAK_KILLED ? 256 + SIGKILL : 0)) {
		fprintf(stderr, "soak: the server ended with status %d; see %s\n", status, log_path);
		return false;
	}
	if (how == SOAK_HANDED_OVER && (server_pid = find_child()) == 0) {
		fprintf(stderr, "soak: nobody is there after a hand-over; see %s\n", log_path);
		return false;
	}
	return true;
}

pid_t soak_server_pid(void)
{
	return server_pid;
}

/* --- What it leaves behind --- */

unsigned soak_server_lines(const char *level, char *out, size_t cap)
{
	FILE    *log   = fopen(log_path, "re");
	char    *line  = NULL;
	size_t   size  = 0;
	unsigned count = 0;
	char     wanted[16];

	snprintf(wanted, sizeof(wanted), " %s ", level);
	while (log && getline(&line, &size, log) > 0) {
		if (!memmem(line, strnlen(line, 48), wanted, strlen(wanted)))
			continue;
		count++;
		if (out)
			snprintf(out, cap, "%.*s", (int)strcspn(line, "\n"), line);
	}
	free(line);
	if (log)
		fclose(log);
	return count;
}

const char *soak_server_log(void)
{
	return log_path;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)kind, (void)ftw;
	return remove(path);
}

void soak_server_clean(void)
{
	if (!getenv("COOP_KEEP"))
		nftw(soak.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

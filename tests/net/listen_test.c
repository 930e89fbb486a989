/*
 * Listening sockets: what they are like, and what an operator is told when one cannot be had.
 */
#include "net/listen.h"

#include "base/auto.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* What was reported during the last try. */
static char report[1024];

static enum err try_tcp(int *fd, struct addr *bound, const char *text)
{
	FILE *f = fmemopen(report, sizeof(report), "w");

	memset(report, 0, sizeof(report));
	cr_assert_not_null(f);
	*fd          = -1;
	enum err e   = listen_tcp(fd, bound, text, f);
	int      why = errno;
	fclose(f);
	errno = why;
	return e;
}

static enum err try_udp(int *fd, struct addr *bound, const char *text, uint16_t port)
{
	FILE *f = fmemopen(report, sizeof(report), "w");

	memset(report, 0, sizeof(report));
	cr_assert_not_null(f);
	*fd          = -1;
	enum err e   = listen_udp(fd, bound, text, port, f);
	int      why = errno;
	fclose(f);
	errno = why;
	return e;
}

static enum err try_unix(int *fd, const char *path)
{
	FILE *f = fmemopen(report, sizeof(report), "w");

	memset(report, 0, sizeof(report));
	cr_assert_not_null(f);
	*fd          = -1;
	enum err e   = listen_unix(fd, path, f);
	int      why = errno;
	fclose(f);
	errno = why;
	return e;
}

static bool is_one_sentence(void)
{
	char *end = strchr(report, '\n');

	return end && end > report && end[1] == '\0';
}

static bool has_option(int fd, int level, int option)
{
	int       value = 0;
	socklen_t len   = sizeof(value);

	return getsockopt(fd, level, option, &value, &len) == 0 && value != 0;
}

static int option(int fd, int name)
{
	int       value = -1;
	socklen_t len   = sizeof(value);

	cr_assert_eq(getsockopt(fd, SOL_SOCKET, name, &value, &len), 0);
	return value;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0, "%s", path);
	return st.st_mode & 07777;
}

static char *make_dir(void)
{
	static char dir[40];

	strcpy(dir, "/tmp/coopd-listen-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	return dir;
}

static void path_in(char *out, size_t cap, const char *dir, const char *name)
{
	cr_assert_lt((size_t)snprintf(out, cap, "%s/%s", dir, name), cap);
}

Test(listen, a_tcp_socket_listens_where_it_was_told)
{
	int         fd;
	struct addr bound;

	cr_assert_eq(try_tcp(&fd, &bound, "127.0.0.1:0"), ERR_OK, "%s", report);
	cr_expect_str_empty(report);
	cr_expect_neq(bound.port, 0);
	cr_expect(addr_is_loopback(&bound));
	cr_expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	cr_expect(has_option(fd, SOL_SOCKET, SO_REUSEADDR));
	cr_expect(has_option(fd, SOL_SOCKET, SO_ACCEPTCONN));

	int client = dial_tcp(bound.port, 0);
	cr_expect_geq(client, 0);
	close(client);
	close(fd);
}

Test(listen, an_ipv6_socket_leaves_ipv4_to_others)
{
	int         six, four;
	struct addr bound, again;
	char        text[40];

	cr_assert_eq(try_tcp(&six, &bound, "[::1]:0"), ERR_OK, "%s", report);
	cr_expect(has_option(six, IPPROTO_IPV6, IPV6_V6ONLY));
	close(six);

	/* Somebody else may have the port on IPv4 just now: one of a few will do. */
	enum err e = ERR_HELD;
	for (int i = 0; i < 20 && e == ERR_HELD; i++) {
		cr_assert_eq(try_tcp(&six, &bound, "[::]:0"), ERR_OK, "%s", report);
		snprintf(text, sizeof(text), "0.0.0.0:%u", bound.port);
		e = try_tcp(&four, &again, text);
		close(six);
	}
	cr_expect_eq(e, ERR_OK, "%s", report);
	close(four);
}

Test(listen, a_port_in_use_is_held)
{
	int         first, second;
	struct addr bound, again;
	char        text[ADDR_TEXT_BYTES], expected[200];

	cr_assert_eq(try_tcp(&first, &bound, "127.0.0.1:0"), ERR_OK);
	addr_text_port(text, &bound);
	cr_expect_eq(try_tcp(&second, &again, text), ERR_HELD);
	cr_expect_eq(errno, EADDRINUSE);
	cr_expect_eq(second, -1);
	snprintf(expected, sizeof(expected), "%s is in use by another program; stop it or choose another port\n", text);
	cr_expect_str_eq(report, expected);
	close(first);
}

Test(listen, a_port_is_free_again_right_after_its_connections)
{
	int         fd, again_fd;
	struct addr bound, again;
	char        text[ADDR_TEXT_BYTES];

	cr_assert_eq(try_tcp(&fd, &bound, "127.0.0.1:0"), ERR_OK);
	int client = dial_tcp(bound.port, 0);
	int served = -1;
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; served < 0 && real_now_ms() < until;)
		served = accept(fd, NULL, NULL);
	cr_assert_geq(served, 0);
	close(served); /* we close first: our end stays in TIME_WAIT */
	close(client);
	close(fd);

	addr_text_port(text, &bound);
	cr_expect_eq(try_tcp(&again_fd, &again, text), ERR_OK, "%s", report);
	close(again_fd);
}

Test(listen, an_address_of_another_machine_says_so)
{
	int         fd;
	struct addr bound;

	cr_expect_eq(try_tcp(&fd, &bound, "192.0.2.1:80"), ERR_IO); /* for documents only: no machine has it */
	cr_expect_eq(errno, EADDRNOTAVAIL);
	cr_expect(is_one_sentence(), "%s", report);
	cr_expect_not_null(strstr(report, "192.0.2.1:80 is not an address of this machine"), "%s", report);
}

Test(listen, what_is_no_address_is_malformed)
{
	static const char *const rows[] = { "", "80", "127.0.0.1", "localhost:80", "::1:80", "[::1]", "*:80" };
	int                      fd;
	struct addr              bound;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect_eq(try_tcp(&fd, &bound, rows[i]), ERR_MALFORMED, "'%s'", rows[i]);
		cr_expect(is_one_sentence(), "%s", report);
	}
}

Test(listen, a_udp_socket_is_bound_where_it_was_told)
{
	int         fd, plain = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), most = 4 * 1024 * 1024;
	struct addr bound;

	cr_assert_eq(try_udp(&fd, &bound, "127.0.0.2:0", 0), ERR_OK, "%s", report);
	cr_expect_str_empty(report);
	cr_expect_neq(bound.port, 0);
	cr_expect_eq(bound.ip[3], 2);
	cr_expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	cr_expect_eq(option(fd, SO_TYPE), SOCK_DGRAM);

	/* As large as the system lets a program without rights make it, or more. */
	setsockopt(plain, SOL_SOCKET, SO_RCVBUF, &most, sizeof(most));
	setsockopt(plain, SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
	cr_expect_geq(option(fd, SO_RCVBUF), option(plain, SO_RCVBUF));
	cr_expect_geq(option(fd, SO_SNDBUF), option(plain, SO_SNDBUF));
	close(plain);
	close(fd);
}

Test(listen, udp_can_have_the_port_that_tcp_got)
{
	int         tcp, udp;
	struct addr first, second;

	/* Somebody else may have the port over UDP just now: one of a few will do. */
	enum err e = ERR_HELD;
	for (int i = 0; i < 20 && e == ERR_HELD; i++) {
		cr_assert_eq(try_tcp(&tcp, &first, "127.0.0.1:0"), ERR_OK, "%s", report);
		e = try_udp(&udp, &second, "127.0.0.1:0", first.port);
		close(tcp);
	}
	cr_assert_eq(e, ERR_OK, "%s", report);
	cr_expect_eq(second.port, first.port);
	close(udp);
}

Test(listen, a_udp_port_in_use_is_held)
{
	int         first, second;
	struct addr bound, again;
	char        text[ADDR_TEXT_BYTES], expected[200];

	cr_assert_eq(try_udp(&first, &bound, "127.0.0.1:0", 0), ERR_OK, "%s", report);
	addr_text_port(text, &bound);
	cr_expect_eq(try_udp(&second, &again, text, 0), ERR_HELD);
	cr_expect_eq(errno, EADDRINUSE);
	cr_expect_eq(second, -1);
	snprintf(expected, sizeof(expected),
	         "%s over UDP is in use by another program; stop it or choose another port\n", text);
	cr_expect_str_eq(report, expected);

	cr_expect_eq(try_udp(&second, &again, "127.0.0.1:0", bound.port), ERR_HELD);
	cr_expect(is_one_sentence(), "%s", report);
	cr_expect_eq(try_udp(&second, &again, "0.0.0.0:0", bound.port), ERR_HELD);
	cr_expect_eq(try_udp(&second, &again, "127.0.0.2:0", bound.port), ERR_OK, "another address");
	close(second);
	close(first);
}

Test(listen, a_port_in_the_text_is_the_one_that_is_meant)
{
	int         first, second;
	struct addr bound, other, again;
	char        text[ADDR_TEXT_BYTES];

	cr_assert_eq(try_udp(&first, &bound, "127.0.0.1:0", 0), ERR_OK, "%s", report);
	cr_assert_eq(try_udp(&second, &other, "127.0.0.1:0", 0), ERR_OK, "%s", report);
	close(first);
	addr_text_port(text, &bound);
	cr_expect_eq(try_udp(&first, &again, text, other.port), ERR_OK, "%s", report);
	cr_expect_eq(again.port, bound.port);
	close(first);
	close(second);
}

Test(listen, what_udp_cannot_have_is_said)
{
	static const struct {
		const char *text;
		enum err    e;
		const char *says;
	} rows[] = {
		{ "[::1]:0", ERR_MALFORMED, "[::1]:0 over UDP cannot be used, only IPv4 can" },
		{ "localhost:80", ERR_MALFORMED, "localhost:80 is no address with a port" },
		{ "", ERR_MALFORMED, "is no address with a port" },
		{ "192.0.2.1:80", ERR_IO, "192.0.2.1:80 over UDP is not an address of this machine" },
	};
	int         fd;
	struct addr bound;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect_eq(try_udp(&fd, &bound, rows[i].text, 0), rows[i].e, "'%s'", rows[i].text);
		cr_expect_eq(fd, -1);
		cr_expect(is_one_sentence(), "%s", report);
		cr_expect_not_null(strstr(report, rows[i].says), "%s", report);
	}
	cr_expect_eq(try_udp(&fd, &bound, "[::ffff:127.0.0.1]:0", 0), ERR_OK, "it is IPv4");
	close(fd);
}

Test(listen, a_unix_socket_gets_its_folder_and_its_mode)
{
	const char *dir = make_dir();
	char        run[80], path[100];
	int         fd;

	path_in(run, sizeof(run), dir, "run");
	path_in(path, sizeof(path), run, "admin.sock");
	umask(077);
	cr_assert_eq(try_unix(&fd, path), ERR_OK, "%s", report);
	cr_expect_str_empty(report);
	cr_expect_eq(mode_of(path), 0660);
	cr_expect_eq(mode_of(run) & 0027, 0, "nothing for others");
	cr_expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);

	int client = dial_unix(path);
	cr_expect_geq(client, 0);
	close(client);
	close(fd);
	unlink(path);
	rmdir(run);
	rmdir(dir);
}

Test(listen, no_umask_opens_a_unix_socket_to_others)
{
	const char *dir = make_dir();
	char        path[80];
	int         fd;

	path_in(path, sizeof(path), dir, "s");
	umask(0);
	cr_assert_eq(try_unix(&fd, path), ERR_OK, "%s", report);
	cr_expect_eq(mode_of(path), 0660);
	close(fd);
	unlink(path);
	rmdir(dir);
}

Test(listen, a_stale_unix_socket_is_replaced)
{
	const char *dir = make_dir();
	char        path[80];
	int         fd;

	path_in(path, sizeof(path), dir, "s");
	cr_assert_eq(try_unix(&fd, path), ERR_OK, "%s", report);
	close(fd); /* as when the process was killed: the file stays */
	cr_expect_eq(dial_unix(path), -1);

	cr_assert_eq(try_unix(&fd, path), ERR_OK, "%s", report);
	int client = dial_unix(path);
	cr_expect_geq(client, 0);
	close(client);
	close(fd);
	unlink(path);
	rmdir(dir);
}

Test(listen, a_unix_socket_somebody_answers_on_is_held)
{
	const char *dir = make_dir();
	char        path[80];
	int         first, second;

	path_in(path, sizeof(path), dir, "s");
	cr_assert_eq(try_unix(&first, path), ERR_OK, "%s", report);
	cr_expect_eq(try_unix(&second, path), ERR_HELD);
	cr_expect_eq(errno, EADDRINUSE);
	cr_expect(is_one_sentence(), "%s", report);
	cr_expect_not_null(strstr(report, "in use by another program"), "%s", report);

	int client = dial_unix(path);
	cr_expect_geq(client, 0, "the first one still listens");
	close(client);
	close(first);
	unlink(path);
	rmdir(dir);
}

Test(listen, a_file_that_is_no_socket_is_never_removed)
{
	const char *dir = make_dir();
	char        path[80];
	int         fd;

	path_in(path, sizeof(path), dir, "precious");
	close(open(path, O_CREAT | O_WRONLY, 0600));
	cr_expect_eq(try_unix(&fd, path), ERR_IO);
	cr_expect_eq(errno, EEXIST);
	cr_expect_not_null(strstr(report, "is no socket"), "%s", report);
	cr_expect_eq(access(path, F_OK), 0);

	char link[80];
	path_in(link, sizeof(link), dir, "link");
	cr_assert_eq(symlink("precious", link), 0);
	cr_expect_eq(try_unix(&fd, link), ERR_IO, "nor is a link followed");
	cr_expect_eq(access(link, F_OK), 0);
	unlink(link);
	unlink(path);
	rmdir(dir);
}

Test(listen, a_unix_path_may_have_107_bytes)
{
	const char *dir = make_dir();
	char        path[200];
	size_t      most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	int         fd;

	cr_assert_eq(most, 107);
	memset(path, 'x', sizeof(path));
	memcpy(path, dir, strlen(dir));
	path[strlen(dir)] = '/';

	path[most] = '\0';
	cr_expect_eq(try_unix(&fd, path), ERR_OK, "%s", report);
	close(fd);
	unlink(path);

	path[most]     = 'x';
	path[most + 1] = '\0';
	cr_expect_eq(try_unix(&fd, path), ERR_IO);
	cr_expect_eq(errno, ENAMETOOLONG);
	cr_expect(is_one_sentence(), "%s", report);
	cr_expect_not_null(strstr(report, "too long"), "%s", report);
	cr_expect_not_null(strstr(report, "107"), "%s", report);
	rmdir(dir);
}

Test(listen, a_folder_that_cannot_be_made_is_named)
{
	const char *dir = make_dir();
	char        file[80], path[100];
	int         fd;

	path_in(file, sizeof(file), dir, "file");
	close(open(file, O_CREAT | O_WRONLY, 0600));
	path_in(path, sizeof(path), file, "s");
	cr_expect_eq(try_unix(&fd, path), ERR_IO);
	cr_expect(is_one_sentence(), "%s", report);
	cr_expect_not_null(strstr(report, file), "%s", report);
	unlink(file);
	rmdir(dir);
}

Test(listen, files_are_raised_to_the_hard_limit_or_131072)
{
	struct rlimit rl;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = 64;
	rl.rlim_max = rl.rlim_max < 4096 ? rl.rlim_max : 4096;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	cr_expect_eq(listen_raise_files(), (long)rl.rlim_max);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	cr_expect_eq(rl.rlim_cur, rl.rlim_max);

	rl.rlim_cur = rl.rlim_max = 1000000;
	if (setrlimit(RLIMIT_NOFILE, &rl) == 0) /* only root may */
		cr_expect_eq(listen_raise_files(), 131072);
}

/*
 * Listening sockets that came with the start: who gets them, and what becomes of the others.
 */
#include "net/inherit.h"

#include "base/auto.h"
#include "net/listen.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct service_socket given[INHERIT_MAX];
static size_t                given_count;

static int give(int fd, const char *name)
{
	given[given_count].fd = fd;
	snprintf(given[given_count++].name, SERVICE_NAME_BYTES, "%s", name);
	return fd;
}

static struct addr addr_of(const char *text)
{
	struct addr a;

	cr_assert_eq(addr_parse(&a, text, strlen(text), true), ERR_OK);
	return a;
}

static int open_tcp(const char *text, struct addr *bound)
{
	int fd = -1;

	cr_assert_eq(listen_tcp(&fd, bound, text, stderr), ERR_OK);
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int take(const char *setting, const struct addr *want, int type, enum inherit_how how)
{
	struct addr bound;
	int         fd = -1;

	return inherit_inet(&fd, &bound, setting, type, want, how) ? fd : -1;
}

Test(inherit, by_address_whatever_its_name)
{
	struct addr bound, other = addr_of("127.0.0.1:1");
	int         fd = give(open_tcp("127.0.0.1:0", &bound), "coopd.socket");

	fcntl(fd, F_SETFL, 0);
	inherit_begin(given, given_count);
	cr_expect_eq(take("http.listen", &other, SOCK_STREAM, INHERIT_EXACT), -1);
	cr_expect_eq(take("http.listen", &bound, SOCK_DGRAM, INHERIT_EXACT), -1, "it is no UDP socket");
	cr_expect_eq(take("http.listen", &bound, SOCK_STREAM, INHERIT_EXACT), fd);
	cr_expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
	cr_expect_eq(take("http.listen", &bound, SOCK_STREAM, INHERIT_EXACT), -1, "it is taken");
	inherit_finish();
	cr_expect(is_open(fd));
}

Test(inherit, by_name_wherever_it_is_bound)
{
	struct addr bound, want = addr_of("127.0.0.1:1");
	int         fd = give(open_tcp("127.0.0.1:0", &bound), "http.listen");

	inherit_begin(given, given_count);
	cr_expect_eq(take("tunnel.listen", &want, SOCK_STREAM, INHERIT_NAMED), -1);
	cr_expect_eq(take("http.listen", &want, SOCK_STREAM, INHERIT_EXACT), -1);
	cr_expect_eq(take("http.listen", &want, SOCK_STREAM, INHERIT_NAMED), fd);
}

/* Settings may have changed since: a name alone says nothing then. */
Test(inherit, of_an_earlier_coopd_only_what_still_fits)
{
	struct addr bound, moved = addr_of("127.0.0.1:1"), any = addr_of("127.0.0.1:0"),
			   elsewhere = addr_of("127.0.0.2:0");
	int fd                       = give(open_tcp("127.0.0.1:0", &bound), "own-http.listen");

	inherit_begin(given, given_count);
	cr_expect_eq(take("http.listen", &moved, SOCK_STREAM, INHERIT_NAMED), -1);
	cr_expect_eq(take("http.listen", &elsewhere, SOCK_STREAM, INHERIT_EXACT), -1);
	cr_expect_eq(take("tunnel.listen", &any, SOCK_STREAM, INHERIT_EXACT), -1);
	cr_expect_eq(take("http.listen", &any, SOCK_STREAM, INHERIT_EXACT), fd);
}

Test(inherit, one_for_all_addresses_serves_ipv4_too)
{
	struct sockaddr_in6 sa  = { .sin6_family = AF_INET6 };
	socklen_t           len = sizeof(sa);
	struct addr         bound, want = addr_of("0.0.0.0:1"), other;
	int                 fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;

	if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0 ||
	    bind(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0)
		cr_skip_test("this machine has no IPv6");
	cr_assert_eq(listen(fd, 5), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	addr_of_sockaddr(&bound, (struct sockaddr *)&sa, len);
	want.port  = bound.port;
	other      = want;
	other.port = (uint16_t)(want.port + 1);
	give(fd, "coopd.socket");
	inherit_begin(given, given_count);
	cr_expect_not(inherit_covers(SOCK_STREAM, &want), "nobody has it yet");
	cr_expect_eq(take("http.listen", &want, SOCK_STREAM, INHERIT_EXACT), -1);
	cr_expect_eq(take("http.listen", &other, SOCK_STREAM, INHERIT_NAMED), -1);
	cr_expect_eq(take("http.listen", &want, SOCK_STREAM, INHERIT_NAMED), fd);
	cr_expect(inherit_covers(SOCK_STREAM, &want));
	cr_expect_not(inherit_covers(SOCK_STREAM, &other));
	cr_expect_not(inherit_covers(SOCK_DGRAM, &want));
}

Test(inherit, a_unix_socket_by_path_or_name)
{
	char path[60], place[INHERIT_PATH_BYTES];
	int  fd = -1, got = -1;
	bool ours = true;

	snprintf(path, sizeof(path), "/tmp/coopd-inherit-%d", (int)getpid());
	cr_assert_eq(listen_unix(&fd, path, stderr), ERR_OK);
	give(fd, "admin.socket");
	inherit_begin(given, given_count);
	cr_expect_not(inherit_unix(&got, place, &ours, "admin.events_socket", "/somewhere"));
	cr_expect(inherit_unix(&got, place, &ours, "admin.socket", "/somewhere"));
	cr_expect_eq(got, fd);
	cr_expect_str_eq(place, path);
	cr_expect_not(ours, "its file is the manager's");

	snprintf(given[0].name, SERVICE_NAME_BYTES, "own-admin.socket");
	inherit_begin(given, given_count);
	cr_expect_not(inherit_unix(&got, place, &ours, "admin.socket", "/somewhere"));
	cr_expect(inherit_unix(&got, place, &ours, "admin.socket", path));
	cr_expect(ours);
	unlink(path);
}

Test(inherit, what_cannot_be_used_or_nobody_wants_is_closed)
{
	struct addr bound;
	int         good  = give(open_tcp("127.0.0.1:0", &bound), "spare");
	int         quiet = give(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "http.listen");
	int         six   = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int         file  = give(open("/dev/null", O_RDONLY | O_CLOEXEC), "http.listen");

	if (six >= 0)
		give(six, "rooms.listen");
	inherit_begin(given, given_count);
	cr_expect_not(is_open(quiet), "it does not listen");
	cr_expect_not(is_open(file), "it is no socket");
	cr_expect(six < 0 || !is_open(six), "IPv6 over UDP is of no use");
	cr_expect(is_open(good));
	inherit_finish();
	cr_expect_not(is_open(good));
}

Test(inherit, what_is_kept_goes_on_under_its_setting)
{
	struct addr         bound, mine;
	struct inherit_kept out[INHERIT_MAX];
	int                 theirs = give(open_tcp("127.0.0.1:0", &bound), "coopd.socket");
	int                 own = open_tcp("127.0.0.1:0", &mine), gone = open_tcp("127.0.0.1:0", &mine), again;

	inherit_begin(given, given_count);
	cr_assert_eq(take("tunnel.listen", &bound, SOCK_STREAM, INHERIT_EXACT), theirs);
	inherit_keep("tunnel.listen", theirs);
	inherit_keep("http.listen", own);
	inherit_keep("signal.listen", gone);
	close(gone);
	again = open_tcp("127.0.0.1:0", &mine);
	cr_assert_eq(again, gone, "the number is another socket's now");
	cr_assert_eq(inherit_kept(out), 2);
	cr_expect_eq(out[0].fd, theirs);
	cr_expect_str_eq(out[0].name, "tunnel.listen");
	cr_expect_eq(out[1].fd, own);
	cr_expect_str_eq(out[1].name, "own-http.listen");
}

/* Bound ahead, to see whether that works. */
Test(inherit, what_was_put_back_is_had_again)
{
	struct inherit_kept out[INHERIT_MAX];
	struct addr         bound, fresh, any = addr_of("127.0.0.1:0");
	int                 theirs = give(open_tcp("127.0.0.1:0", &bound), "coopd.socket");
	int                 own    = open_tcp("127.0.0.1:0", &fresh);

	inherit_begin(given, given_count);
	cr_assert_eq(take("tunnel.listen", &bound, SOCK_STREAM, INHERIT_EXACT), theirs);
	inherit_keep("tunnel.listen", theirs);
	inherit_keep("http.listen", own);
	inherit_put_back("tunnel.listen", theirs);
	inherit_put_back("http.listen", own);

	cr_assert_eq(take("tunnel.listen", &bound, SOCK_STREAM, INHERIT_EXACT), theirs);
	cr_assert_eq(take("http.listen", &any, SOCK_STREAM, INHERIT_EXACT), own);
	inherit_keep("tunnel.listen", theirs);
	inherit_keep("http.listen", own);
	cr_assert_eq(inherit_kept(out), 2, "each goes on once");
	cr_expect_str_eq(out[0].name, "tunnel.listen");
	cr_expect_str_eq(out[1].name, "own-http.listen");
	inherit_finish();
	cr_expect(is_open(theirs) && is_open(own));
}

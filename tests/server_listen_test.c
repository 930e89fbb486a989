/*
 * Sockets of the server: TCP alone, and TCP with UDP on the same port.
 */
#include "server_listen.h"

#include "support/dial.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static struct listeners tcp, udp;

static void tidy(void)
{
	listeners_close(&tcp);
	listeners_close(&udp);
}

TestSuite(server_listen, .fini = tidy);

/* b may be NULL. */
static bool bind_both(const char *a, const char *b)
{
	char             first[32], second[32];
	char            *words[] = { first, second };
	struct conf_list list    = { .words = words, .count = b ? 2 : 1 };

	snprintf(first, sizeof(first), "%s", a);
	snprintf(second, sizeof(second), "%s", b ? b : "");
	return listeners_bind_both(&tcp, &udp, "rooms.listen", &list, stderr);
}

Test(server_listen, tcp_and_udp_have_one_port)
{
	cr_assert(bind_both("127.0.0.1:0", "127.0.0.2:0"));
	cr_assert_eq(tcp.count, 2);
	cr_assert_eq(udp.count, 2);
	for (size_t i = 0; i < 2; i++) {
		cr_expect_neq(tcp.bound[i].port, 0);
		cr_expect_eq(udp.bound[i].port, tcp.bound[i].port);
		cr_expect_eq(udp.bound[i].ip[3], i + 1);
	}
}

Test(server_listen, an_ipv6_address_is_for_tcp_alone)
{
	cr_assert(bind_both("[::1]:0", "127.0.0.1:0"));
	cr_expect_eq(tcp.count, 2);
	cr_assert_eq(udp.count, 1);
	cr_expect_eq(udp.bound[0].port, tcp.bound[1].port);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in a   = { 0 };
	socklen_t          len = sizeof(a);

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	return ntohs(a.sin_port);
}

/* What is said on standard error meanwhile, at most cap - 1 bytes. */
static bool bind_one_saying(char *said, size_t cap, const char *word)
{
	int  before = dup(STDERR_FILENO), file = memfd_create("said", MFD_CLOEXEC);
	bool is_bound;

	cr_assert(before >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
	is_bound = bind_both(word, NULL);
	fflush(stderr);
	dup2(before, STDERR_FILENO);

	ssize_t len = pread(file, said, cap - 1, 0);

	said[len > 0 ? len : 0] = '\0';
	close(before);
	close(file);
	return is_bound;
}

Test(server_listen, a_port_that_udp_cannot_have_is_refused_by_name)
{
	int  other = dial_udp("127.0.77.1", 0); /* where nobody else has a TCP connection */
	char word[32], said[300], wanted[300];

	snprintf(word, sizeof(word), "127.0.77.1:%d", port_of(other));
	snprintf(wanted, sizeof(wanted),
	         "%s over UDP is in use by another program; stop it or choose another port\n"
	         "coopd: that was rooms.listen; coopd does not start without it.\n",
	         word);
	cr_expect_not(bind_one_saying(said, sizeof(said), word));
	cr_expect_str_eq(said, wanted);
	cr_expect_eq(tcp.count, 0);
	cr_expect_eq(udp.count, 0);

	close(other); /* TCP's was let go as well */
	cr_expect(bind_one_saying(said, sizeof(said), word));
	cr_expect_str_empty(said);
}

Test(server_listen, what_is_taken_is_the_callers)
{
	struct addr bound;
	int         fd;

	cr_assert(bind_both("127.0.0.1:0", NULL));
	uint16_t port = tcp.bound[0].port;

	cr_assert(listeners_take(&tcp, &fd, &bound));
	cr_expect_eq(bound.port, port);
	cr_expect_eq(port_of(fd), port);
	cr_expect_not(listeners_take(&tcp, &fd, &bound));
	close(fd);
}

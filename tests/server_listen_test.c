/*
 * Sockets of the server: TCP alone, and TCP with UDP on the same port.
 */
#include "server_listen.h"

#include "support/dial.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct listeners tcp, udp;

static void tidy(void)
{
	listeners_close(&tcp);
	listeners_close(&udp);
}

TestSuite(server_listen, .fini = tidy);

static bool bind_both(char *a, char *b)
{
	char            *words[] = { a, b };
	struct conf_list list    = { .words = words, .count = b ? 2 : 1 };

	return listeners_bind_both(&tcp, &udp, "rooms.listen", &list);
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
	struct sockaddr_in a;
	socklen_t          len = sizeof(a);

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	return ntohs(a.sin_port);
}

Test(server_listen, a_port_that_udp_cannot_have_is_refused_by_name, .init = cr_redirect_stderr)
{
	int  other = dial_udp("127.0.0.1", 0), taken = port_of(other);
	char word[32], said[200];

	snprintf(word, sizeof(word), "127.0.0.1:%d", taken);
	cr_expect_not(bind_both(word, NULL));
	cr_expect_eq(tcp.count, 0);
	cr_expect_eq(udp.count, 0);
	fflush(stderr);
	snprintf(said, sizeof(said),
	         "%s over UDP is in use by another program; stop it or choose another port\n"
	         "coopd: that was rooms.listen; coopd does not start without it.\n",
	         word);
	cr_expect_stderr_eq_str(said);

	/* TCP's was let go. */
	close(other);
	cr_expect(bind_both(word, NULL));
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

/*
 * How peer to peer starts, of the whole server: which sockets there are, what is said about those that are not.
 */
#include "support/dial.h"
#include "support/p2p_raw.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct server *s;

static void stop(void)
{
	server_finish(s);
}

TestSuite(p2p_start, .fini = stop, .timeout = 120);

static void start_with(const char *const *sets)
{
	s = server_start(sets);
}

static bool log_has(const char *text)
{
	return server_log_contains(s, text);
}

/* What hello says of UDP. */
static bool is_told(const char *udp)
{
	struct ws_client *c  = p2p_raw_open(s, NULL);
	bool              is = strstr(p2p_raw_hello(c, 1), udp) != NULL;

	ws_client_free(c);
	return is;
}

Test(p2p_start, with_one_address_b_is_null_and_the_log_says_so)
{
	start_with((const char *[]){ "p2p.listen2=", NULL });
	cr_expect(log_has("one-address"));
	cr_expect(is_told("\"b\":null"));
	cr_expect_not(log_has("inside-address"), "that is for production");
}

Test(p2p_start, without_an_address_there_is_no_udp_and_the_log_says_so)
{
	struct ws_client *c;

	start_with((const char *[]){ "server.production=yes", "http.listen=127.0.0.1:0", NULL });
	cr_expect(log_has("no-udp"));
	cr_expect_eq(s->p2p_port, 0);
	cr_expect(is_told("\"udp\":null"));
	c = p2p_raw_open(s, NULL);
	p2p_raw_hello(c, 2);
	cr_expect(strstr(p2p_raw_ask(c, "{\"op\":\"nat.check\",\"id\":1}"), "\"no_udp\""));
	cr_expect(strstr(p2p_raw_ask(c, "{\"op\":\"p2p.create\",\"id\":1}"), "\"ok\":true"), "rooms there are");
	ws_client_free(c);
}

Test(p2p_start, in_production_addresses_that_nobody_outside_reaches_are_warned_of)
{
	start_with((const char *[]){ "server.production=yes", "http.listen=127.0.0.1:0", "p2p.listen1=127.0.0.1",
	                             "p2p.listen2=127.0.0.2", NULL });
	cr_expect(log_has("p2p.listen1, which only its own network reaches"));
	cr_expect(log_has("p2p.listen2, which only its own network reaches"));
}

Test(p2p_start, public_addresses_are_told_instead)
{
	start_with((const char *[]){ "server.production=yes", "http.listen=127.0.0.1:0", "p2p.listen1=127.0.0.1",
	                             "p2p.listen2=127.0.0.2", "p2p.public1=203.0.113.1", "p2p.public2=203.0.113.2",
	                             NULL });
	cr_expect_not(log_has("inside-address"));
	cr_expect(is_told("\"a\":\"203.0.113.1\",\"b\":\"203.0.113.2\""));
}

/* A UDP port of this address is taken; its number. */
static int take_port(int *fd, const char *ip)
{
	struct sockaddr_in a    = { .sin_family = AF_INET };
	socklen_t          size = sizeof(a);

	*fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	inet_pton(AF_INET, ip, &a.sin_addr);
	cr_assert_eq(bind(*fd, (struct sockaddr *)&a, sizeof(a)), 0);
	cr_assert_eq(getsockname(*fd, (struct sockaddr *)&a, &size), 0);
	return ntohs(a.sin_port);
}

Test(p2p_start, a_second_address_that_cannot_be_had_is_done_without_or_required)
{
	char set[40];
	int  fd;

	snprintf(set, sizeof(set), "p2p.alt_port=%d", take_port(&fd, "127.0.0.2"));
	start_with((const char *[]){ set, NULL });
	cr_expect(log_has("that was p2p.listen2"));
	cr_expect(log_has("one-address"));
	cr_expect(is_told("\"b\":null"), "not half of it");
	server_stop(s);

	server_set(s, "p2p.second_required=yes");
	server_launch(s);
	cr_expect_eq(server_await_exit(s, SERVER_READY_MS), 1);
	close(fd);
	server_restart(s);
	cr_expect(is_told("\"b\":\"127.0.0.2\""));
}

Test(p2p_start, a_first_address_that_cannot_be_had_stops_the_start)
{
	char set[40];
	int  fd;

	snprintf(set, sizeof(set), "p2p.alt_port=%d", take_port(&fd, "127.0.0.1"));
	s = server_prepare((const char *[]){ set, NULL });
	server_launch(s);
	cr_expect_eq(server_await_exit(s, SERVER_READY_MS), 1);
	cr_expect_not(log_has("that was p2p.listen2"));
	close(fd);
}

Test(p2p_start, it_stops_in_good_order_with_sessions_rooms_and_a_check_under_way)
{
	struct ws_client *c;

	start_with(NULL);
	c = p2p_raw_open(s, NULL);
	p2p_raw_hello(c, 1);
	p2p_raw_ask(c, "{\"op\":\"p2p.create\",\"id\":1}");
	cr_expect(strstr(p2p_raw_ask(c, "{\"op\":\"nat.check\",\"id\":2}"), "\"nat.step\""));
	server_signal(s, SIGTERM);
	cr_expect_eq(p2p_raw_end(c), 0);
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
	ws_client_free(c);
}

/*
 * coturn beside coopd, configured with the lines of README.md: it takes the credentials that coopd hands out, and no
 * others, and it relays to nobody whom strangers must not reach through it.
 */
#include "support/data_folder.h"
#include "support/dial.h"
#include "support/lobby_client.h"
#include "support/program.h"
#include "support/readme.h"
#include "support/rest_client.h"
#include "support/server.h"
#include "support/turn_client.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

#define SECRET    "north-of-the-old-mill" /* that of README.md is put in its place */
#define OWN       "9.9.9.9"               /* the public addresses of the server's machine */
#define OWN_6     "2a00:1450:4001:806::10"
#define TRIES     5 /* somebody may take the free port first */
#define FORBIDDEN 403

struct turn_server {
	struct program *program;
	int             port;
};

struct credential {
	char user[80], pass[64];
};

/* --- The server --- */

static bool has_ipv6(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int                 fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool                is = fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

/*
 * Only here, relays have loopback addresses, and coturn's own refusal of loopback peers is off: what is refused is refused
 * by the lines of the README. with_list: without it, as a comparison, those are left out.
 */
static void configure(int port, bool with_list)
{
	char  listening[64], after[1024];
	char *text = readme_block("turnserver");

	snprintf(listening, sizeof(listening), "listening-port=%d", port);
	text = readme_replace(text, "listening-port=3478", listening);
	text = readme_replace(text, "static-auth-secret=REPLACE-THIS-BY-TURN-SECRET", "static-auth-secret=" SECRET);
	text = readme_cut(text, "syslog");
	text = readme_replace(text, "denied-peer-ip=203.0.113.10\n", "denied-peer-ip=" OWN "\n");
	text = readme_replace(text, "denied-peer-ip=2001:db8::10\n", "denied-peer-ip=" OWN_6 "\n");
	if (!with_list)
		text = readme_cut(text, "denied-peer-ip=");
	snprintf(after, sizeof(after),
	         "listening-ip=127.0.0.1\nrelay-ip=127.0.0.1\n%sallow-loopback-peers\n"
	         "log-file=stdout\nsimple-log\nuserdb=%s\npidfile=%s\n",
	         has_ipv6() ? "relay-ip=::1\n" : "", data_path("turndb"), data_path("turn.pid"));
	readme_save(text, "turnserver.conf", "", after);
}

/* Until it answers; false when it has ended. */
static bool await_turn(struct turn_server *t)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	/* It says so before it takes the first datagram, but answers those that come early. */
	while (program_is_running(t->program)) {
		char *said  = program_output(t->program);
		bool  ready = strstr(said, "Total General servers") != NULL;

		free(said);
		if (ready)
			return true;
		cr_assert_lt(real_now_ms(), deadline_ms, "coturn does not start");
		real_sleep_ms(20);
	}
	return false;
}

/* False, and said why, when it is not installed. */
static bool start_turn(struct turn_server *t, bool with_list)
{
	if (!program_or_skip("turnserver"))
		return false;
	for (int i = 0; i < TRIES; i++) {
		t->port = program_free_port();
		configure(t->port, with_list);
		t->program = program_start((const char *[]){ "turnserver", "-c", "turnserver.conf", NULL });
		if (await_turn(t))
			return true;
		program_print_output(t->program);
		program_stop(t->program);
	}
	cr_assert(false, "coturn does not start");
	return false;
}

/* --- Credentials --- */

/* Made here, as the scheme says: valid until some seconds from now. */
static struct credential make_credential(const char *secret, int seconds)
{
	struct credential c;
	uint8_t           mac[20];
	unsigned          len = sizeof(mac);

	snprintf(c.user, sizeof(c.user), "%lld:127.0.0.6", (long long)time(NULL) + seconds);
	HMAC(EVP_sha1(), secret, (int)strlen(secret), (const uint8_t *)c.user, strlen(c.user), mac, &len);
	EVP_EncodeBlock((uint8_t *)c.pass, mac, sizeof(mac));
	return c;
}

/* What coturn says to it. */
static int allocate(const struct turn_server *t, const struct credential *c)
{
	struct turn_client client;

	turn_client_open(&client, t->port, c->user, c->pass);
	int answer = turn_client_allocate(&client, AF_INET);

	turn_client_close(&client);
	return answer;
}

/* Announces a lobby and joins it: the credentials of both. */
static void ask_coopd(struct credential *host, struct credential *joiner, const struct server *s)
{
	char id[32];

	AUTO(rest_freep) struct http_result made = master_post(s, NULL, "/v1/host", master_announce_body(""));

	cr_assert_eq(made.status, 200, "%s", made.body);
	rest_text(&made, "lobbyId", id, sizeof(id));
	rest_text(&made, "turn.user", host->user, sizeof(host->user));
	rest_text(&made, "turn.pass", host->pass, sizeof(host->pass));

	AUTO(rest_freep) struct http_result joined = master_join(s, NULL, id);

	cr_assert_eq(joined.status, 200, "%s", joined.body);
	rest_text(&joined, "turn.user", joiner->user, sizeof(joiner->user));
	rest_text(&joined, "turn.pass", joiner->pass, sizeof(joiner->pass));
}

Test(coturn, takes_the_credentials_that_coopd_gives_hosts_and_joiners)
{
	struct turn_server t;
	struct credential  host, joiner;

	if (!start_turn(&t, true))
		return;
	struct server *s =
		server_start((const char *[]){ "turn.secret=" SECRET, "turn.uri=turn:127.0.0.1:3478", NULL });

	ask_coopd(&host, &joiner, s);
	cr_expect_eq(allocate(&t, &host), 0);
	cr_expect_eq(allocate(&t, &joiner), 0);

	/* One changed character is enough. */
	joiner.pass[3] = joiner.pass[3] == 'x' ? 'y' : 'x';
	cr_expect_eq(allocate(&t, &joiner), 401);
	server_finish(s);

	/* A coopd with another secret than coturn's. */
	s = server_start((const char *[]){ "turn.secret=another", "turn.uri=turn:127.0.0.1:3478", NULL });
	ask_coopd(&host, &joiner, s);
	cr_expect_eq(allocate(&t, &host), 401);
	cr_expect_eq(allocate(&t, &joiner), 401);
	server_finish(s);
	program_stop(t.program);
}

Test(coturn, takes_no_credential_of_another_secret_and_none_that_has_expired)
{
	struct turn_server t;

	if (!start_turn(&t, true))
		return;
	struct credential good = make_credential(SECRET, 60), other = make_credential("another", 60);
	struct credential expired = make_credential(SECRET, -2);

	cr_expect_eq(allocate(&t, &good), 0);
	cr_expect_eq(allocate(&t, &other), 401);
	cr_expect_eq(allocate(&t, &expired), 401);
	program_stop(t.program);
}

/* --- Peers --- */

/* Addresses in each of the networks that are nobody's business from outside, and some beside them that are. */
enum peer { PUBLIC, LISTED, NOBODY /* coturn refuses these by itself */ };

static const struct {
	const char *address;
	enum peer   is;
} peers[] = {
	{ "127.0.0.1", LISTED },
	{ "127.255.255.254", LISTED },
	{ "0.0.0.0", NOBODY },
	{ "0.255.255.255", NOBODY },
	{ "9.255.255.255", PUBLIC },
	{ "10.0.0.1", LISTED },
	{ "10.255.255.255", LISTED },
	{ "11.0.0.1", PUBLIC },
	{ "100.63.255.255", PUBLIC },
	{ "100.64.0.1", LISTED },
	{ "100.127.255.255", LISTED },
	{ "100.128.0.1", PUBLIC },
	{ "169.254.0.1", LISTED },
	{ "169.254.169.254", LISTED },
	{ "172.15.255.255", PUBLIC },
	{ "172.16.0.1", LISTED },
	{ "172.31.255.255", LISTED },
	{ "172.32.0.1", PUBLIC },
	{ "192.0.0.1", LISTED },
	{ "192.168.0.1", LISTED },
	{ "192.168.255.255", LISTED },
	{ "198.18.0.1", LISTED },
	{ "198.19.255.255", LISTED },
	{ "203.0.113.1", LISTED },
	{ OWN, LISTED },
	{ "8.8.8.8", PUBLIC },
	{ "224.0.0.1", NOBODY },
	{ "255.255.255.255", NOBODY },
}, peers_6[] = {
	{ "::", NOBODY },
	{ "::1", LISTED },
	{ "::127.0.0.1", LISTED },
	{ "::ffff:127.0.0.1", LISTED },
	{ "::ffff:10.0.0.1", LISTED },
	{ "::ffff:255.255.255.255", LISTED },
	{ "64:ff9b::10.0.0.1", LISTED },
	{ "64:ff9b:1::10.0.0.1", LISTED },
	{ "2002:a00:1::1", LISTED },
	{ "fc00::1", LISTED },
	{ "fd00:ec2::254", LISTED },
	{ "fdff:ffff::1", LISTED },
	{ "fe80::1", LISTED },
	{ "febf:ffff::1", LISTED },
	{ "2001:db8::1", LISTED },
	{ OWN_6, LISTED },
	{ "2a00:1450:4001:806::200e", PUBLIC },
};

/* What coturn says to a permission for it, on a relay address of this family. */
static void expect_peer(struct turn_client *c, const char *address, int answer)
{
	int is = turn_client_permit(c, address);

	cr_expect_eq(is, answer, "%s: %d instead of %d", address, is, answer);
}

static void open_relay(struct turn_client *c, const struct turn_server *t, const struct credential *credential,
                       int family)
{
	turn_client_open(c, t->port, credential->user, credential->pass);
	int answer = turn_client_allocate(c, family);

	cr_assert_eq(answer, 0, "no relay address: %d", answer);
}

/* with_list: as README.md has it; else all of them pass. */
static void expect_peers(bool with_list)
{
	struct turn_server t;
	struct turn_client c;

	if (!start_turn(&t, with_list))
		return;
	struct credential credential = make_credential(SECRET, 60);

	open_relay(&c, &t, &credential, AF_INET);
	for (size_t i = 0; i < LEN(peers); i++)
		expect_peer(&c, peers[i].address, peers[i].is > (with_list ? PUBLIC : LISTED) ? FORBIDDEN : 0);
	turn_client_close(&c);

	if (has_ipv6()) {
		open_relay(&c, &t, &credential, AF_INET6);
		for (size_t i = 0; i < LEN(peers_6); i++)
			expect_peer(&c, peers_6[i].address,
			            peers_6[i].is > (with_list ? PUBLIC : LISTED) ? FORBIDDEN : 0);
		turn_client_close(&c);
	} else {
		fprintf(stderr, "skipped: peers with IPv6 addresses, because there is no IPv6 here\n");
	}
	program_stop(t.program);
}

Test(coturn, relays_to_no_private_address)
{
	expect_peers(true);
}

Test(coturn, would_relay_to_them_without_those_lines)
{
	expect_peers(false);
}

/* --- Its own client --- */

/* Two relay addresses of one client that send each other something. Its status. */
static int relay_between_two(const struct turn_server *t, const struct credential *c)
{
	char port[16];

	snprintf(port, sizeof(port), "%d", t->port);
	struct program *client =
		program_start((const char *[]){ "turnutils_uclient", "-y", "-c", "-n", "3", "-u", c->user, "-w",
	                                        c->pass, "-p", port, "127.0.0.1", NULL });
	int status = program_await_end(client, DIAL_PATIENCE_MS);

	program_stop(client);
	return status;
}

Test(coturn, carries_what_its_own_client_sends_and_nothing_to_forbidden_peers)
{
	struct turn_server t;
	struct credential  host, joiner;

	if (!program_or_skip("turnutils_uclient") || !start_turn(&t, false))
		return;
	struct server *s =
		server_start((const char *[]){ "turn.secret=" SECRET, "turn.uri=turn:127.0.0.1:3478", NULL });

	ask_coopd(&host, &joiner, s);
	cr_expect_eq(relay_between_two(&t, &joiner), 0);
	program_stop(t.program);

	/* All relay addresses here are loopback ones, so that the list leaves nobody to talk to. */
	cr_assert(start_turn(&t, true));
	cr_expect_neq(relay_between_two(&t, &joiner), 0);
	char *said = program_output(t.program);

	cr_expect(strstr(said, "peer IP 127.0.0.1 denied"), "coturn does not say why: %s", said);
	free(said);
	program_stop(t.program);
	server_finish(s);
}

/*
 * The lab itself: every kind of router behaves as it is named, nothing is left of a lab when its test ends, and what is in
 * the way of one is said in words.
 */
#include "support/dial.h"
#include "support/natlab.h"
#include "support/netns.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT        3478
#define OTHER_PORT  3479
#define PLAYER_PORT 5000
#define NOBODY      65534
#define QUIET_MS    300 /* for what is not to come: long for a network that has no length */

/* --- Sockets and what they say --- */

struct end {
	char ip[16];
	int  port;
};

static int udp_in(const struct natlab *lab, const char *node, const char *ip, int port)
{
	natlab_enter(lab, node);
	int fd = dial_udp(ip, port);

	natlab_leave();
	cr_assert_geq(fd, 0, "no port %d on %s", port, node);
	return fd;
}

static void send_to(int fd, const struct end *to, const char *text)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)to->port) };

	cr_assert_eq(inet_pton(AF_INET, to->ip, &at.sin_addr), 1);
	sendto(fd, text, strlen(text) + 1, 0, (struct sockaddr *)&at, sizeof(at));
}

/* What came, and from whom; NULL: nothing within so long. Until the next call. */
static const char *hear(int fd, struct end *from, int patience_ms)
{
	static char        text[64];
	struct sockaddr_in at   = { 0 };
	socklen_t          size = sizeof(at);
	struct pollfd      p    = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, patience_ms) <= 0 || recvfrom(fd, text, sizeof(text), 0, (struct sockaddr *)&at, &size) <= 0)
		return NULL;
	inet_ntop(AF_INET, &at.sin_addr, from->ip, sizeof(from->ip));
	from->port = ntohs(at.sin_port);
	return text;
}

/* --- A server with four ends: both addresses, two ports each --- */

enum { SAME, OTHER_PORT_END, OTHER_IP_END, BOTH_OTHER, ENDS };

static const struct end ends[ENDS] = {
	[SAME]           = { NATLAB_S1, PORT },
	[OTHER_PORT_END] = { NATLAB_S1, OTHER_PORT },
	[OTHER_IP_END]   = { NATLAB_S2, PORT },
	[BOTH_OTHER]     = { NATLAB_S2, OTHER_PORT },
};

struct side {
	int         server[ENDS];
	const char *node;
	int         fd;  /* the player's */
	struct end  own; /* as the server's first end sees it */
};

static void open_server(struct side *s, const struct natlab *lab)
{
	for (int i = 0; i < ENDS; i++)
		s->server[i] = udp_in(lab, "server", ends[i].ip, ends[i].port);
}

static void close_all(struct side *s)
{
	for (int i = 0; i < ENDS; i++)
		close(s->server[i]);
	close(s->fd);
}

/* The player sends to one end of the server; how he looks there. False: nothing arrives. */
static bool look(struct side *s, int end, struct end *seen, int patience_ms)
{
	send_to(s->fd, &ends[end], "look");
	return hear(s->server[end], seen, patience_ms) != NULL;
}

static void open_player(struct side *s, const struct natlab *lab, const char *node)
{
	s->node = node;
	s->fd   = udp_in(lab, node, "0.0.0.0", PLAYER_PORT);
}

/* --- What a kind is --- */

enum passes { NOBODY_PASSES, WHO_WAS_SENT_TO, WHOSE_ADDRESS_WAS_SENT_TO, EVERYBODY };

static const struct kind {
	const char *name;
	bool        is_behind_router, keeps_its_port;
	enum passes passes;
} kinds[] = {
	{ "open", false, true, EVERYBODY },
	{ "fullcone", true, true, EVERYBODY },
	{ "address", true, true, WHOSE_ADDRESS_WAS_SENT_TO },
	{ "port", true, true, WHO_WAS_SENT_TO },
	{ "symmetric", true, false, WHO_WAS_SENT_TO },
};

static const char *const all_kinds[] = { "open", "fullcone", "address", "port", "symmetric", "blocked", NULL };

static void check_mapping(struct side *s, const struct natlab *lab, const struct kind *k)
{
	const struct natlab_node *n = natlab_node(lab, s->node);

	cr_assert(look(s, SAME, &s->own, DIAL_PATIENCE_MS), "%s: nothing arrives", s->node);
	cr_expect_str_eq(s->own.ip, n->outside, "%s: seen as %s", s->node, s->own.ip);
	cr_expect_eq(s->own.port != PLAYER_PORT, k->is_behind_router, "%s: port %d outside", s->node, s->own.port);
	for (int i = SAME + 1; i < ENDS; i++) {
		struct end seen;

		cr_assert(look(s, i, &seen, DIAL_PATIENCE_MS), "%s: nothing arrives", s->node);
		cr_expect_str_eq(seen.ip, n->outside);
		cr_expect_eq(seen.port == s->own.port, k->keeps_its_port, "%s: port %d, then %d", s->node, s->own.port,
		             seen.port);
	}
}

/*
 * He sends to one end only, from a port that is new to the router. Then one end sends to him that he did not send to, and
 * after it the one that he did: if the first comes through at all, it comes first.
 */
static bool lets_in(struct side *s, const struct natlab *lab, int end)
{
	struct end  seen, from;
	const char *text;

	close(s->fd);
	s->fd = udp_in(lab, s->node, "0.0.0.0", 0);
	cr_assert(look(s, SAME, &seen, DIAL_PATIENCE_MS));
	send_to(s->server[end], &seen, "uncalled");
	send_to(s->server[SAME], &seen, "called");
	text = hear(s->fd, &from, DIAL_PATIENCE_MS);
	cr_assert_not_null(text, "%s: an answer does not arrive", s->node);
	if (strcmp(text, "uncalled") != 0)
		return false;
	cr_expect(strcmp(from.ip, ends[end].ip) == 0 && from.port == ends[end].port, "%s: from %s:%d", s->node, from.ip,
	          from.port);
	return true;
}

static void check_filtering(struct side *s, const struct natlab *lab, const struct kind *k)
{
	cr_expect_eq(lets_in(s, lab, OTHER_PORT_END), k->passes >= WHOSE_ADDRESS_WAS_SENT_TO, "%s: another port",
	             s->node);
	cr_expect_eq(lets_in(s, lab, OTHER_IP_END), k->passes == EVERYBODY, "%s: another address", s->node);
	cr_expect_eq(lets_in(s, lab, BOTH_OTHER), k->passes == EVERYBODY, "%s: another address and port", s->node);
}

Test(natlab, every_kind_of_router_behaves_as_it_is_named)
{
	struct natlab *lab = natlab_new(all_kinds);
	struct side    s;

	if (!lab)
		return;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		for (int router = 1; router <= 2; router++) {
			char node[32];

			snprintf(node, sizeof(node), "%s-%d", kinds[i].name, router);
			open_server(&s, lab);
			open_player(&s, lab, node);
			check_mapping(&s, lab, &kinds[i]);
			check_filtering(&s, lab, &kinds[i]);
			close_all(&s);
		}
	}
	natlab_free(lab);
}

/* A router that forgot all about the one would give away his port, or let the other's answers in to him. */
Test(natlab, two_players_of_a_router_are_told_apart)
{
	struct natlab *lab = natlab_new(all_kinds);

	if (!lab)
		return;
	for (size_t i = 1; i < COUNT_OF(kinds); i++) {
		struct side s, other;
		struct end  from;
		char        node[2][32];

		snprintf(node[0], sizeof(node[0]), "%s-1", kinds[i].name);
		snprintf(node[1], sizeof(node[1]), "%s-1b", kinds[i].name);
		open_server(&s, lab);
		open_player(&s, lab, node[0]);
		open_player(&other, lab, node[1]); /* at the same port */
		memcpy(other.server, s.server, sizeof(s.server));
		check_mapping(&s, lab, &kinds[i]);
		check_mapping(&other, lab, &kinds[i]);
		cr_expect_str_eq(s.own.ip, other.own.ip);
		cr_expect_neq(s.own.port, other.own.port);
		send_to(s.server[SAME], &other.own, "for the other");
		send_to(s.server[SAME], &s.own, "for the one");
		cr_expect_str_eq(hear(s.fd, &from, DIAL_PATIENCE_MS), "for the one");
		cr_expect_str_eq(hear(other.fd, &from, DIAL_PATIENCE_MS), "for the other");
		close(other.fd);
		close_all(&s);
	}
	natlab_free(lab);
}

static bool can_connect(const struct natlab *lab, const char *node, const char *to)
{
	natlab_enter(lab, node);
	int fd = dial_tcp_to(to, PORT, NULL, 0);

	natlab_leave();
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int listen_on_server(const struct natlab *lab)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	natlab_enter(lab, "server");
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	natlab_leave();
	cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 64) == 0);
	return fd;
}

Test(natlab, everybody_reaches_the_server_over_tcp_and_who_is_blocked_over_nothing_else)
{
	struct natlab *lab = natlab_new(all_kinds);
	struct side    s;
	struct end     seen;

	if (!lab)
		return;

	int listener = listen_on_server(lab);

	for (size_t i = 0; i < lab->node_count; i++) {
		cr_expect(can_connect(lab, lab->nodes[i].name, NATLAB_S1), "%s", lab->nodes[i].name);
		cr_expect(can_connect(lab, lab->nodes[i].name, NATLAB_S2), "%s", lab->nodes[i].name);
	}
	close(listener);
	open_server(&s, lab);
	open_player(&s, lab, "blocked-1");
	for (int i = 0; i < ENDS; i++)
		cr_expect_not(look(&s, i, &seen, QUIET_MS));
	close_all(&s);
	natlab_free(lab);
}

/* --- Two players --- */

/* Both know how the other looks at the server, and send to it, twice: who reaches whom. */
static void punch(const struct natlab *lab, const char *of_a, const char *of_b, bool *a_hears, bool *b_hears)
{
	struct side a, b;
	struct end  from;

	open_server(&a, lab);
	memcpy(b.server, a.server, sizeof(b.server));
	open_player(&a, lab, of_a);
	open_player(&b, lab, of_b);
	cr_assert(look(&a, SAME, &a.own, DIAL_PATIENCE_MS) && look(&b, SAME, &b.own, DIAL_PATIENCE_MS));
	for (int i = 0; i < 2; i++) {
		send_to(a.fd, &b.own, "to b");
		send_to(b.fd, &a.own, "to a");
	}
	*a_hears = hear(a.fd, &from, QUIET_MS) != NULL;
	*b_hears = hear(b.fd, &from, QUIET_MS) != NULL;
	close(b.fd);
	close_all(&a);
}

Test(natlab, players_meet_unless_a_symmetric_router_meets_one_that_minds_ports)
{
	static const struct pair {
		const char *a, *b;
		bool        a_hears, b_hears;
	} pairs[] = {
		{ "open-1", "open-2", true, true },
		{ "open-1", "symmetric-1", true, false }, /* its answer goes to a port that nobody told */
		{ "fullcone-1", "symmetric-1", true, false },
		{ "fullcone-1", "fullcone-2", true, true },
		{ "address-1", "address-2", true, true },
		{ "address-1", "symmetric-1", true, false },
		{ "port-1", "port-2", true, true },
		{ "port-1", "symmetric-1", false, false },
		{ "symmetric-1", "symmetric-2", false, false },
	};
	struct natlab *lab = natlab_new(all_kinds);

	if (!lab)
		return;
	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		bool a_hears, b_hears;

		punch(lab, pairs[i].a, pairs[i].b, &a_hears, &b_hears);
		cr_expect(a_hears == pairs[i].a_hears && b_hears == pairs[i].b_hears, "%s hears %d, %s hears %d",
		          pairs[i].a, a_hears, pairs[i].b, b_hears);
	}
	natlab_free(lab);
}

/* --- Its end, and when it cannot be --- */

static bool is_gone(pid_t pid)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (kill(pid, 0) == 0) {
		if (real_now_ms() > deadline_ms)
			return false;
		real_sleep_ms(20);
	}
	return true;
}

Test(natlab, a_lab_ends_with_its_test_also_when_that_is_killed)
{
	static const char *const one[] = { "port", NULL };
	struct natlab           *lab   = natlab_new(one);
	int                      tell[2];
	pid_t                    script = 0;

	if (!lab)
		return;
	natlab_free(lab);
	cr_assert_eq(pipe(tell), 0);
	pid_t test = fork();

	if (test == 0) {
		if (natlab_try(&lab, one, 0) == NULL && write(tell[1], &lab->pid, sizeof(pid_t)) > 0)
			raise(SIGKILL);
		_exit(1);
	}
	close(tell[1]);
	cr_assert_eq(read(tell[0], &script, sizeof(script)), (ssize_t)sizeof(script));
	waitpid(test, NULL, 0);
	cr_expect(is_gone(script));
	close(tell[0]);
}

Test(natlab, what_is_in_the_way_of_a_lab_is_said)
{
	static const char *const none[] = { NULL }, *const odd[] = { "conical", NULL };
	struct natlab *lab;

	if (getuid() == 0) {
		cr_expect_str_eq(natlab_try(&lab, odd, 0), "cannot build a network of namespaces: there is no kind of "
		                                           "router called conical");
		cr_expect_str_eq(natlab_try(&lab, none, NOBODY),
		                 "cannot build a network of namespaces: this is not root");
	} else {
		cr_expect_str_eq(natlab_try(&lab, none, 0), "cannot build a network of namespaces: this is not root");
	}
}

/*
 * STUN over real sockets: from where answers come, to whom, how many, and that the clients of others can use them.
 */
#include "base/auto.h"
#include "p2p/p2p_stun_wire.h"
#include "support/dial.h"
#include "support/program.h"
#include "support/server.h"
#include "support/vectors.h"
#include "support/ws_client.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define A       "127.0.0.1"
#define B       "127.0.0.2"
#define RATE    "stun.rate=1"
#define BURST   5
#define TOTAL   3
#define DROPPED "coopd_stun_dropped_total"
#define ANSWERS "coopd_stun_answers_total"

static struct server *s;
static struct vectors all;

static void prepare(void)
{
	all = vectors_load("stun.hex");
}

static void finish(void)
{
	if (s)
		server_finish(s);
	s = NULL;
	vectors_free(&all);
}

TestSuite(stun_serve, .init = prepare, .fini = finish, .timeout = 120);

static void start(const char *const *sets)
{
	s = server_start(sets);
}

static void start_one(const char *set)
{
	s = server_start((const char *[]){ "p2p.listen2=", set, NULL });
}

/* Asking */

static struct p2p_endpoint at(const char *ip, int port)
{
	struct p2p_endpoint e = { .is_set = true, .port = (uint16_t)port };

	cr_assert_eq(inet_pton(AF_INET, ip, e.ip), 1);
	return e;
}

static int client(const char *ip)
{
	int fd = dial_udp(ip, 0);

	cr_assert_geq(fd, 0, "no socket on %s", ip);
	return fd;
}

static struct p2p_endpoint endpoint_of(const struct sockaddr_in *in)
{
	struct p2p_endpoint e = { .is_set = true, .port = ntohs(in->sin_port) };

	memcpy(e.ip, &in->sin_addr, sizeof(e.ip));
	return e;
}

static struct p2p_endpoint self(int fd)
{
	struct sockaddr_in in  = { 0 };
	socklen_t          len = sizeof(in);

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	return endpoint_of(&in);
}

static void ask_bytes(int fd, const struct p2p_endpoint *to, const void *bytes, size_t len)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(to->port) };

	memcpy(&in.sin_addr, to->ip, sizeof(to->ip));
	cr_assert_eq(sendto(fd, bytes, len, 0, (struct sockaddr *)&in, sizeof(in)), (ssize_t)len);
}

static void ask(int fd, const struct p2p_endpoint *to, const char *name)
{
	const struct vector *v = vectors_find(&all, name);

	ask_bytes(fd, to, v->data, v->len);
}

struct heard {
	uint8_t             bytes[STUN_ANSWER_BYTES_MAX];
	size_t              len; /* 0: nothing */
	struct p2p_endpoint from;
};

static struct heard hear(int fd, int patience_ms)
{
	struct heard       h   = { 0 };
	struct pollfd      p   = { .fd = fd, .events = POLLIN };
	struct sockaddr_in in  = { 0 };
	socklen_t          len = sizeof(in);

	if (poll(&p, 1, patience_ms) == 1) {
		ssize_t n = recvfrom(fd, h.bytes, sizeof(h.bytes), 0, (struct sockaddr *)&in, &len);

		h.len  = n > 0 ? (size_t)n : 0;
		h.from = endpoint_of(&in);
	}
	return h;
}

/*
 * What the answer to this request must be, byte by byte, and where it must come from. The tests of the wire say that these bytes
 * are right for the place.
 */
static void expect_answer(int fd, const char *name, const struct stun_place *place, const struct p2p_endpoint *from,
                          uint16_t refused)
{
	const struct vector *v = vectors_find(&all, name);
	struct heard         h = hear(fd, DIAL_PATIENCE_MS);
	struct stun_request  q;
	uint8_t              answer[STUN_ANSWER_BYTES_MAX];
	size_t               len;

	cr_assert_eq(stun_parse(&q, v->data, v->len), STUN_REQUEST);
	if (refused)
		q.unknown[q.unknown_count++] = refused;
	len = stun_build(answer, &q, place);
	cr_assert_eq(h.len, len, "%s: %zu bytes and not %zu", name, h.len, len);
	cr_expect_arr_eq(h.bytes, answer, len, "%s", name);
	cr_expect(p2p_endpoint_is_same(&h.from, from), "%s: from port %d", name, h.from.port);
}

static bool is_answered(int fd, const struct p2p_endpoint *to)
{
	ask(fd, to, "plain");
	return hear(fd, DIAL_PATIENCE_MS).len > 0;
}

/* Two addresses */

Test(stun_serve, each_socket_answers_from_where_it_is_asked_to)
{
	static const char *const names[] = { "change_nothing", "change_port", "change_address", "change_both" };
	int                      fd      = client(A);

	start(NULL);
	for (unsigned asked = 0; asked < 4; asked++)
		for (unsigned flags = 0; flags < 4; flags++) {
			int                 ports[] = { s->p2p_port, s->p2p_alt_port };
			bool                on_b = asked & 2, on_alt = asked & 1;
			bool                by_b = on_b != ((flags & 2) != 0), by_alt = on_alt != ((flags & 1) != 0);
			struct p2p_endpoint to    = at(on_b ? B : A, ports[on_alt]);
			struct stun_place   place = { .source = self(fd),
				                      .origin = at(by_b ? B : A, ports[by_alt]),
				                      .other  = at(on_b ? A : B, ports[!on_alt]) };

			ask(fd, &to, names[flags]);
			expect_answer(fd, names[flags], &place, &place.origin, 0);
		}
	cr_expect_eq(server_metric(s, ANSWERS, "result=\"success\""), 16);
	close(fd);
}

Test(stun_serve, plain_marked_and_old_requests_are_answered)
{
	static const char *const names[] = { "plain", "marked", "of_rfc5769", "old" };
	struct p2p_endpoint      ap;
	struct stun_place        place;
	int                      fd = client("127.0.0.9");

	start(NULL);
	ap    = at(A, s->p2p_port);
	place = (struct stun_place){ .source = self(fd), .origin = ap, .other = at(B, s->p2p_alt_port) };
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		ask(fd, &ap, names[i]);
		expect_answer(fd, names[i], &place, &ap, 0);
	}
	close(fd);
}

Test(stun_serve, errors_come_from_where_was_asked)
{
	static const uint8_t flags[] = { 0x00, 0x03, 0x00, 0x04, 0x00, 0x00, 0x00, 0x06 };
	uint8_t              bytes[VECTOR_BYTES_MAX + sizeof(flags)];
	const struct vector *v  = vectors_find(&all, "unknown_three");
	int                  fd = client(A);
	struct p2p_endpoint  bq;
	struct stun_place    place = { 0 };

	start(NULL);
	bq = at(B, s->p2p_alt_port);
	ask(fd, &bq, "unknown_three");
	expect_answer(fd, "unknown_three", &place, &bq, 0);

	/* Also when it would have come from elsewhere. */
	memcpy(bytes, v->data, v->len);
	memcpy(bytes + v->len, flags, sizeof(flags));
	bytes[3] += sizeof(flags);
	ask_bytes(fd, &bq, bytes, v->len + sizeof(flags));
	expect_answer(fd, "unknown_three", &place, &bq, 0);
	cr_expect_eq(server_metric(s, ANSWERS, "result=\"error\""), 2);
	close(fd);
}

Test(stun_serve, public_addresses_are_told_instead_of_those_that_are_bound)
{
	struct p2p_endpoint ap, bq;
	struct stun_place   place;
	int                 fd = client(A);

	start((const char *[]){ "p2p.public1=203.0.113.1", "p2p.public2=203.0.113.2", NULL });
	ap    = at(A, s->p2p_port);
	bq    = at(B, s->p2p_alt_port);
	place = (struct stun_place){ .source = self(fd),
		                     .origin = at("203.0.113.2", bq.port),
		                     .other  = at("203.0.113.2", bq.port) };
	ask(fd, &ap, "change_both");
	expect_answer(fd, "change_both", &place, &bq, 0);
	close(fd);
}

/* One address */

Test(stun_serve, with_one_address_no_other_is_told_and_a_change_is_refused)
{
	static const char *const fine[]    = { "plain", "change_nothing", "old" };
	static const char *const refused[] = { "change_port", "change_address", "change_both" };
	int                      fd        = client(A);

	start_one(NULL);
	for (unsigned alt = 0; alt < 2; alt++) {
		struct p2p_endpoint to    = at(A, alt ? s->p2p_alt_port : s->p2p_port);
		struct stun_place   place = { .source = self(fd), .origin = to };

		for (size_t i = 0; i < COUNT_OF(fine); i++) {
			ask(fd, &to, fine[i]);
			expect_answer(fd, fine[i], &place, &to, 0);
		}
		for (size_t i = 0; i < COUNT_OF(refused); i++) {
			ask(fd, &to, refused[i]);
			expect_answer(fd, refused[i], &place, &to, 0x0003);
		}
	}
	close(fd);
}

Test(stun_serve, with_one_address_an_old_client_that_asks_for_a_change_hears_nothing)
{
	struct p2p_endpoint ap;
	int                 fd = client(A);
	uint8_t             bytes[VECTOR_BYTES_MAX];

	start_one(NULL);
	ap = at(A, s->p2p_port);
	for (unsigned flags = 2; flags <= 6; flags += 2) {
		const struct vector *v = vectors_find(&all, "old");

		memcpy(bytes, v->data, v->len);
		bytes[v->len - 1] = (uint8_t)flags;
		ask_bytes(fd, &ap, bytes, v->len);
	}
	cr_expect(is_answered(fd, &ap));
	cr_expect_eq(hear(fd, 0).len, 0);
	cr_expect_eq(server_metric(s, DROPPED, "reason=\"ignored\""), 3);
	cr_expect_eq(server_metric(s, ANSWERS, NULL), 1);
	close(fd);
}

/* Rates. What is sent while the server stands still it gets in one turn, in which no time passes for it. */

static void send_standing(int fd, const struct p2p_endpoint *to, int count)
{
	server_signal(s, SIGSTOP);
	for (int i = 0; i < count; i++)
		ask(fd, to, "plain");
	server_signal(s, SIGCONT);
}

static void expect_count(int fd, int count)
{
	for (int i = 0; i < count; i++)
		cr_assert_gt(hear(fd, DIAL_PATIENCE_MS).len, 0, "answer %d of %d", i + 1, count);
	cr_assert_eq(hear(fd, 0).len, 0, "more than %d", count);
}

Test(stun_serve, one_address_gets_so_many_at_once_and_no_more)
{
	struct p2p_endpoint ap;
	int                 fd = client("127.0.0.11"), other = client("127.0.0.12");

	start((const char *[]){ RATE, "stun.burst=5", NULL });
	ap = at(A, s->p2p_port);
	send_standing(fd, &ap, BURST + 1);
	server_await_metric(s, DROPPED, "reason=\"rate\"", 1, DIAL_PATIENCE_MS);
	expect_count(fd, BURST);

	/* Another one has its own, and time brings new ones. Errors count as well. */
	cr_expect(is_answered(other, &ap));
	server_advance(s, 5000);
	server_signal(s, SIGSTOP);
	for (int i = 0; i < BURST + 1; i++)
		ask(fd, &ap, "unknown_three");
	server_signal(s, SIGCONT);
	server_await_metric(s, DROPPED, "reason=\"rate\"", 2, DIAL_PATIENCE_MS);
	expect_count(fd, BURST);
	close(fd);
	close(other);
}

static void expect_total_used_up(const struct p2p_endpoint *ap)
{
	server_signal(s, SIGSTOP);
	for (int i = 0; i <= TOTAL; i++) {
		char ip[32];
		int  fd;

		snprintf(ip, sizeof(ip), "127.0.1.%d", i + 1);
		fd = client(ip);
		ask(fd, ap, "plain");
		close(fd);
	}
	server_signal(s, SIGCONT);
	server_await_metric(s, DROPPED, "reason=\"total\"", 1, DIAL_PATIENCE_MS);
	cr_expect_eq(server_metric(s, ANSWERS, NULL), TOTAL);
}

Test(stun_serve, all_strangers_together_get_so_many_in_a_second)
{
	struct p2p_endpoint ap;

	start((const char *[]){ "stun.total=3", NULL });
	ap = at(A, s->p2p_port);
	expect_total_used_up(&ap);
	server_advance(s, 1000);
	int fd = client("127.0.1.9");

	cr_expect(is_answered(fd, &ap), "a second later there are new ones");
	close(fd);
}

Test(stun_serve, who_has_an_open_connection_does_not_count_among_them)
{
	struct ws_client_options o = { .path = "/p2p" };
	struct ws_client        *c;
	struct p2p_endpoint      ap;
	int                      fd = client(A), stranger = client("127.0.0.11");

	/* No stranger gets any. */
	start((const char *[]){ "stun.total=0", "stun.burst=5", RATE, NULL });
	ap = at(A, s->p2p_port);
	ask(fd, &ap, "plain");
	server_await_metric(s, DROPPED, "reason=\"total\"", 1, DIAL_PATIENCE_MS);

	c = ws_client_open(s->tunnel_port, &o);
	cr_expect(is_answered(fd, &ap));
	ask(stranger, &ap, "plain");
	server_await_metric(s, DROPPED, "reason=\"total\"", 2, DIAL_PATIENCE_MS);

	/* It has a rate, though. */
	send_standing(fd, &ap, 2 * BURST);
	for (int i = 0; i < BURST - 1; i++)
		cr_assert_gt(hear(fd, DIAL_PATIENCE_MS).len, 0);
	cr_expect_geq(server_metric(s, DROPPED, "reason=\"rate\""), 1);

	ws_client_free(c);
	server_await_metric(s, "coopd_p2p_closed_total", "reason=\"peer\"", 1, DIAL_PATIENCE_MS);
	ask(fd, &ap, "plain");
	server_await_metric(s, DROPPED, "reason=\"total\"", 3, DIAL_PATIENCE_MS);
	close(fd);
	close(stranger);
}

/* What gets no answer */

Test(stun_serve, garbage_is_dropped_and_counted)
{
	static const uint8_t     large[STUN_REQUEST_BYTES_MAX + 4] = { 0, 1, 0x03, 0xf0, 0x21, 0x12, 0xa4, 0x42 };
	static const char *const ignored[]                         = { "indication", "answer", "error", "allocate" };
	const struct vector     *v                                 = vectors_find(&all, "marked");
	uint8_t                  bytes[VECTOR_BYTES_MAX];
	struct p2p_endpoint      ap;
	int                      fd = client(A);

	start(NULL);
	ap = at(A, s->p2p_port);
	for (size_t i = 0; i < COUNT_OF(ignored); i++)
		ask(fd, &ap, ignored[i]);
	for (size_t len = 1; len < v->len; len++)
		ask_bytes(fd, &ap, v->data, len);
	memcpy(bytes, v->data, v->len);
	bytes[v->len - 1] ^= 1;
	ask_bytes(fd, &ap, bytes, v->len);
	ask_bytes(fd, &ap, large, sizeof(large));
	bytes[0] = 0x40; /* a channel of TURN */
	ask_bytes(fd, &ap, bytes, v->len);
	ask_bytes(fd, &ap, bytes, 0);

	cr_expect(is_answered(fd, &ap));
	cr_expect_eq(hear(fd, 0).len, 0);

	const size_t ignored_count = COUNT_OF(ignored);

	cr_expect_eq(server_metric(s, DROPPED, "reason=\"ignored\""), (double)ignored_count);
	cr_expect_eq(server_metric(s, DROPPED, "reason=\"malformed\""), (double)v->len + 1);
	cr_expect_eq(server_metric(s, ANSWERS, NULL), 1);
	close(fd);
}

Test(stun_serve, switched_off_it_answers_nobody)
{
	struct p2p_endpoint ap;
	int                 fd = client(A);

	start((const char *[]){ "stun.enable=no", NULL });
	ap = at(A, s->p2p_port);
	ask(fd, &ap, "plain");
	ask(fd, &ap, "allocate");
	server_await_metric(s, DROPPED, "reason=\"off\"", 2, DIAL_PATIENCE_MS);
	cr_expect_eq(hear(fd, 0).len, 0);
	cr_expect_eq(server_metric(s, ANSWERS, NULL), 0);
	close(fd);
}

/* Clients of others */

static char *output_of(const char *const *args)
{
	struct program *p = program_start(args);
	char           *said;

	program_await_end(p, DIAL_PATIENCE_MS);
	said = program_output(p);
	program_stop(p);
	return said;
}

Test(stun_serve, the_client_of_rfc_3489_finds_no_nat_on_this_machine)
{
	char  where[40];
	char *said;

	if (!program_or_skip("stun"))
		return;
	start(NULL);
	snprintf(where, sizeof(where), A ":%d", s->p2p_port);
	said = output_of((const char *[]){ "stun", where, NULL });
	cr_expect(strstr(said, "Primary: Open"), "%s", said);
	free(said);
}

Test(stun_serve, a_client_of_rfc_5780_finds_mapping_and_filtering)
{
	char  port[16];
	char *said;

	if (!program_or_skip("turnutils_natdiscovery"))
		return;
	start(NULL);
	snprintf(port, sizeof(port), "%d", s->p2p_port);
	said = output_of((const char *[]){ "turnutils_natdiscovery", "-m", "-f", "-L", A, "-p", port, A, NULL });
	cr_expect(strstr(said, "No NAT! (Endpoint Independent Mapping)"), "%s", said);
	cr_expect(strstr(said, "NAT with Endpoint Independent Filtering!"), "%s", said);
	free(said);
}

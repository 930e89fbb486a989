/*
 * Names, who holds them, and how many there may be.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "support/await.h"
#include "support/signal_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct server *s;

static void start(void)
{
	s = server_start(signal_tls_sets(NULL));
}

/* On loopback nobody is exempt from limits per address. */
static void start_production(void)
{
	static const char *const sets[] = { "server.production=yes", NULL };

	s = server_start(signal_tls_sets(sets));
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(relay_registry, .init = start, .fini = stop);
TestSuite(relay_slots, .init = start_production, .fini = stop, .timeout = 300);

/* Names */

Test(relay_registry, a_newer_registration_takes_the_name_over_whatever_way_it_comes)
{
	struct identity who = identity_of(1), friend = identity_of(2);

	for (int old_way = 0; old_way < SIGNAL_WAYS; old_way++) {
		for (int new_way = 0; new_way < SIGNAL_WAYS; new_way++) {
			struct signal_client *old    = signal_registered(s, (enum signal_way)old_way, &who);
			struct signal_client *sender = signal_registered(s, SIGNAL_PLAIN, &friend);
			struct signal_client *young  = signal_registered(s, (enum signal_way)new_way, &who);

			signal_expect_end_case(old, signal_way_names[old_way]);
			signal_say(sender, "%s 01", who.text);
			signal_expect(young, "%s 01", friend.text);
			signal_client_free(old); /* its end takes nothing away */
			signal_say(sender, "%s 02", who.text);
			signal_expect(young, "%s 02", friend.text);
			signal_client_free(sender);
			signal_client_free(young);
			server_await_metric(s, "coopd_signal_peers", NULL, 0, DIAL_PATIENCE_MS);
		}
	}
	await_log(s, ": replaced by=");
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"replaced\""), SIGNAL_WAYS * SIGNAL_WAYS);
}

Test(relay_registry, the_older_connection_is_closed_within_a_second_although_nobody_reads_there)
{
	struct identity who = identity_of(1), friend = identity_of(2);

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *old    = signal_dial_from(s, (enum signal_way)way, NULL, 4096);
		struct signal_client *sender = signal_registered(s, SIGNAL_PLAIN, &friend);
		char                  payload[4001];

		signal_register(old, &who);
		memset(payload, 'a', 4000);
		payload[4000] = '\0';
		for (int i = 0; i < 100; i++)
			signal_say(sender, "%s %s", who.text, payload);
		signal_test_self(sender, &friend);

		int fds = server_fd_count(s);

		struct signal_client *young = signal_registered(s, SIGNAL_PLAIN, &who);
		int64_t               at_ms = real_now_ms();

		while (server_fd_count(s) > fds && real_now_ms() < at_ms + DIAL_PATIENCE_MS)
			real_sleep_ms(5);
		cr_expect_lt(real_now_ms() - at_ms, 1000, "%s", signal_way_names[way]);
		signal_client_free(young);
		signal_client_free(sender);
		signal_client_free(old);
		server_advance(s, 11000); /* another budget */
	}
}

Test(relay_registry, who_does_not_prove_the_key_changes_nothing_for_who_has_it)
{
	struct identity who = identity_of(1), thief = identity_of(2), friend = identity_of(3);

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *holder = signal_registered(s, SIGNAL_PLAIN, &who);
		struct signal_client *sender = signal_registered(s, SIGNAL_PLAIN, &friend);
		struct signal_client *c      = signal_dial(s, (enum signal_way)way);

		signal_greet(c, &who);
		signal_take_nonce(c);
		signal_say(sender, "%s 01", who.text);
		signal_expect(holder, "%s 01", friend.text);
		signal_expect_silence(c, 50);
		signal_prove(c, &thief);
		signal_expect_end(c);
		signal_say(sender, "%s 02", who.text);
		signal_expect(holder, "%s 02", friend.text);
		signal_test_self(holder, &who);
		signal_client_free(c);
		signal_client_free(sender);
		signal_client_free(holder);
	}
}

Test(relay_registry, a_name_is_free_as_soon_as_its_connection_has_ended)
{
	struct identity       who = identity_of(1), friend = identity_of(2);
	struct signal_client *sender = signal_registered(s, SIGNAL_PLAIN, &friend);

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *c = signal_registered(s, (enum signal_way)way, &who);

		signal_client_free(c);
		server_await_metric(s, "coopd_signal_peers", NULL, 1, DIAL_PATIENCE_MS);
		signal_say(sender, "%s lost", who.text);
		signal_test_self(sender, &friend);
		c = signal_registered(s, (enum signal_way)way, &who);
		signal_say(sender, "%s found", who.text);
		signal_expect(c, "%s found", friend.text);
		signal_client_free(c);
		server_await_metric(s, "coopd_signal_peers", NULL, 1, DIAL_PATIENCE_MS);
	}
	cr_expect_eq(server_metric(s, "coopd_signal_lines_dropped_total", "reason=\"nobody\""), 3);
	signal_client_free(sender);
}

/* Proofs that are none */

/* 2^252 + 27742317777372353535851937790883648493, little-endian: the order of the group. */
static const uint8_t group_order[32] = { 0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7,
	                                 0xa2, 0xde, 0xf9, 0xde, 0x14, 0,    0,    0,    0,    0,    0,
	                                 0,    0,    0,    0,    0,    0,    0,    0,    0,    0x10 };

/* The same number modulo the order, as who makes signatures malleable would write it. */
static void add_order(char hex[129])
{
	uint8_t  sig[64];
	unsigned carry = 0;

	cr_assert_eq(hex_decode(sig, 64, hex, 128), ERR_OK);
	for (size_t i = 0; i < 32; i++) {
		carry += sig[32 + i] + group_order[i];
		sig[32 + i] = (uint8_t)carry;
		carry >>= 8;
	}
	hex_encode(hex, sig, sizeof(sig));
}

enum forgery { WRONG_TAG, NO_TAG, OTHER_NONCE, OTHER_KEY, OTHER_IDENTITY, NONCE_AS_BYTES, NOT_CANONICAL, FORGERIES };

static void forge(char hex[129], enum forgery how, const struct identity *who, const struct identity *other,
                  const char *nonce, const char *old_nonce)
{
	char    text[256];
	uint8_t sig[64], bytes[32];

	signal_proof_hex(hex, who, nonce);
	switch (how) {
	case WRONG_TAG:
		snprintf(text, sizeof(text), "multivoid-signaling-register-v2%s%s", who->text, nonce);
		break;
	case NO_TAG:
		snprintf(text, sizeof(text), "%s%s", who->text, nonce);
		break;
	case OTHER_NONCE:
		signal_proof_hex(hex, who, old_nonce);
		return;
	case OTHER_KEY:
		signal_proof_hex(hex, other, nonce);
		return;
	case OTHER_IDENTITY:
		snprintf(text, sizeof(text), "multivoid-signaling-register-v1%s%s", other->text, nonce);
		break;
	case NONCE_AS_BYTES:
		memcpy(text, "multivoid-signaling-register-v1", 31);
		memcpy(text + 31, who->text, 68);
		cr_assert_eq(hex_decode(bytes, 32, nonce, 64), ERR_OK);
		memcpy(text + 99, bytes, 32);
		identity_sign(sig, who, text, 131);
		hex_encode(hex, sig, sizeof(sig));
		return;
	case NOT_CANONICAL:
		add_order(hex);
		return;
	case FORGERIES:
		break;
	}
	identity_sign(sig, who, text, strlen(text));
	hex_encode(hex, sig, sizeof(sig));
}

Test(relay_registry, forged_proofs_are_refused)
{
	struct identity       who = identity_of(1), other = identity_of(2);
	struct signal_client *before = signal_dial(s, SIGNAL_PLAIN);

	signal_greet(before, &who);
	signal_take_nonce(before);
	for (int way = 0; way < SIGNAL_WAYS; way++) {
		for (int how = 0; how < FORGERIES; how++) {
			struct signal_client *c = signal_dial(s, (enum signal_way)way);
			char                  hex[129], of[32];

			signal_greet(c, &who);
			signal_take_nonce(c);
			forge(hex, (enum forgery)how, &who, &other, c->nonce, before->nonce);
			signal_say(c, "auth %s", hex);
			snprintf(of, sizeof(of), "forgery %d", how);
			signal_expect_end_case(c, of);
			signal_client_free(c);
		}
	}
	signal_client_free(before);
	await_log(s, "reason=proof (the signature is not good)");
	cr_expect_eq(server_metric(s, "coopd_signal_registrations_total", NULL), 0);
}

/* Points of small order: for each of them there are signatures that fit very many texts, whoever made them. */
static const char *const small_keys[] = {
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"0000000000000000000000000000000000000000000000000000000000000080",
	"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
};

Test(relay_registry, keys_of_small_order_prove_nothing)
{
	static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

	for (size_t i = 0; i < COUNT_OF(small_keys); i++) {
		for (size_t j = 0; j < COUNT_OF(small_keys); j++) {
			struct signal_client *c = signal_dial(s, SIGNAL_PLAIN);

			signal_say(c, SERVER_SIGNAL_TOKEN " gen:%s", small_keys[i]);
			signal_take_nonce(c);
			signal_say(c, "auth %s%s", small_keys[j], zeros);
			signal_expect_end_case(c, small_keys[i]);
			signal_client_free(c);
		}
	}
	cr_expect_eq(server_metric(s, "coopd_signal_registrations_total", NULL), 0);
}

/* Slots */

#define UNPROVED_PER_ADDRESS 8
#define UNPROVED             128
#define PEERS_PER_ADDRESS    32
#define PEERS                512

static const char *address(int number)
{
	static char text[16];

	snprintf(text, sizeof(text), "127.0.1.%d", number + 1);
	return text;
}

Test(relay_slots, the_ninth_unproved_connection_of_an_address_gets_no_byte)
{
	struct signal_client *c[UNPROVED_PER_ADDRESS];

	for (int i = 0; i < UNPROVED_PER_ADDRESS; i++) /* all ways share the slots */
		c[i] = signal_dial_from(s, (enum signal_way)(i % SIGNAL_WAYS), address(1), 0);
	server_await_metric(s, "coopd_signal_unproved", NULL, 8, DIAL_PATIENCE_MS);
	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *more  = signal_dial_from(s, (enum signal_way)way, address(1), 0);
		struct signal_client *other = signal_dial_from(s, (enum signal_way)way, address(2), 0);

		signal_expect_end_case(more, signal_way_names[way]);
		signal_expect_silence(other, 50);
		signal_client_free(more);
		signal_client_free(other);
	}
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"unproved_address\""), 3);
	await_log(s, ": full reason=unproved_address refused=1");

	signal_client_free(c[0]);
	server_await_metric(s, "coopd_signal_unproved", NULL, 7, DIAL_PATIENCE_MS);

	struct signal_client *more = signal_dial_from(s, SIGNAL_PLAIN, address(1), 0);

	signal_expect_silence(more, 50);
	signal_client_free(more);
	for (int i = 1; i < UNPROVED_PER_ADDRESS; i++)
		signal_client_free(c[i]);
}

Test(relay_slots, the_129th_unproved_connection_gets_no_byte)
{
	struct signal_client *c[UNPROVED], *more;

	for (int i = 0; i < UNPROVED; i++)
		c[i] = signal_dial_from(s, SIGNAL_PLAIN, address(i / UNPROVED_PER_ADDRESS), 0);
	server_await_metric(s, "coopd_signal_unproved", NULL, UNPROVED, DIAL_PATIENCE_MS);
	for (int way = 0; way < SIGNAL_WAYS; way++) {
		more = signal_dial_from(s, (enum signal_way)way, address(99), 0);
		signal_expect_end_case(more, signal_way_names[way]);
		signal_client_free(more);
	}
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"unproved_total\""), 3);
	for (int i = 0; i < UNPROVED; i++)
		signal_client_free(c[i]);
	server_await_metric(s, "coopd_signal_unproved", NULL, 0, DIAL_PATIENCE_MS);
}

Test(relay_slots, refusals_for_want_of_room_are_one_line_a_second_with_their_number)
{
	struct signal_client *c[UNPROVED_PER_ADDRESS];

	for (int i = 0; i < UNPROVED_PER_ADDRESS; i++)
		c[i] = signal_dial_from(s, SIGNAL_PLAIN, address(1), 0);
	server_await_metric(s, "coopd_signal_unproved", NULL, 8, DIAL_PATIENCE_MS);
	for (int i = 0; i < 50; i++) {
		struct signal_client *more = signal_dial_from(s, SIGNAL_PLAIN, address(1), 0);

		signal_expect_end(more);
		signal_client_free(more);
	}

	/* 50 in far less than a second, unless the machine is very slow; then the last of them are in a line of their own. */
	server_advance(s, 1200);
	await_log(s, ": full reason=unproved_address refused=1");
	if (!server_log_contains(s, "reason=unproved_address refused=49"))
		await_log(s, "reason=unproved_address refused=4");
	for (int i = 0; i < UNPROVED_PER_ADDRESS; i++)
		signal_client_free(c[i]);
}

static struct signal_client *register_from(const char *from, enum signal_way way, unsigned number, bool should)
{
	struct signal_client *c   = signal_dial_from(s, way, from, 0);
	struct identity       who = identity_of(number);

	signal_greet(c, &who);
	signal_take_nonce(c);
	signal_prove(c, &who);
	if (should) {
		signal_test_self(c, &who);
		return c;
	}
	signal_expect_end_case(c, signal_way_names[way]);
	signal_client_free(c);
	return NULL;
}

Test(relay_slots, the_33rd_registration_of_an_address_is_closed_and_the_slots_come_back)
{
	struct signal_client *c[PEERS_PER_ADDRESS];

	for (unsigned i = 0; i < PEERS_PER_ADDRESS; i++)
		c[i] = register_from(address(1), (enum signal_way)(i % SIGNAL_WAYS), i, true);
	for (int way = 0; way < SIGNAL_WAYS; way++)
		register_from(address(1), (enum signal_way)way, 99, false);
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"peers_address\""), 3);
	signal_client_free(register_from(address(2), SIGNAL_PLAIN, 99, true));

	/* Registering a name again takes no slot. */
	struct signal_client *again = register_from(address(1), SIGNAL_PLAIN, 0, true);

	signal_expect_end(c[0]);
	signal_client_free(c[0]);
	c[0] = again;
	signal_client_free(c[1]);
	server_await_metric(s, "coopd_signal_peers", NULL, 31, DIAL_PATIENCE_MS);
	c[1] = register_from(address(1), SIGNAL_PLAIN, 99, true);
	for (unsigned i = 0; i < PEERS_PER_ADDRESS; i++)
		signal_client_free(c[i]);
}

Test(relay_slots, the_513th_registration_is_closed)
{
	static struct signal_client *c[PEERS];

	for (unsigned i = 0; i < PEERS; i++)
		c[i] = register_from(address((int)i / PEERS_PER_ADDRESS), SIGNAL_PLAIN, i, true);
	server_await_metric(s, "coopd_signal_peers", NULL, PEERS, DIAL_PATIENCE_MS);
	for (int way = 0; way < SIGNAL_WAYS; way++)
		register_from(address(99), (enum signal_way)way, 9999, false);
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"peers_total\""), 3);
	for (unsigned i = 0; i < PEERS; i++)
		signal_client_free(c[i]);
	server_await_metric(s, "coopd_signal_peers", NULL, 0, DIAL_PATIENCE_MS);
}

/* Rates */

static const char *const rates[] = { "server.production=yes", "limits.signal_accept_rate=1",
	                             "limits.signal_accept_burst=5", NULL };

TestSuite(relay_rates);

#define BURST 5

/* How many of these are let in; all are freed. */
static int count_welcome(struct signal_client *c[], int count)
{
	int welcome = 0;

	for (int i = 0; i < count; i++) {
		welcome += signal_read_line(c[i], 100) == SIGNAL_GOT_NOTHING;
		signal_client_free(c[i]);
	}
	return welcome;
}

Test(relay_rates, an_address_may_come_so_often_and_who_is_registered_stays)
{
	struct signal_client *c[BURST + 1], *peer;
	struct identity       who = identity_of(1);

	s    = server_start(rates);
	peer = register_from(address(1), SIGNAL_PLAIN, 1, true);
	server_advance(s, 60000);
	for (int i = 0; i < BURST + 1; i++)
		c[i] = signal_dial_from(s, SIGNAL_PLAIN, address(1), 0);
	cr_expect_eq(count_welcome(c, BURST + 1), BURST);
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"rate\""), 1);
	await_log(s, ": full reason=rate refused=1");
	c[0] = signal_dial_from(s, SIGNAL_PLAIN, address(2), 0);
	cr_expect_eq(count_welcome(c, 1), 1, "another address has a rate of its own");
	signal_test_self(peer, &who);
	server_advance(s, 60000);
	c[0] = signal_dial_from(s, SIGNAL_PLAIN, address(1), 0);
	cr_expect_eq(count_welcome(c, 1), 1, "it comes back");
	signal_test_self(peer, &who);
	signal_client_free(peer);
	server_finish(s);
}

Test(relay_rates, on_the_machine_itself_one_may_come_at_will_outside_production)
{
	struct signal_client *c[BURST + 1];

	s = server_start(rates + 1);
	for (int i = 0; i < BURST + 1; i++)
		c[i] = signal_dial(s, SIGNAL_PLAIN);
	cr_expect_eq(count_welcome(c, BURST + 1), BURST + 1);
	server_finish(s);
}

#define HANDSHAKES 20

Test(relay_rates, handshakes_of_TLS_have_one_rate_in_all)
{
	static const char *const sets[] = { "limits.signal_tls_rate=1", NULL };
	int                      shaken = 0;

	s = server_start(signal_tls_sets(sets));
	for (int i = 0; i < HANDSHAKES; i++) {
		struct signal_client *c = signal_dial(s, SIGNAL_TLS);

		shaken += c->has_tls;
		signal_client_free(c);
	}
	cr_expect(shaken >= 1 && shaken < HANDSHAKES, "%d", shaken);
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"rate\""), HANDSHAKES - shaken);

	struct signal_client *c = signal_dial(s, SIGNAL_PLAIN);

	cr_expect_eq(count_welcome(&c, 1), 1, "plain ones are none of them");
	server_finish(s);
}

/*
 * Addresses: what is one, how it prints, which limit it counts for, and who sits behind a proxy.
 */
#include "net/addr.h"

#include "base/auto.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static struct addr parsed(const char *text)
{
	struct addr a;

	cr_assert_eq(addr_parse(&a, text, strlen(text), false), ERR_OK, "%s", text);
	return a;
}

static struct addr parsed_port(const char *text)
{
	struct addr a;

	cr_assert_eq(addr_parse(&a, text, strlen(text), true), ERR_OK, "%s", text);
	return a;
}

/* The networks of a text, with blanks between; what addr_nets_parse said. */
static enum err read_nets(struct addr_nets *out, const char *text)
{
	char   copy[200], *words[10];
	size_t count = 0;

	cr_assert(text_copy(copy, sizeof(copy), text));
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		words[count++] = word;
	return addr_nets_parse(out, words, count);
}

static struct addr_nets nets_of(const char *text)
{
	struct addr_nets nets;

	cr_assert_eq(read_nets(&nets, text), ERR_OK, "%s", text);
	return nets;
}

Test(addr, prints_what_it_read)
{
	static const struct {
		const char *text, *printed;
	} rows[] = {
		{ "1.2.3.4", "1.2.3.4" },
		{ "0.0.0.0", "0.0.0.0" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "::1", "::1" },
		{ "[::1]", "::1" },
		{ "::", "::" },
		{ "2001:DB8:0:0:0:0:0:1", "2001:db8::1" },
		{ "2001:0db8::0001", "2001:db8::1" },
		{ "::ffff:1.2.3.4", "1.2.3.4" },
		{ "::FFFF:0102:0304", "1.2.3.4" },
		{ "[::ffff:1.2.3.4]", "1.2.3.4" },
		{ "::1.2.3.4", "::1.2.3.4" },
		{ "64:ff9b::1.2.3.4", "64:ff9b::102:304" },
	};
	char out[ADDR_TEXT_BYTES];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct addr a = parsed(rows[i].text);

		addr_text(out, &a);
		cr_expect_str_eq(out, rows[i].printed, "%s: %s", rows[i].text, out);
		cr_expect_eq(a.port, 0);
	}
}

Test(addr, prints_ports_as_it_read_them)
{
	static const char *const rows[] = { "1.2.3.4:80", "[::1]:65535", "0.0.0.0:0", "[2001:db8::1]:1" };
	char                     out[ADDR_TEXT_BYTES];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct addr a = parsed_port(rows[i]);

		addr_text_port(out, &a);
		cr_expect_str_eq(out, rows[i]);
	}
	struct addr longest = parsed_port("[1234:1234:1234:1234:1234:1234:1234:1234]:65535");
	addr_text_port(out, &longest);
	cr_expect_str_eq(out, "[1234:1234:1234:1234:1234:1234:1234:1234]:65535");
}

Test(addr, refuses_what_is_no_address)
{
	/* clang-format off */
	static const char *const rows[] = {
		"",                  " ",                 "1.2.3",             "1.2.3.4.5",         "1.2.3.04",
		"01.2.3.4",          "1.2.3.256",         " 1.2.3.4",          "1.2.3.4 ",          "1.2. 3.4",
		"1.2.3.4:80",        "0x1.2.3.4",         "1.2.3.4\n",         "16909060",          "fe80::1%1",
		"fe80::1%eth0",      ":::",               "1::2::3",           "12345::",           "[::1",
		"::1]",              "[::1]:80",          "[1.2.3.4]",         "[]",                "[[::1]]",
		"::1/64",            "localhost",         "unix",              "none",              "::ffff:1.2.3.04",
		"1:2:3:4:5:6:7:8:9", "::ffff:1.2.3.256",  "+1.2.3.4",          "-1.2.3.4",
	};
	/* clang-format on */
	struct addr a;

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(addr_parse(&a, rows[i], strlen(rows[i]), false), ERR_MALFORMED, "'%s'", rows[i]);
	cr_expect_eq(addr_parse(&a, "1.2.3.4\0x", 9, false), ERR_MALFORMED, "a NUL inside");
	cr_expect_eq(addr_parse(&a, "1.2.3.4", 6, false), ERR_MALFORMED, "only so many bytes are looked at");
}

Test(addr, refuses_what_is_no_address_with_a_port)
{
	/* clang-format off */
	static const char *const rows[] = {
		"1.2.3.4",       "::1",           "[::1]",         "1.2.3.4:",      "1.2.3.4:080",   "1.2.3.4:65536",
		"1.2.3.4:99999", ":80",           "[::1]80",       "[::1]:",        "[::1]:+80",     "1.2.3.4: 80",
		"1.2.3.4:80 ",   "1.2.3.4:-1",    "::1:80x",       "[::1]::80",     "1.2.3.4:8x",    "1.2.3.4::80",
		"*:80",          "[1.2.3.4]:80",  "1.2.3.4:10000000000000080",
	};
	/* clang-format on */
	struct addr a;

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(addr_parse(&a, rows[i], strlen(rows[i]), true), ERR_MALFORMED, "'%s'", rows[i]);
}

Test(addr, a_sockaddr_and_back_is_the_same)
{
	static const char *const rows[] = { "1.2.3.4:80", "[2001:db8::1]:443", "[::1]:1" };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct addr             a = parsed_port(rows[i]), b;
		struct sockaddr_storage sa;
		socklen_t               len;

		addr_to_sockaddr(&sa, &len, &a);
		addr_of_sockaddr(&b, (struct sockaddr *)&sa, len);
		cr_expect_eq(a.family, b.family);
		cr_expect_eq(a.port, b.port);
		cr_expect_arr_eq(a.ip, b.ip, sizeof(a.ip));
	}
}

Test(addr, ipv4_inside_ipv6_is_ipv4)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(7) };
	struct addr         a;
	char                out[ADDR_TEXT_BYTES];

	inet_pton(AF_INET6, "::ffff:9.8.7.6", &in6.sin6_addr);
	addr_of_sockaddr(&a, (struct sockaddr *)&in6, sizeof(in6));
	addr_text_port(out, &a);
	cr_expect_str_eq(out, "9.8.7.6:7");
}

Test(addr, knows_unix_sockets_and_gives_up_on_the_rest)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct sockaddr    odd = { .sa_family = AF_PACKET };
	struct addr        a;
	char               out[ADDR_TEXT_BYTES];

	addr_of_sockaddr(&a, (struct sockaddr *)&sun, sizeof(sun.sun_family));
	cr_expect_eq(a.family, ADDR_UNIX);
	addr_text(out, &a);
	cr_expect_str_eq(out, "unix");

	addr_of_sockaddr(&a, &odd, sizeof(odd));
	cr_expect_eq(a.family, ADDR_NONE);
	addr_text_port(out, &a);
	cr_expect_str_eq(out, "none");

	odd.sa_family = AF_INET6;
	addr_of_sockaddr(&a, &odd, sizeof(odd));
	cr_expect_eq(a.family, ADDR_NONE, "shorter than its family says");
	addr_of_sockaddr(&a, &odd, 0);
	cr_expect_eq(a.family, ADDR_NONE);
}

Test(addr, loopback_is_127_and_1)
{
	static const char *const yes[] = { "127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1" };
	static const char *const no[]  = { "128.0.0.1", "::", "::2", "10.0.0.1", "1::1" };

	for (size_t i = 0; i < COUNT_OF(yes); i++) {
		struct addr a = parsed(yes[i]);

		cr_expect(addr_is_loopback(&a), "%s", yes[i]);
	}
	for (size_t i = 0; i < COUNT_OF(no); i++) {
		struct addr a = parsed(no[i]);

		cr_expect_not(addr_is_loopback(&a), "%s", no[i]);
	}
}

Test(addr, logs_cut_to_the_network_unless_told)
{
	static const struct {
		const char *text, *cut;
	} rows[] = {
		{ "1.2.3.4", "1.2.3.0/24" },
		{ "2001:db8:1:2:3:4:5:6", "2001:db8:1::/48" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff::/48" },
		{ "::ffff:1.2.3.4", "1.2.3.0/24" },
	};
	char out[ADDR_TEXT_BYTES];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct addr a = parsed(rows[i].text);

		addr_text_log(out, &a);
		cr_expect_str_eq(out, rows[i].cut);
	}

	struct addr a = parsed("1.2.3.4"), on_this_machine = { .family = ADDR_UNIX };
	addr_text_log(out, &on_this_machine);
	cr_expect_str_eq(out, "unix");
	addr_log_whole(true);
	addr_text_log(out, &a);
	cr_expect_str_eq(out, "1.2.3.4");
	addr_log_whole(false);
	addr_text_log(out, &a);
	cr_expect_str_eq(out, "1.2.3.0/24");
}

static bool same_key(const char *a_text, const char *b_text)
{
	struct addr a = parsed(a_text), b = parsed(b_text);
	uint8_t     a_key[ADDR_KEY_BYTES], b_key[ADDR_KEY_BYTES];

	addr_key(a_key, &a);
	addr_key(b_key, &b);
	return memcmp(a_key, b_key, sizeof(a_key)) == 0;
}

Test(addr, limits_count_ipv4_whole_and_ipv6_by_64)
{
	cr_expect(same_key("1.2.3.4", "::ffff:1.2.3.4"));
	cr_expect_not(same_key("1.2.3.4", "1.2.3.5"));
	cr_expect(same_key("2001:db8:1:2::1", "2001:db8:1:2:ffff::"));
	cr_expect_not(same_key("2001:db8:1:2::1", "2001:db8:1:3::1"));
	cr_expect_not(same_key("0.0.0.0", "::"));
	cr_expect_not(same_key("32.1.13.184", "2001:db8::"), "the same first bytes");
}

Test(addr, keys_of_different_kinds_differ)
{
	struct addr all[] = { parsed("0.0.0.0"), parsed("::"), { .family = ADDR_UNIX }, { .family = ADDR_NONE } };
	uint8_t     keys[COUNT_OF(all) + 1][ADDR_KEY_BYTES];

	for (size_t i = 0; i < COUNT_OF(all); i++)
		addr_key(keys[i], &all[i]);
	cr_expect(addr_key_wide(keys[COUNT_OF(all)], &all[1]));
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		for (size_t j = 0; j < i; j++)
			cr_expect_arr_neq(keys[i], keys[j], ADDR_KEY_BYTES, "%zu and %zu", i, j);
	}
}

Test(addr, only_ipv6_has_a_wider_key_and_it_is_by_48)
{
	struct addr a = parsed("2001:db8:1:2::1"), b = parsed("2001:db8:1:3::1"), c = parsed("2001:db8:2:2::1");
	struct addr four = parsed("1.2.3.4"), local = { .family = ADDR_UNIX };
	uint8_t     a_key[ADDR_KEY_BYTES], b_key[ADDR_KEY_BYTES], c_key[ADDR_KEY_BYTES];

	cr_expect(addr_key_wide(a_key, &a) && addr_key_wide(b_key, &b) && addr_key_wide(c_key, &c));
	cr_expect_arr_eq(a_key, b_key, sizeof(a_key));
	cr_expect_arr_neq(a_key, c_key, sizeof(a_key));
	cr_expect_not(addr_key_wide(a_key, &four));
	cr_expect_not(addr_key_wide(a_key, &local));
}

Test(addr, networks_contain_what_shares_their_first_bits)
{
	static const struct {
		const char *net, *in, *out;
	} rows[] = {
		{ "1.2.3.4", "1.2.3.4", "1.2.3.5" },
		{ "1.2.3.0/24", "1.2.3.255", "1.2.4.0" },
		{ "1.2.3.4/24", "1.2.3.9", "1.2.2.255" },
		{ "10.0.0.0/9", "10.127.0.1", "10.128.0.1" },
		{ "10.0.0.0/31", "10.0.0.1", "10.0.0.2" },
		{ "0.0.0.0/0", "255.255.255.255", "::" },
		{ "::/0", "ffff::", "1.2.3.4" },
		{ "::1", "::1", "::2" },
		{ "2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::" },
		{ "::ffff:1.2.3.0/120", "1.2.3.9", "1.2.4.0" },
		{ "::ffff:0.0.0.0/96", "9.9.9.9", "::1" },
		{ "fe80::/128", "fe80::", "fe80::1" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct addr_nets nets = nets_of(rows[i].net);
		struct addr      in = parsed(rows[i].in), out = parsed(rows[i].out);

		cr_expect(addr_nets_contain(&nets, &in), "%s in %s", rows[i].in, rows[i].net);
		cr_expect_not(addr_nets_contain(&nets, &out), "%s in %s", rows[i].out, rows[i].net);
		addr_nets_fini(&nets);
	}
}

Test(addr, a_set_of_networks_is_all_of_them_or_none)
{
	struct addr      a = parsed("1.2.3.4"), b = parsed("::1"), local = { .family = ADDR_UNIX };
	struct addr_nets nets = nets_of("1.2.3.4 ::1");

	cr_expect(addr_nets_contain(&nets, &a));
	cr_expect(addr_nets_contain(&nets, &b));
	cr_expect_not(addr_nets_contain(&nets, &local));
	addr_nets_fini(&nets);

	nets = nets_of("none");
	cr_expect_eq(nets.count, 0);
	cr_expect_not(addr_nets_contain(&nets, &a));
	addr_nets_fini(&nets);

	nets = nets_of("");
	cr_expect_eq(nets.count, 0);
}

Test(addr, refuses_what_is_no_network)
{
	/* clang-format off */
	static const char *const rows[] = {
		"1.2.3.4/33",        "::1/129",           "1.2.3.4/",          "1.2.3.4/08",        "/8",
		"1.2.3.4/-1",        "1.2.3.4/8/8",       "1.2.3.4:80",        "1.2.3.4 bad",       "::ffff:0:0/95",
		"::ffff:1.2.3.4/24", "localhost",         "none 1.2.3.4",      "1.2.3.4/+8",
	};
	/* clang-format on */
	struct addr_nets nets;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect_eq(read_nets(&nets, rows[i]), ERR_MALFORMED, "'%s'", rows[i]);
		cr_expect_null(nets.nets);
	}
}

/* Who is behind this peer, when 127.0.0.1, ::1 and 10.0.0.0/8 are trusted: "bad", "1.2.3.4", "+1.2.3.4" (forwarded). */
static const char *client_behind(const char *peer_text, const char *value)
{
	static char      out[ADDR_TEXT_BYTES + 1];
	struct addr_nets nets = nets_of("127.0.0.1 ::1 10.0.0.0/8");
	struct addr      peer = parsed_port(peer_text), client;
	bool             forwarded;
	enum err         e = addr_client(&client, &forwarded, &peer, &nets, value, value ? strlen(value) : 0);

	addr_nets_fini(&nets);
	if (e != ERR_OK) {
		cr_expect_eq(e, ERR_MALFORMED);
		cr_expect_not(forwarded);
		return "bad";
	}
	out[0] = '+';
	addr_text(out + 1, &client);
	cr_expect_eq(client.port, forwarded ? 0 : peer.port);
	return out + !forwarded;
}

Test(addr, finds_the_client_behind_trusted_hops)
{
	static const struct {
		const char *peer, *value, *client;
	} rows[] = {
		/* nobody said anything */
		{ "127.0.0.1:5", NULL, "127.0.0.1" },
		{ "127.0.0.1:5", "", "127.0.0.1" },
		{ "127.0.0.1:5", " \t ", "127.0.0.1" },
		/* a stranger may say what he likes */
		{ "1.2.3.4:5", "9.9.9.9", "1.2.3.4" },
		{ "1.2.3.4:5", "rubbish", "1.2.3.4" },
		{ "127.0.0.2:5", "9.9.9.9", "127.0.0.2" },
		/* one proxy */
		{ "127.0.0.1:5", "9.9.9.9", "+9.9.9.9" },
		{ "[::1]:5", "2001:db8::9", "+2001:db8::9" },
		{ "[::ffff:127.0.0.1]:5", "9.9.9.9", "+9.9.9.9" },
		{ "127.0.0.1:5", "::ffff:9.9.9.9", "+9.9.9.9" },
		{ "127.0.0.1:5", "  9.9.9.9\t", "+9.9.9.9" },
		/* what the client wrote itself stands to the left of what the proxy knows */
		{ "127.0.0.1:5", "6.6.6.6, 9.9.9.9", "+9.9.9.9" },
		{ "127.0.0.1:5", "rubbish, 9.9.9.9", "+9.9.9.9" },
		{ "127.0.0.1:5", ",9.9.9.9", "+9.9.9.9" },
		{ "127.0.0.1:5", "127.0.0.1,9.9.9.9", "+9.9.9.9" },
		/* a chain of proxies */
		{ "127.0.0.1:5", "6.6.6.6, 9.9.9.9, 10.1.1.1, ::1", "+9.9.9.9" },
		{ "127.0.0.1:5", "10.0.0.2,10.0.0.1", "+10.0.0.2" },
		{ "127.0.0.1:5", "10.0.0.2", "+10.0.0.2" },
		/* ports, as some proxies write them */
		{ "127.0.0.1:5", "9.9.9.9:1234", "+9.9.9.9" },
		{ "127.0.0.1:5", "[2001:db8::9]:80", "+2001:db8::9" },
		{ "127.0.0.1:5", "[2001:db8::9]", "+2001:db8::9" },
		{ "127.0.0.1:5", "9.9.9.9, 10.0.0.1:80", "+9.9.9.9" },
		/* nothing to go by */
		{ "127.0.0.1:5", "rubbish", "bad" },
		{ "127.0.0.1:5", "unknown", "bad" },
		{ "127.0.0.1:5", ",", "bad" },
		{ "127.0.0.1:5", "9.9.9.9,", "bad" },
		{ "127.0.0.1:5", "9.9.9.9, ", "bad" },
		{ "127.0.0.1:5", "rubbish, 10.0.0.1", "bad" },
		{ "127.0.0.1:5", "9.9.9.9,,10.0.0.1", "bad" },
		{ "127.0.0.1:5", "9.9.9.9 8.8.8.8", "bad" },
		{ "127.0.0.1:5", "9.9.9.9:0080", "bad" },
		{ "127.0.0.1:5", "[9.9.9.9]", "bad" },
		{ "127.0.0.1:5", "2001:db8::9:65536:", "bad" },
		{ "127.0.0.1:5", "for=9.9.9.9", "bad" },
		{ "127.0.0.1:5", "\"9.9.9.9\"", "bad" },
		{ "127.0.0.1:5", "fe80::1%eth0", "bad" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *client = client_behind(rows[i].peer, rows[i].value);

		cr_expect_str_eq(client, rows[i].client, "'%s' from %s: %s", rows[i].value ? rows[i].value : "(none)",
		                 rows[i].peer, client);
	}
}

Test(addr, a_forwarding_field_may_have_1024_bytes)
{
	char value[1026];

	memset(value, ' ', sizeof(value));
	memcpy(value, "6.6.6.6,", 8);
	memcpy(value + 1017, "9.9.9.9", 8);
	cr_expect_str_eq(client_behind("127.0.0.1:5", value), "+9.9.9.9");

	memset(value, ' ', sizeof(value));
	memcpy(value, "6.6.6.6,", 8);
	memcpy(value + 1018, "9.9.9.9", 8);
	cr_expect_str_eq(client_behind("127.0.0.1:5", value), "bad");
	cr_expect_str_eq(client_behind("1.2.3.4:5", value), "1.2.3.4", "a stranger's is not even looked at");
}

Test(addr, a_unix_socket_is_no_proxy)
{
	struct addr_nets nets = nets_of("127.0.0.1 0.0.0.0/0 ::/0");
	struct addr      peer = { .family = ADDR_UNIX }, client;
	bool             forwarded;

	cr_expect_eq(addr_client(&client, &forwarded, &peer, &nets, "9.9.9.9", 7), ERR_OK);
	cr_expect_eq(client.family, ADDR_UNIX);
	cr_expect_not(forwarded);
	addr_nets_fini(&nets);
}

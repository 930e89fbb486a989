/*
 * What hosts and players write, read as tests/vectors/lobby_fields.txt says; requests, with every limit and one past it.
 */
#include "lobby/lobby_wire.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/field_rows.h"

#define NO_NUMBER (-7)

#define SESSION "0123456789abcdef0123456789abcdef"
#define TOKEN   "AZaz09-_AZaz09-_AZaz09-_AZaz09-_"
#define KEY     "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define SIG     KEY KEY

static struct json *parse(const char *text)
{
	struct json *j = NULL;

	cr_assert_eq(json_parse_lenient(&j, text, strlen(text), JSON_LENIENT_DEPTH_MAX), ERR_OK, "%s", text);
	return j;
}

/* Fields, by the vectors */

static bool string_is(const char *expected, const struct json *j)
{
	AUTO(json_freep) struct json *want = NULL;
	char                          got[LOBBY_TEXT_BYTES(LOBBY_NAME_CHARS)], text[512];
	const char                   *value;

	snprintf(text, sizeof(text), "{\"v\":%s}", expected);
	cr_assert_eq(json_parse(&want, text, strlen(text)), ERR_OK, "%s", text);
	cr_assert_eq(json_get_text(&value, want, "v"), ERR_OK);
	lobby_read_string(got, LOBBY_NAME_CHARS, j, "v");
	return strcmp(value, got) == 0;
}

static bool int_is(const char *expected, const struct json *j)
{
	return lobby_read_int(j, "v", NO_NUMBER) == strtoll(expected, NULL, 10);
}

static bool no_is(const char *expected, const struct json *j)
{
	return lobby_read_bool(j, "v", false) == (strcmp(expected, "true") == 0);
}

static bool yes_is(const char *expected, const struct json *j)
{
	return lobby_read_bool(j, "v", true) == (strcmp(expected, "true") == 0);
}

/* How many rows of this kind there are; each is expected to hold. */
static size_t try_rows(const char *kind, bool (*holds)(const char *expected, const struct json *j))
{
	struct field_rows f     = field_rows_load("lobby_fields.txt");
	size_t            tried = 0;

	for (size_t i = 0; i < f.count; i++) {
		const struct field_row *row = &f.rows[i];

		if (strcmp(row->kind, kind) != 0)
			continue;
		AUTO(json_freep) struct json *j = parse(row->body);
		tried++;
		cr_expect(holds(row->result, j), "line %d: %s", row->line, row->body);
	}
	field_rows_free(&f);
	return tried;
}

Test(lobby_wire, a_string_field_takes_what_can_be_text_and_cleans_it)
{
	cr_expect_geq(try_rows("string", string_is), 30);
}

Test(lobby_wire, an_integer_field_takes_what_can_be_a_number)
{
	cr_expect_geq(try_rows("int", int_is), 40);
}

Test(lobby_wire, a_boolean_field_takes_what_is_something_for_true)
{
	cr_expect_geq(try_rows("no", no_is), 10);
	cr_expect_geq(try_rows("yes", yes_is), 8);
}

Test(lobby_wire, a_body_is_one_object_of_JSON)
{
	struct field_rows f     = field_rows_load("lobby_fields.txt");
	size_t            tried = 0;

	for (size_t i = 0; i < f.count; i++) {
		AUTO(json_freep) struct json *j    = NULL;
		const struct field_row       *row  = &f.rows[i];
		enum err                      want = strcmp(row->result, "\"good\"") == 0 ? ERR_OK : ERR_MALFORMED;

		if (strcmp(row->kind, "body") != 0)
			continue;
		tried++;
		cr_expect_eq(json_parse_lenient(&j, row->body, strlen(row->body), JSON_LENIENT_DEPTH_MAX), want,
		             "line %d: %s", row->line, row->body);
	}
	cr_expect_geq(tried, 30);
	field_rows_free(&f);
}

/* Cleaning */

static size_t put_utf8(char *out, uint32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* One flag for each code point that goes, from the rows of that kind. */
static bool *load_gone(void)
{
	struct field_rows f    = field_rows_load("lobby_fields.txt");
	bool             *gone = calloc(0x110000, sizeof(*gone));
	unsigned          first, last;

	cr_assert_not_null(gone);
	for (size_t i = 0; i < f.count; i++) {
		if (strcmp(f.rows[i].kind, "gone") != 0)
			continue;
		cr_assert_eq(sscanf(f.rows[i].body, "%x-%x", &first, &last), 2);
		cr_assert_lt(last, 0x110000);
		memset(gone + first, true, last - first + 1);
	}
	field_rows_free(&f);
	return gone;
}

Test(lobby_wire, every_character_there_is_stays_or_goes_as_the_table_says)
{
	bool  *gone = load_gone();
	size_t away = 0, wrong = 0;

	for (uint32_t code = 0; code < 0x110000; code++) {
		char   text[8] = { 0 }, out[LOBBY_TEXT_BYTES(2)];
		size_t len     = put_utf8(text, code);

		if (code >= 0xd800 && code <= 0xdfff)
			continue;
		text[len] = '!';
		lobby_clean(out, 2, text, len + 1);
		wrong += strcmp(out, gone[code] ? "!" : text) != 0;
		away += gone[code];
	}
	cr_expect_eq(wrong, 0);
	cr_expect_gt(away, 130000, "private use alone is as much");
	free(gone);
}

Test(lobby_wire, a_text_is_cut_after_cleaning_at_characters_and_not_at_bytes)
{
	char text[1024] = "", out[LOBBY_TEXT_BYTES(3)];

	lobby_clean(out, 3, "abcd", 4);
	cr_expect_str_eq(out, "abc");
	lobby_clean(out, 3, "abc", 3);
	cr_expect_str_eq(out, "abc");
	lobby_clean(out, 3, "\n\n\na\nb\n\ncd", 10);
	cr_expect_str_eq(out, "abc", "what goes takes no place");
	lobby_clean(out, 3, "\xf0\x9f\x9a\x80\xe2\x82\xac\xf0\x9f\x9a\x80\xc3\xa9", 13);
	cr_expect_str_eq(out, "\xf0\x9f\x9a\x80\xe2\x82\xac\xf0\x9f\x9a\x80");
	for (int i = 0; i < 100; i++)
		strcat(text, "\xf0\x9f\x9a\x80");
	char name[LOBBY_TEXT_BYTES(LOBBY_NAME_CHARS)];
	lobby_clean(name, LOBBY_NAME_CHARS, text, strlen(text));
	cr_expect_eq(strlen(name), (size_t)4 * LOBBY_NAME_CHARS);
}

Test(lobby_wire, bytes_that_are_no_characters_go)
{
	char out[LOBBY_TEXT_BYTES(9)];

	lobby_clean(out, 9,
	            "a\xff"
	            "b\xc3",
	            4);
	cr_expect_str_eq(out, "ab");
	lobby_clean(out, 9,
	            "\xed\xa0\x80"
	            "c\xc0\x80"
	            "d\xf4\x90\x80\x80",
	            11);
	cr_expect_str_eq(out, "cd", "surrogates, a long form of NUL, beyond the last");
	lobby_clean(out, 2,
	            "\xff\xff\xff"
	            "abc",
	            6);
	cr_expect_str_eq(out, "ab", "they take no place");
	lobby_clean(out, 9, "\xe2\x82", 2);
	cr_expect_str_eq(out, "", "cut in the middle");
	lobby_clean(out, 9, "", 0);
	cr_expect_str_eq(out, "");
}

/* Exact strings */

/* The body {"v":"TEXT"}. */
static struct json *with(const char *text)
{
	char body[1024];

	snprintf(body, sizeof(body), "{\"v\":\"%s\"}", text);
	return parse(body);
}

/* Whether each reader takes the text, as letters: s i t. */
static const char *taken(char out[4], struct json *j)
{
	uint8_t session[LOBBY_SESSION_BYTES], id[LOBBY_ID_BYTES];
	char    token[LOBBY_TOKEN_CHARS + 1];

	out[0] = lobby_read_session(session, j, "v") ? 's' : '-';
	out[1] = lobby_read_id(id, j, "v") ? 'i' : '-';
	out[2] = lobby_read_token(token, j, "v") ? 't' : '-';
	out[3] = '\0';
	json_free(j);
	return out;
}

Test(lobby_wire, ids_and_tokens_have_one_shape_each)
{
	char out[4];

	/* 32 hex digits have the shape of a token as well; what they mean is the reader's question. */
	cr_expect_str_eq(taken(out, with(SESSION)), "s-t");
	cr_expect_str_eq(taken(out, with("0123456789abcdef")), "-i-");
	cr_expect_str_eq(taken(out, with(TOKEN)), "--t");
	cr_expect_str_eq(taken(out, with("0123456789ABCDEF")), "---", "upper case");
	cr_expect_str_eq(taken(out, with("0123456789ABCDEF0123456789ABCDEF")), "--t");
	cr_expect_str_eq(taken(out, with("0123456789abcde")), "---", "one short");
	cr_expect_str_eq(taken(out, with("0123456789abcdef0")), "---", "one long");
	cr_expect_str_eq(taken(out, with("0123456789abcde ")), "---");
	cr_expect_str_eq(taken(out, with("0123456789abcdeg")), "---");
	cr_expect_str_eq(taken(out, with(SESSION "0")), "---");
	cr_expect_str_eq(taken(out, with(TOKEN "A")), "---");
	cr_expect_str_eq(taken(out, with("AZaz09-_AZaz09-_AZaz09-_AZaz09-")), "---");
	cr_expect_str_eq(taken(out, with("AZaz09+/AZaz09-_AZaz09-_AZaz09-_")), "---", "the other alphabet");
	cr_expect_str_eq(taken(out, with("AZaz09-_AZaz09-_AZaz09-_AZaz09-=")), "---", "padding");
	cr_expect_str_eq(taken(out, with("0123456789abcde\\u0000")), "---", "a NUL inside");
	cr_expect_str_eq(taken(out, with("")), "---");
}

Test(lobby_wire, exact_strings_are_strings)
{
	char out[4];

	cr_expect_str_eq(taken(out, parse("{}")), "---");
	cr_expect_str_eq(taken(out, parse("{\"v\":null}")), "---");
	cr_expect_str_eq(taken(out, parse("{\"v\":1234567812345678}")), "---");
	cr_expect_str_eq(taken(out, parse("{\"v\":[\"0123456789abcdef\"]}")), "---");
	cr_expect_str_eq(taken(out, parse("{\"v\":{}}")), "---");
	cr_expect_str_eq(taken(out, parse("{\"v\":true}")), "---");
}

Test(lobby_wire, what_is_taken_is_what_was_written)
{
	AUTO(json_freep)
	struct json *j = parse("{\"s\":\"" SESSION "\",\"i\":\"fedcba9876543210\",\"t\":\"" TOKEN "\"}");
	uint8_t      session[LOBBY_SESSION_BYTES], id[LOBBY_ID_BYTES];
	char         token[LOBBY_TOKEN_CHARS + 1], hex[2 * LOBBY_SESSION_BYTES + 1];

	cr_assert(lobby_read_session(session, j, "s"));
	hex_encode(hex, session, sizeof(session));
	cr_expect_str_eq(hex, SESSION);
	cr_assert(lobby_read_id(id, j, "i"));
	hex_encode(hex, id, sizeof(id));
	cr_expect_str_eq(hex, "fedcba9876543210");
	cr_assert(lobby_read_token(token, j, "t"));
	cr_expect_str_eq(token, TOKEN);
}

/* Announces */

static struct lobby_announce announce(const char *body)
{
	AUTO(json_freep) struct json *j = parse(body);
	struct lobby_announce         a;

	lobby_read_announce(&a, j);
	return a;
}

Test(lobby_wire, an_empty_announce_is_all_defaults)
{
	struct lobby_announce a = announce("{}");

	cr_expect_str_eq(a.name, "VOTV Coop");
	cr_expect_str_eq(a.world, "");
	cr_expect_str_eq(a.version, "");
	cr_expect_str_eq(a.game, "");
	cr_expect_not(a.has_identity);
	cr_expect_eq(a.proto, 0);
	cr_expect_eq(a.players_max, 4);
	cr_expect_not(a.locked);
	cr_expect(a.listed);
	cr_expect_not(a.is_direct);
	cr_expect_eq(a.direct_port, -1);
	cr_expect_str_eq(a.claim.sha, "");
	cr_expect_eq(a.claim.key, 0);
	cr_expect_str_eq(a.claim.sig, "");
	cr_expect_not(a.has_proof);
}

Test(lobby_wire, an_announce_says_all_this)
{
	struct lobby_announce a = announce(
		"{\"name\":\"Night shift\",\"world\":\"Bunker\",\"version\":\"0.9.0\",\"game\":\"0.9.0n\","
		"\"identity\":\"gen:" KEY "\",\"proto\":140,\"players_max\":3,\"locked\":true,\"listed\":false,"
		"\"conn\":\"direct\",\"direct_port\":7777,\"build_sha\":\"" KEY "\",\"build_key\":7,"
		"\"build_sig\":\"" SIG "\",\"proof_nonce\":\"" KEY "\",\"proof_sig\":\"" SIG "\",\"new\":{}}");
	uint8_t key[LOBBY_KEY_BYTES];

	hex_decode(key, sizeof(key), KEY, strlen(KEY));
	cr_expect_str_eq(a.name, "Night shift");
	cr_expect_str_eq(a.world, "Bunker");
	cr_expect_str_eq(a.version, "0.9.0");
	cr_expect_str_eq(a.game, "0.9.0n");
	cr_assert(a.has_identity);
	cr_expect_arr_eq(a.key, key, sizeof(key));
	cr_expect_eq(a.proto, 140);
	cr_expect_eq(a.players_max, 3);
	cr_expect(a.locked);
	cr_expect_not(a.listed);
	cr_expect(a.is_direct);
	cr_expect_eq(a.direct_port, 7777);
	cr_expect_str_eq(a.claim.sha, KEY);
	cr_expect_eq(a.claim.key, 7);
	cr_expect_str_eq(a.claim.sig, SIG);
	cr_assert(a.has_proof);
	cr_expect_arr_eq(a.nonce, key, sizeof(key));
	cr_expect_arr_eq(a.proof, key, sizeof(key));
	cr_expect_arr_eq(a.proof + sizeof(key), key, sizeof(key));
}

Test(lobby_wire, texts_of_an_announce_have_their_lengths)
{
	static const struct {
		const char *key;
		size_t      offset, max;
	} rows[] = {
		{ "name", offsetof(struct lobby_announce, name), 63 },
		{ "world", offsetof(struct lobby_announce, world), 39 },
		{ "version", offsetof(struct lobby_announce, version), 23 },
		{ "game", offsetof(struct lobby_announce, game), 23 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		for (size_t more = 0; more <= 1; more++) {
			char body[256], text[80];

			memset(text, 'x', sizeof(text));
			text[rows[i].max + more] = '\0';
			snprintf(body, sizeof(body), "{\"%s\":\"%s\"}", rows[i].key, text);
			struct lobby_announce a = announce(body);
			cr_expect_eq(strlen((const char *)&a + rows[i].offset), rows[i].max, "%s, %zu more",
			             rows[i].key, more);
		}
	}
}

Test(lobby_wire, a_name_that_is_empty_after_cleaning_is_the_products)
{
	cr_expect_str_eq(announce("{\"name\":\"\\u200b\\n\\ue000\"}").name, "VOTV Coop");
	cr_expect_str_eq(announce("{\"name\":\" \"}").name, " ", "a blank is a character");
}

Test(lobby_wire, numbers_of_an_announce_are_clamped)
{
	static const struct {
		const char *body;
		int         proto, players_max;
	} rows[] = {
		{ "{\"proto\":-1,\"players_max\":0}", 0, 1 },
		{ "{\"proto\":0,\"players_max\":1}", 0, 1 },
		{ "{\"proto\":65535,\"players_max\":4}", 65535, 4 },
		{ "{\"proto\":65536,\"players_max\":5}", 65535, 4 },
		{ "{\"proto\":\"140\",\"players_max\":\"2\"}", 140, 2 },
		{ "{\"proto\":1e300,\"players_max\":-1e300}", 65535, 1 },
		{ "{\"proto\":9223372036854775807,\"players_max\":-9223372036854775808}", 65535, 1 },
		{ "{\"proto\":null,\"players_max\":true}", 0, 4 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct lobby_announce a = announce(rows[i].body);

		cr_expect_eq(a.proto, rows[i].proto, "%s", rows[i].body);
		cr_expect_eq(a.players_max, rows[i].players_max, "%s", rows[i].body);
	}
}

Test(lobby_wire, only_the_word_direct_makes_a_direct_lobby)
{
	cr_expect(announce("{\"conn\":\"direct\"}").is_direct);
	cr_expect_not(announce("{\"conn\":\"p2p\"}").is_direct);
	cr_expect_not(announce("{\"conn\":\"Direct\"}").is_direct);
	cr_expect_not(announce("{\"conn\":\"direct \"}").is_direct);
	cr_expect_not(announce("{\"conn\":\"direct\\u0000\"}").is_direct);
	cr_expect_not(announce("{\"conn\":[\"direct\"]}").is_direct);
	cr_expect_not(announce("{\"conn\":null}").is_direct);
	cr_expect_eq(announce("{\"direct_port\":\"70000\"}").direct_port, 70000, "not clamped");
}

Test(lobby_wire, an_identity_is_gen_and_64_lower_case_digits)
{
	static const char *const rows[] = {
		"\"\"",
		"\"gen:\"",
		"\"" KEY "\"",
		"\"GEN:" KEY "\"",
		"\"key:" KEY "\"",
		"\"gen:" KEY "0\"",
		"\"gen: " KEY "\"",
		"\" gen:" KEY "\"",
		"\"gen:" KEY " \"",
		"\"gen:00112233445566778899aabbccddeeff00112233445566778899aabbccddeef\"",
		"\"gen:00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff\"",
		"\"gen:0x112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"",
		"null",
		"17",
		"[\"gen:" KEY "\"]",
	};
	char body[256];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		snprintf(body, sizeof(body), "{\"identity\":%s}", rows[i]);
		cr_expect_not(announce(body).has_identity, "%s", body);
	}
	cr_expect(announce("{\"identity\":\"gen:" KEY "\"}").has_identity);
}

/* What a claim of these three members is kept as: key and whether there is a signature; -1: nothing is kept. */
static int claim(const char *sha, const char *key, const char *sig)
{
	char body[512];

	snprintf(body, sizeof(body), "{%s%s%s}", sha, key, sig);
	struct lobby_announce a = announce(body);

	if (!a.claim.sha[0]) {
		cr_expect(a.claim.key == 0 && !a.claim.sig[0], "what is left of a claim: %s", body);
		return -1;
	}
	cr_expect_eq(a.claim.key != 0, a.claim.sig[0] != '\0');
	return a.claim.key;
}

Test(lobby_wire, a_build_claim_is_kept_whole_or_not_at_all)
{
#define SHA_IS "\"build_sha\":\"" KEY "\""
#define SIG_IS ",\"build_sig\":\"" SIG "\""
	cr_expect_eq(claim(SHA_IS, "", ""), 0);
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":0", ",\"build_sig\":\"\""), 0);
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":0", ",\"build_sig\":17"), 0, "no string is none");
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":\"7\"", ""), 0, "no integer is 0");
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":7.0", ""), 0);
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":1", SIG_IS), 1);
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":255", SIG_IS), 255);

	cr_expect_eq(claim(SHA_IS, ",\"build_key\":256", SIG_IS), -1);
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":-1", SIG_IS), -1);
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":-1", ""), -1);
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":0", SIG_IS), -1);
	cr_expect_eq(claim(SHA_IS, "", SIG_IS), -1);
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":7", ""), -1);
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":7", ",\"build_sig\":\"" KEY "\""), -1);
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":7", ",\"build_sig\":\"" SIG "0\""), -1);
	cr_expect_eq(claim(SHA_IS, ",\"build_key\":\"7\"", SIG_IS), -1);
	cr_expect_eq(claim("\"x\":0", ",\"build_key\":7", SIG_IS), -1);
	cr_expect_eq(claim("\"build_sha\":\"\"", "", ""), -1);
	cr_expect_eq(claim("\"build_sha\":\"" KEY "0\"", "", ""), -1);
	cr_expect_eq(claim("\"build_sha\":\"00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff\"", "",
	                   ""),
	             -1);
}

Test(lobby_wire, a_proof_is_there_when_both_members_are)
{
	cr_expect_not(announce("{\"proof_nonce\":\"" KEY "\"}").has_proof);
	cr_expect_not(announce("{\"proof_sig\":\"" SIG "\"}").has_proof);
	cr_expect_not(announce("{\"proof_nonce\":\"" KEY "0\",\"proof_sig\":\"" SIG "\"}").has_proof);
	cr_expect_not(announce("{\"proof_nonce\":\"" KEY "\",\"proof_sig\":\"" SIG "0\"}").has_proof);
	cr_expect_not(announce("{\"proof_nonce\":1,\"proof_sig\":\"" SIG "\"}").has_proof);
	cr_expect(announce("{\"proof_nonce\":\"" KEY "\",\"proof_sig\":\"" SIG "\"}").has_proof);
}

Test(lobby_wire, a_game_version_has_three_numbers_and_up_to_two_letters)
{
	static const char *const good[] = { "", "0.9.0", "0.9.0n", "0.9.0nb", "99.99.99zz", "1.2.3", "00.00.00a" };
	static const char *const bad[]  = {
		 "1",       "1.2",      "1.2.",   ".1.2",   "1..2",    "1.2.3.4",       "100.2.3", "1.100.3",
		 "1.2.100", "1.2.3abc", "1.2.3A", "1.2.3-", "1.2.3a1", "v1.2.3",        "1.2.3 ",  " 1.2.3",
		 "1,2,3",   "a.b.c",    "1.2.a",  "dev",    "-1.2.3",  "1.2.3\xc3\xa9",
	};

	for (size_t i = 0; i < COUNT_OF(good); i++)
		cr_expect(lobby_game_is_good(good[i]), "%s", good[i]);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		cr_expect_not(lobby_game_is_good(bad[i]), "%s", bad[i]);
}

/* Beats */

Test(lobby_wire, an_empty_beat_means_nobody_and_changes_nothing)
{
	AUTO(json_freep) struct json *j = parse("{}");
	struct lobby_beat             b;

	lobby_read_beat(&b, j);
	cr_expect_not(b.has_credentials);
	cr_expect_not(b.has_players);
	cr_expect_not(b.has_listed);
	cr_expect_not(b.has_links);
	cr_expect_null(b.turn_user);
}

Test(lobby_wire, a_beat_says_all_this)
{
	AUTO(json_freep)
	struct json *j =
		parse("{\"sessionId\":\"" SESSION "\",\"token\":\"" TOKEN "\",\"players_cur\":\"3\",\"listed\":0,"
	              "\"links\":{\"relayed\":1,\"direct\":\"2\"},\"turn_user\":\"1:a\\u0000b\"}");
	struct lobby_beat b;

	lobby_read_beat(&b, j);
	cr_assert(b.has_credentials);
	cr_expect_str_eq(b.token, TOKEN);
	cr_expect(b.has_players);
	cr_expect_eq(b.players, 3);
	cr_expect(b.has_listed);
	cr_expect_not(b.listed);
	cr_assert(b.has_links);
	cr_expect_eq(b.relayed, 1);
	cr_expect_eq(b.direct, 2);
	cr_expect_eq(b.lan, 0);
	cr_assert_eq(b.turn_user_len, 5);
	cr_expect_arr_eq(b.turn_user, "1:a\0b", 5);
}

Test(lobby_wire, what_a_beat_says_wrongly_it_does_not_say)
{
	AUTO(json_freep)
	struct json                  *j = parse("{\"sessionId\":\"" SESSION
	                                        "\",\"token\":7,\"players_cur\":\"many\",\"listed\":null,\"links\":[1],"
	                                                         "\"turn_user\":5}");
	AUTO(json_freep) struct json *k = parse("{\"listed\":\"false\",\"links\":{},\"turn_user\":\"\"}");
	struct lobby_beat             b;

	lobby_read_beat(&b, j);
	cr_expect_not(b.has_credentials);
	cr_expect_not(b.has_players);
	cr_expect_not(b.has_listed);
	cr_expect_not(b.has_links);
	cr_expect_null(b.turn_user);

	lobby_read_beat(&b, k);
	cr_expect(b.has_listed && b.listed, "a text is true");
	cr_expect(b.has_links && b.relayed == 0 && b.direct == 0 && b.lan == 0);
	cr_expect_eq(b.turn_user_len, 0);
}

/* The list */

Test(lobby_wire, the_last_version_of_a_query_filters)
{
	static const struct {
		const char *query, *filter;
	} rows[] = {
		{ NULL, "" },
		{ "", "" },
		{ "version", "" },
		{ "version=", "" },
		{ "version=1.0", "1.0" },
		{ "version=1.0&version=2.0", "2.0" },
		{ "version=1.0&version=", "" },
		{ "a=1&version=1.0&b=2", "1.0" },
		{ "aversion=1.0", "" },
		{ "Version=1.0", "" },
		{ "version=1=0", "1=0" },
		{ "version=%31", "%31" },
		{ "version=a+b", "a+b" },
		{ "&&version=1.0&&", "1.0" },
		{ "version=\xe2\x80\x8b"
		  "1\xff",
		  "1" },
		{ "version=abcdefghijklmnopqrstuvw", "abcdefghijklmnopqrstuvw" },
		{ "version=abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvw" },
	};
	char out[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		lobby_read_filter(out, rows[i].query);
		cr_expect_str_eq(out, rows[i].filter, "%s", rows[i].query);
	}
}

static struct lobby_row row(void)
{
	return (struct lobby_row){
		.id          = { 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10 },
		.name        = "Night \"shift\" \xc3\xa9\\<b>",
		.world       = "Bunker",
		.version     = "",
		.game        = "0.9.0n",
		.proto       = 140,
		.players     = 2,
		.players_max = 4,
		.locked      = true,
		.is_proved   = true,
		.links       = { .relayed = 1, .direct = 2, .lan = 3 },
	};
}

Test(lobby_wire, a_row_is_this_text_up_to_its_age)
{
	struct lobby_row      r    = row();
	size_t                len  = 0;
	AUTO(auto_free) char *text = lobby_row_text(&len, &r);

	cr_assert_not_null(text);
	cr_expect_str_eq(text,
	                 "{\"lobbyId\":\"fedcba9876543210\",\"name\":\"Night \\\"shift\\\" \xc3\xa9\\\\<b>\","
	                 "\"version\":\"\",\"game\":\"0.9.0n\",\"world\":\"Bunker\",\"proto\":140,\"players_cur\":2,"
	                 "\"players_max\":4,\"locked\":true,\"conn\":\"p2p\",\"link\":\"relay\",\"links\":{"
	                 "\"relayed\":1,\"direct\":2,\"lan\":3},\"build_sha\":\"\",\"build_key\":0,"
	                 "\"build_sig\":\"\",\"proved\":true,\"age\":");
	cr_expect_eq(len, strlen(text));
}

Test(lobby_wire, a_row_says_how_the_host_is_reached)
{
	static const struct {
		struct lobby_links links;
		bool               is_direct;
		const char        *conn, *link;
	} rows[] = {
		{ { 0, 0, 0 }, false, "p2p", "" },         { { 0, 0, 1 }, false, "p2p", "lan" },
		{ { 0, 1, 1 }, false, "p2p", "direct" },   { { 1, 1, 1 }, false, "p2p", "relay" },
		{ { 0, 0, 0 }, true, "direct", "direct" }, { { 1, 0, 0 }, true, "direct", "direct" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct lobby_row              r = row();
		AUTO(json_freep) struct json *j = NULL;
		char                          whole[2048];
		const char                   *value = "";
		size_t                        len   = 0;

		r.links                    = rows[i].links;
		r.is_direct                = rows[i].is_direct;
		AUTO(auto_free) char *text = lobby_row_text(&len, &r);
		snprintf(whole, sizeof(whole), "%s12}", text);
		cr_assert_eq(json_parse(&j, whole, strlen(whole)), ERR_OK, "%s", whole);
		json_get_text(&value, j, "conn");
		cr_expect_str_eq(value, rows[i].conn);
		json_get_text(&value, j, "link");
		cr_expect_str_eq(value, rows[i].link);
	}
}

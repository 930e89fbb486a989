/*
 * Games, codes, signaling peers and peer to peer: each action stands in the audit trail with its target and how it ended, and
 * none is done for a viewer, by a dry run, or over TCP without a token.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "support/admin_client.h"
#include "support/p2p_peer.h"
#include "support/signal_client.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ANSWER  AUTO(rest_freep) struct http_result
#define ACTIONS 7

/* In this order each finds what it needs. */
static struct action {
	const char *name, *method;
	char        target[120];
} actions[ACTIONS];

static struct server        *s;
static struct ws_client     *host, *ann;
static struct signal_client *peer;
static struct p2p_peer       caller;

static void set(size_t at, const char *name, const char *method, const char *target)
{
	actions[at] = (struct action){ .name = name, .method = method };
	snprintf(actions[at].target, sizeof(actions[at].target), "%s", target);
}

static void plan(uint32_t code, const struct identity *who, const char *room)
{
	char    text[100], hex[17];
	uint8_t id[ID_BYTES];

	id_of(id, "A");
	hex_encode(hex, id, sizeof(id));
	snprintf(text, sizeof(text), "games/%u/friends/1", (unsigned)code);
	set(0, "game.kick", "DELETE", text);
	snprintf(text, sizeof(text), "games/%u", (unsigned)code);
	set(1, "game.close", "DELETE", text);
	snprintf(text, sizeof(text), "players/%s/code", hex);
	set(2, "player.set_code", "POST", text);
	set(3, "player.free_code", "DELETE", text);
	snprintf(text, sizeof(text), "signal/%s", who->text + 4);
	set(4, "signal.close", "DELETE", text);
	snprintf(text, sizeof(text), "p2p/rooms/%s", room);
	set(5, "p2p.close_room", "DELETE", text);
	snprintf(text, sizeof(text), "p2p/sessions/%s", caller.uid);
	set(6, "p2p.disconnect", "DELETE", text);
}

static void start(void)
{
	struct identity who = identity_of(1);
	uint32_t        code;
	char            room[16];

	s    = server_start(NULL);
	host = host_open(s->tunnel_port, "A", &code);
	ann  = friend_join(s->tunnel_port, code, "ann", "B");
	peer = signal_registered(s, SIGNAL_PLAIN, &who);
	p2p_peer_open(&caller, s, 1);
	p2p_peer_ask(&caller, "p2p.create", "");
	p2p_peer_string(room, sizeof(room), &caller, "room");
	plan(code, &who, room);
}

static void stop(void)
{
	ws_client_free(ann);
	ws_client_free(host);
	signal_client_free(peer);
	p2p_peer_free(&caller);
	server_finish(s);
}

TestSuite(audit_live, .init = start, .fini = stop, .timeout = 120);

static const char *path_of(const struct action *a, const char *more)
{
	static char path[200];

	snprintf(path, sizeof(path), "/admin/v1/%s%s", a->target, more);
	return path;
}

static const char *body_of(const struct action *a)
{
	return strcmp(a->method, "POST") == 0 ? "{}" : NULL;
}

Test(audit_live, every_action_stands_in_the_trail_with_its_end)
{
	for (size_t i = 0; i < ACTIONS; i++) {
		ANSWER r = admin_ask(s, actions[i].method, path_of(&actions[i], ""), body_of(&actions[i]));

		admin_expect(&r, 200, NULL);
		cr_expect_eq(admin_audited(s, actions[i].name, actions[i].target, "ok"), 1, "%s", actions[i].name);
	}
	/* Once more: what is not there any more, and that is written down as well. */
	for (size_t i = 0; i < ACTIONS; i++) {
		ANSWER r = admin_ask(s, actions[i].method, path_of(&actions[i], ""), body_of(&actions[i]));

		admin_expect(&r, 404, "not_found");
		cr_expect_eq(admin_audited(s, actions[i].name, actions[i].target, "not_found"), 1, "%s",
		             actions[i].name);
	}
	cr_expect_eq(admin_audited(s, NULL, NULL, NULL), 2 * ACTIONS);
}

Test(audit_live, a_dry_run_leaves_no_trace)
{
	for (size_t i = 0; i < ACTIONS; i++) {
		ANSWER r = admin_ask(s, actions[i].method, path_of(&actions[i], "?dry_run=true"), body_of(&actions[i]));

		admin_expect(&r, 200, NULL);
		cr_expect(rest_bool(&r, "dry_run"));
	}
	cr_expect_eq(admin_audited(s, NULL, NULL, NULL), 0);
	tunnel_echo(ann);
}

Test(audit_live, viewers_look_and_operators_do)
{
	static const char *const lists[] = { "/admin/v1/games", "/admin/v1/signal", "/admin/v1/p2p/sessions",
		                             "/admin/v1/p2p/rooms" };
	char viewer[ADMIN_TOKEN_TEXT_BYTES], operator[ADMIN_TOKEN_TEXT_BYTES];

	admin_make_token(viewer, s, "viewer");
	admin_make_token(operator, s, "operator");
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		ANSWER seen = admin_ask_tcp(s, viewer, "GET", lists[i], NULL);
		ANSWER not  = admin_ask_tcp(s, NULL, "GET", lists[i], NULL);

		admin_expect(&seen, 200, NULL);
		cr_expect_eq(rest_count(&seen, "items"), 1, "%s", seen.body);
		admin_expect(&not, 401, "token");
	}
	for (size_t i = 0; i < ACTIONS; i++) {
		ANSWER not = admin_ask_tcp(s, NULL, actions[i].method, path_of(&actions[i], ""), body_of(&actions[i]));
		ANSWER looked =
			admin_ask_tcp(s, viewer, actions[i].method, path_of(&actions[i], ""), body_of(&actions[i]));

		admin_expect(&not, 401, "token");
		admin_expect(&looked, 403, "role");
		cr_expect_eq(admin_audited(s, actions[i].name, NULL, NULL), 0);
	}
	for (size_t i = 0; i < ACTIONS; i++) {
		ANSWER r =
			admin_ask_tcp(s, operator, actions[i].method, path_of(&actions[i], ""), body_of(&actions[i]));

		admin_expect(&r, 200, NULL);
		cr_expect_eq(admin_audited(s, actions[i].name, actions[i].target, "ok"), 1);
	}
}

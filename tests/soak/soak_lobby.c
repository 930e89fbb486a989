/*
 * Hosts of lobbies, each with a joiner: announce, beat, be listed, be joined, hide, leave. What must hold: a lobby whose host beats
 * stays, also over a restart, and one that was left does not come back.
 */
#include "soak.h"
#include "soak_wire.h"

#include "base/hex.h"

#include <stdio.h>
#include <string.h>

enum { BODY_BYTES = 512, LIST_WITHIN_MS = 6000, BEATS = 6 };

struct lobby {
	char    session[40], token[40], id[24];
	bool    open, doubtful; /* doubtful: leaving it got no answer */
	int64_t opened_ms;
};

struct host {
	struct lobby now, left; /* left: acknowledged to be gone */
};

static void ask(struct soak_answer *out, struct soak_actor *a, const char *method, const char *path, const char *body)
{
	char    address[16];
	int64_t from_ns = soak_now_ns();

	soak_address(address, a, soak_dice(a, 4));
	soak_http(out, &(struct soak_ask){ .port    = soak.ports.http,
	                                   .method  = method,
	                                   .path    = path,
	                                   .address = address,
	                                   .body    = body,
	                                   .len     = body ? strlen(body) : 0 });
	if (out->status == 200)
		soak_took(SOAK_LOBBY, from_ns);
}

static bool is_answered(struct soak_actor *a, const struct soak_answer *answer, int status, const char *what)
{
	if (answer->status == status)
		return true;
	return soak_fault(a, "%s is answered %d %.80s", what, answer->status, answer->body ? answer->body : "");
}

static void announce(struct soak_actor *a, struct lobby *l)
{
	char               body[BODY_BYTES], hex[65];
	uint8_t            key[32];
	struct soak_answer answer;

	soak_random(a, key, sizeof(key));
	hex_encode(hex, key, sizeof(key));
	snprintf(body, sizeof(body),
	         "{\"identity\":\"gen:%s\",\"name\":\"Soak "
	         "%u\",\"game\":\"0.9.0\",\"proto\":7,\"players_max\":4,\"world\":\"w\"}",
	         hex, a->number);
	ask(&answer, a, "POST", "/v1/host", body);
	if (is_answered(a, &answer, 200, "an announce")) {
		l->open = soak_json(l->session, sizeof(l->session), answer.body, "sessionId") &&
		          soak_json(l->token, sizeof(l->token), answer.body, "token") &&
		          soak_json(l->id, sizeof(l->id), answer.body, "lobbyId");
		l->doubtful  = false;
		l->opened_ms = soak_now_ms();
		if (!l->open)
			soak_fault(a, "an announce gets no lobby");
	}
	soak_answer_fini(&answer);
}

/* The status. */
static int post(struct soak_actor *a, const struct lobby *l, const char *path, const char *more)
{
	char               body[BODY_BYTES];
	struct soak_answer answer;

	snprintf(body, sizeof(body), "{\"sessionId\":\"%s\",\"lobbyId\":\"%s\",\"token\":\"%s\"%s}", l->session, l->id,
	         l->token, more);
	ask(&answer, a, "POST", path, body);

	int status = answer.status;

	soak_answer_fini(&answer);
	return status;
}

static bool beat(struct soak_actor *a, struct host *h)
{
	int status = post(a, &h->now, "/v1/heartbeat", ",\"players_cur\":2,\"listed\":true,\"links\":{\"direct\":1}");

	if (status == 200)
		return true;
	if (status == 403 && h->now.doubtful) {
		h->now.open = false;
		return false;
	}
	if (status == 403)
		soak_promise(a, false, "a lobby whose host beats is gone");
	else
		soak_fault(a, "a heartbeat is answered %d", status);
	h->now.open = h->now.open && status != 403;
	return false;
}

static bool is_listed(struct soak_actor *a, const struct lobby *l)
{
	struct soak_answer answer;

	ask(&answer, a, "GET", "/v1/lobbies", NULL);

	bool listed = answer.status == 200 && strstr(answer.body, l->id);

	is_answered(a, &answer, 200, "the list");
	soak_answer_fini(&answer);
	return listed;
}

/* The list is made anew once a second. */
static void be_found(struct soak_actor *a, const struct lobby *l)
{
	int64_t until_ms = soak_now_ms() + LIST_WITHIN_MS;
	bool    listed   = is_listed(a, l);

	while (!listed && soak_goes_on(a) && soak_now_ms() < until_ms) {
		soak_pause(a, 300);
		listed = is_listed(a, l);
	}
	if (!listed && soak_goes_on(a))
		soak_fault(a, "a lobby is not in the list");
}

static void be_joined(struct soak_actor *a, const struct lobby *l)
{
	char               body[BODY_BYTES];
	struct soak_answer answer;

	snprintf(body, sizeof(body), "{\"lobbyId\":\"%s\"}", l->id);
	ask(&answer, a, "POST", "/v1/join", body);
	if (is_answered(a, &answer, 200, "a join") && !strstr(answer.body, l->session))
		soak_fault(a, "a join gets another lobby");
	soak_answer_fini(&answer);
}

static void leave(struct soak_actor *a, struct host *h)
{
	int status = post(a, &h->now, "/v1/leave", "");

	if (status == 200) {
		h->left     = h->now;
		h->now.open = false;
	} else {
		h->now.doubtful = true;
		soak_fault(a, "leaving is answered %d", status);
	}
}

static void visit(struct soak_actor *a)
{
	struct host *h = a->own;

	if (!h->now.open)
		announce(a, &h->now);
	if (!h->now.open)
		return;
	be_found(a, &h->now);
	for (unsigned i = soak_dice(a, BEATS); i > 0 && h->now.open && soak_goes_on(a); i--) {
		soak_pause(a, 500 + (int)soak_dice(a, 2000));
		if (soak_goes_on(a) && beat(a, h) && soak_dice(a, 2))
			be_joined(a, &h->now);
		if (soak_goes_on(a) && h->now.open && soak_dice(a, 4) == 0 &&
		    post(a, &h->now, "/v1/visibility", ",\"listed\":true") != 200)
			soak_fault(a, "a change of visibility is refused");
	}
	if (h->now.open && soak_goes_on(a) && soak_dice(a, 3) == 0)
		leave(a, h);
}

static void check(struct soak_actor *a)
{
	struct host *h = a->own;

	if (h->now.open && beat(a, h))
		soak_promise(a, true, "%s", "");
	if (h->left.open) {
		int status = post(a, &h->left, "/v1/heartbeat", "");

		if (status == 200 || status == 403)
			soak_promise(a, status == 403, "a lobby that was left is back");
		else
			soak_fault(a, "a heartbeat is answered %d", status);
	}
}

const struct soak_part soak_part_lobby = {
	.name = "lobby", .actors = 16, .own_bytes = sizeof(struct host), .visit = visit, .check = check
};

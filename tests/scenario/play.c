/*
 * The player: the clock, one function per verb, and the steps in order. Nothing waits without a deadline.
 */
#include "scenario/play.h"

#include "scenario/message.h"
#include "scenario/stage.h"
#include "support/dial.h"
#include "support/vectors.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS         5000     /* as often as clients send ECHO and the server looks at its waits */
#define JUMP_MS         43200000 /* half a day, so that the server sees every day */
#define LONG_MS         3600000  /* more than this is not gone through in steps */
#define JUMP_REAL_MS    20       /* for what a day's sweep does in other threads */
#define NOTHING_REAL_MS 200      /* "nothing" is nothing for so long */
#define LAST_REAL_MS    2000     /* the last look of "by": the server's clock goes on meanwhile, so not too long */
#define GLANCE_REAL_MS  2

/* --- The clock -------------------------------------------------------------------------------------------------- */

static bool anybody_connected(const struct stage *s)
{
	for (size_t i = 0; i < s->actor_count; i++)
		if (actor_is_connected(&s->actors[i]))
			return true;
	return false;
}

/*
 * A round trip on a connection of its own: by its end the server's loop has seen what the actors did and where the
 * clock is. Without it before a move, a connection that just ended would be found ended only after the move.
 */
static void settle(struct stage *s)
{
	struct actor visitor = { .name = "visitor" };

	if (!s->server->pid)
		return;
	visitor.ws = ws_client_open(s->server->tunnel_port, NULL);
	actor_echo(s, &visitor);
	actor_disconnect(&visitor);
}

static void move_clock(struct stage *s, int64_t ms)
{
	bool spoke = false;

	server_advance(s->server, ms);
	for (size_t i = 0; i < s->actor_count; i++) {
		struct actor *a = &s->actors[i];

		if (actor_is_connected(a) && a->role != ACTOR_NONE && !a->silent) {
			actor_echo(s, a);
			spoke = true;
		}
	}
	if (!spoke)
		settle(s);
	if (ms > LONG_MS && s->server->pid)
		real_sleep_ms(JUMP_REAL_MS);
}

/* One move towards the time. False when it is there already. */
static bool move_towards(struct stage *s, int64_t time_ms)
{
	int64_t left_ms = time_ms - stage_now_ms(s);
	int64_t most_ms = left_ms > LONG_MS ? JUMP_MS : STEP_MS;

	if (left_ms <= 0)
		return false;
	if (left_ms > LONG_MS && anybody_connected(s))
		stage_fail(s, "hours cannot pass while somebody is connected");
	move_clock(s, left_ms < most_ms ? left_ms : most_ms);
	return true;
}

static void move_to(struct stage *s, int64_t time_ms)
{
	stage_note(s, "the clock goes to %g s", (double)time_ms / 1000);
	settle(s);
	while (move_towards(s, time_ms))
		;
	settle(s);
}

/* --- Expectations: false when the actor was told nothing yet ---------------------------------------------------- */

typedef bool expectation(struct stage *s, struct actor *a, int patience_ms);

static bool expect_nothing(struct stage *s, struct actor *a)
{
	char           shown[500];
	struct letter *l = actor_letter(s, a, NOTHING_REAL_MS);

	if (l)
		stage_fail(s, "got %s", letter_show(shown, sizeof(shown), l));
	return true;
}

static bool expect_gets(struct stage *s, struct actor *a, int patience_ms)
{
	char           wanted[500], got[500];
	struct pattern pattern;

	if (strcmp(stage_word(s, 2), "nothing") == 0)
		return expect_nothing(s, a);
	message_expected(s, a, &pattern);
	struct letter *l = actor_letter(s, a, patience_ms);

	if (!l)
		return false;
	if (l->what != WS_MESSAGE || !pattern_matches(&pattern, l->data, l->len))
		stage_fail(s, "expected message %s (%zu bytes), got %s", pattern_show(wanted, sizeof(wanted), &pattern),
		           pattern.len, letter_show(got, sizeof(got), l));
	message_check(s, a, l->data);
	actor_drop_letter(a);
	return true;
}

/* "is closed": an empty close frame in front of the end; "is cut": none. */
static bool expect_end(struct stage *s, struct actor *a, int patience_ms, bool closed)
{
	char           got[500];
	struct letter *l = actor_letter(s, a, patience_ms);

	if (!l)
		return false;
	if (closed) {
		if (l->what != WS_CLOSED || l->len != 0)
			stage_fail(s, "expected an empty close frame, got %s", letter_show(got, sizeof(got), l));
		actor_drop_letter(a);
		l = actor_letter(s, a, DIAL_PATIENCE_MS);
	}
	if (!l || l->what != WS_END)
		stage_fail(s, "expected the end of TCP, got %s", l ? letter_show(got, sizeof(got), l) : "nothing");
	actor_disconnect(a);
	return true;
}

static bool expect_is(struct stage *s, struct actor *a, int patience_ms)
{
	const char *what = stage_word(s, 2);

	if (strcmp(what, "closed") != 0 && strcmp(what, "cut") != 0)
		stage_fail(s, "what is it to be: %s", what);
	return expect_end(s, a, patience_ms, strcmp(what, "closed") == 0);
}

/*
 * Moves the clock until the expectation is met. The last look is a long one: the clock stands still then, and what was
 * due by now may take the server a real moment. So is the last one before "not before".
 */
static void expect_by(struct stage *s, struct actor *a, expectation *expect)
{
	const struct script_step *step = s->step;

	settle(s);
	if (step->not_before_ms) {
		stage_note(s, "the clock goes to just before %g s", (double)step->not_before_ms / 1000);
		while (move_towards(s, step->not_before_ms - 2 * NOTHING_REAL_MS))
			if (expect(s, a, GLANCE_REAL_MS))
				stage_fail(s, "too early, at %g s", (double)stage_now_ms(s) / 1000);
		if (expect(s, a, NOTHING_REAL_MS))
			stage_fail(s, "too early, at %g s", (double)stage_now_ms(s) / 1000);
	}
	stage_note(s, "the clock goes to %g s at most", (double)step->time_ms / 1000);
	do {
		if (expect(s, a, GLANCE_REAL_MS))
			return;
	} while (move_towards(s, step->time_ms));
	if (!expect(s, a, LAST_REAL_MS))
		stage_fail(s, "got nothing until %g s", (double)step->time_ms / 1000);
}

/* --- What actors do --------------------------------------------------------------------------------------------- */

static void must_be_connected(struct stage *s, const struct actor *a)
{
	if (!actor_is_connected(a))
		stage_fail(s, "%s is not connected", a->name);
	if (a->first)
		stage_fail(s, "%s has a message it did not read", a->name);
}

static void do_connects(struct stage *s, struct actor *a)
{
	actor_connect(s, a, ACTOR_NONE);
}

static void do_opens(struct stage *s, struct actor *a)
{
	struct pattern m;

	actor_connect(s, a, ACTOR_HOST);
	message_open(s, a, &m);
	actor_send(s, a, &m);
}

static void do_joins(struct stage *s, struct actor *a)
{
	struct pattern m;

	actor_connect(s, a, ACTOR_FRIEND);
	message_join(s, a, &m);
	actor_send(s, a, &m);
}

static void do_sends(struct stage *s, struct actor *a)
{
	struct pattern m;

	message_sent(s, a, &m);
	actor_send(s, a, &m);
}

static void do_drops(struct stage *s, struct actor *a)
{
	must_be_connected(s, a);
	stage_note(s, "%-10s drops", a->name);
	ws_client_drop(a->ws);
	actor_disconnect(a);
}

static void do_closes(struct stage *s, struct actor *a)
{
	must_be_connected(s, a);
	stage_note(s, "%-10s -> close frame, status 1000", a->name);
	ws_client_close(a->ws, 1000);
	if (!expect_end(s, a, DIAL_PATIENCE_MS, true))
		stage_fail(s, "the server does not answer the close");
}

static void set_silent(struct stage *s, struct actor *a, bool silent)
{
	must_be_connected(s, a);
	a->silent   = silent;
	a->ws->mute = silent;
}

static void do_falls(struct stage *s, struct actor *a)
{
	set_silent(s, a, true);
}

static void do_speaks(struct stage *s, struct actor *a)
{
	set_silent(s, a, false);
}

static const struct verb {
	const char *name;
	void (*act)(struct stage *s, struct actor *a);
	expectation *expect;
} verbs[] = {
	{ "connects", do_connects, NULL }, { "opens", do_opens, NULL },   { "joins", do_joins, NULL },
	{ "sends", do_sends, NULL },       { "drops", do_drops, NULL },   { "closes", do_closes, NULL },
	{ "falls", do_falls, NULL },       { "speaks", do_speaks, NULL }, { "gets", NULL, expect_gets },
	{ "is", NULL, expect_is },
};

static const struct verb *find_verb(struct stage *s, const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	stage_fail(s, "no such verb");
}

/* --- The server ------------------------------------------------------------------------------------------------- */

/* SIGTERM, reading meanwhile what the server says to everybody, as real clients would. */
static void stop_server(struct stage *s)
{
	int64_t deadline_ms = real_now_ms() + SERVER_STOP_MS;

	server_signal(s->server, SIGTERM);
	while (server_is_running(s->server)) {
		if (real_now_ms() > deadline_ms)
			stage_fail(s, "the server does not end");
		for (size_t i = 0; i < s->actor_count; i++)
			actor_receive(s, &s->actors[i], 0);
		real_sleep_ms(GLANCE_REAL_MS);
	}
	if (s->server->status != 0)
		stage_fail(s, "the server ended with status %d", s->server->status);
}

static void play_server(struct stage *s)
{
	const char *verb = stage_word(s, 1);
	int64_t     ms;

	stage_note(s, "server %s", verb);
	if (strcmp(verb, "stops") == 0 || strcmp(verb, "restarts") == 0)
		stop_server(s);
	if (strcmp(verb, "starts") == 0 || strcmp(verb, "restarts") == 0) {
		server_restart(s->server);
	} else if (strcmp(verb, "is") == 0 && strcmp(stage_word(s, 2), "killed") == 0) {
		server_kill(s->server);
	} else if (strcmp(verb, "loses") == 0 && script_time(&ms, stage_word(s, 5))) {
		server_advance_wall(s->server, ms);
		settle(s);
	} else if (strcmp(verb, "stops") != 0) {
		stage_fail(s, "what is the server to do");
	}
}

/* --- Steps ------------------------------------------------------------------------------------------------------ */

static void play_step(struct stage *s)
{
	const struct script_step *step = s->step;

	if (step->when == SCRIPT_AT)
		move_to(s, step->time_ms);
	if (strcmp(step->words[0], "server") == 0) {
		play_server(s);
		return;
	}

	const struct verb *verb = find_verb(s, step->words[1]);
	struct actor      *a    = stage_actor(s, step->words[0]);

	if (verb->act && step->when == SCRIPT_BY)
		stage_fail(s, "only an expectation can be met by a time");
	if (verb->act)
		verb->act(s, a);
	else if (step->when == SCRIPT_BY)
		expect_by(s, a, verb->expect);
	else if (!verb->expect(s, a, DIAL_PATIENCE_MS))
		stage_fail(s, "got nothing");
}

/* Nobody may have been told more than the script says. */
static void expect_silence(struct stage *s)
{
	char shown[500];

	for (size_t i = 0; i < s->actor_count; i++) {
		struct actor *a = &s->actors[i];

		if (actor_is_connected(a))
			actor_echo(s, a);
		if (a->first)
			stage_fail(s, "behind the script's end %s has %s left", a->name,
			           letter_show(shown, sizeof(shown), a->first));
	}
}

static void read_script(struct stage *s)
{
	char   below[128], path[512], why[200];
	char  *text = NULL;
	size_t cap  = 0;

	snprintf(below, sizeof(below), "scenario/%s", s->file);
	FILE *in = fopen(tests_path(path, sizeof(path), below), "re");

	cr_assert_not_null(in, "%s: %s", path, strerror(errno));
	ssize_t len = getdelim(&text, &cap, '\0', in);

	fclose(in);
	cr_assert_gt(len, 0, "%s is empty", path);
	if (!script_parse(&s->script, text, why, sizeof(why)))
		cr_assert_fail("%s: %s", s->file, why);
	cr_assert_gt(s->script.count, 0, "%s says nothing", s->file);
	free(text);
}

void play_file(const char *name)
{
	static struct stage s; /* not on the stack, so that what a failed script leaves behind is no leak besides */

	s.file   = name;
	s.echoes = 0xec000000;
	read_script(&s);
	s.talk          = open_memstream(&s.talk_text, &s.talk_len);
	s.server        = server_start(NULL);
	s.real_start_ms = real_now_ms();
	for (s.step = s.script.steps; s.step < s.script.steps + s.script.count; s.step++)
		play_step(&s);
	s.step--;
	expect_silence(&s);
	for (size_t i = 0; i < s.actor_count; i++)
		actor_disconnect(&s.actors[i]);
	server_finish(s.server);
	fclose(s.talk);
	free(s.talk_text);
	script_free(&s.script);
}

/*
 * Reload, drain, hand-over, backup.
 */
#include "admin/admin_control.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "os/clock.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_S     3600
#define DEADLINE_S_MAX (7 * 86400)

/* --- Reload --- */

/* Lines become texts of an array. */
static struct json *lines_of(char *text)
{
	struct json *array = json_array_new();
	char        *rest  = text;

	for (char *line = text && array ? strtok_r(rest, "\n", &rest) : NULL; line;
	     line       = strtok_r(NULL, "\n", &rest)) {
		text_make_utf8(line);
		json_add_text(array, line);
	}
	return array;
}

/* Lines that stand in a sentence. */
static void trim_end(char *text)
{
	size_t len = text ? strlen(text) : 0;

	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
}

static enum err on_reload(struct api_call *c, void *part)
{
	static const char *const known[] = { NULL };
	struct admin_control    *control = part;
	struct admin_reload      r       = { 0 };
	AUTO(auto_free) char    *changed = NULL, *restart = NULL, *problems = NULL;
	struct json             *j;
	enum err                 e;

	e = api_body_only(c, known);
	if (e == ERR_OK)
		e = control->reload(&r, control->server, c->dry_run);
	changed  = r.changed;
	restart  = r.restart;
	problems = r.problems;
	if (e == ERR_INVALID) {
		trim_end(problems);
		return api_problem(c, e, "nothing changed: %s", problems && *problems ? problems : "see the log");
	}
	if (e != ERR_OK)
		return e;
	j = api_done();
	if (j) {
		json_put_json(j, "changed", lines_of(changed));
		json_put_json(j, "restart", lines_of(restart));
		json_put_json(j, "problems", lines_of(problems));
	}
	return api_answer(c, 200, j);
}

/* --- Drain --- */

struct looking {
	struct admin_control *control;
	struct admin_drain    drain;
	int64_t               deadline_s; /* of a drain that begins */
	bool                  hands_over;
};

static void look(void *arg)
{
	struct looking *l = arg;

	l->control->look(&l->drain, l->control->server);
}

static void begin_drain(void *arg)
{
	struct looking *l = arg;

	l->control->drain(l->control->server, l->deadline_s, l->hands_over);
	look(l);
}

/* It leaves as soon as this is answered. */
static void note_leaving(void *arg)
{
	struct looking *l = arg;

	look(l);
	if (!l->drain.is_on)
		l->drain.since_ms = clock_wall_ms();
	l->drain.is_on = l->drain.hands_over = true;
}

static void end_drain(void *arg)
{
	struct looking *l = arg;

	l->control->undrain(l->control->server);
	look(l);
}

static void put_left(struct json *j)
{
	static const struct {
		const char *name;
		enum metric metric;
	} rows[] = {
		{ "games", M_TUNNEL_GAMES },         { "hosts", M_TUNNEL_HOSTS },
		{ "friends", M_TUNNEL_FRIENDS },     { "lobbies", M_LOBBIES },
		{ "signal", M_SIGNAL_PEERS },        { "rooms", M_ROOMS_OPEN },
		{ "room_players", M_ROOMS_PLAYERS }, { "p2p_rooms", M_P2P_ROOMS },
		{ "p2p_sessions", M_P2P_SESSIONS },  { "uploads", M_CLOUD_UPLOADS_NOW },
		{ "transfers", M_HTTP_TRANSFERS },
	};
	struct json *left = json_object_new();

	for (size_t i = 0; left && i < COUNT_OF(rows); i++)
		json_put_int(left, rows[i].name, metric_get(rows[i].metric));
	json_put_json(j, "left", left);
}

static struct json *drain_json(const struct admin_drain *d)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_bool(j, "draining", d->is_on);
	json_put_bool(j, "hand_over", d->hands_over);
	api_put_time(j, "since_at", d->is_on ? d->since_ms : 0);
	api_put_time(j, "deadline_at", d->is_on ? d->deadline_ms : 0);
	put_left(j);
	return j;
}

enum err admin_drain_json(struct json **out, const struct api_call *c, struct admin_control *control)
{
	struct looking l = { .control = control };
	enum err       e = api_on_loop(c, look, &l);

	if (e != ERR_OK)
		return e;
	*out = drain_json(&l.drain);
	return *out ? ERR_OK : ERR_NOMEM;
}

static enum err do_drain(struct api_call *c, struct looking *l, void (*run)(void *arg))
{
	enum err     e = api_on_loop(c, c->dry_run ? look : run, l);
	struct json *j;

	if (c->dry_run && run == begin_drain)
		l->drain = (struct admin_drain){ .is_on      = true,
			                         .hands_over = l->hands_over,
			                         .since_ms   = l->drain.is_on ? l->drain.since_ms : 0,
			                         .deadline_ms =
			                                 l->deadline_s ? clock_wall_ms() + l->deadline_s * 1000 : 0 };
	if (c->dry_run && run == note_leaving)
		l->drain = (struct admin_drain){ .is_on = true, .hands_over = true };
	if (c->dry_run && run == end_drain)
		l->drain.is_on = false;
	j = e == ERR_OK ? drain_json(&l->drain) : NULL;

	if (j && run != look)
		json_put_bool(j, "ok", true);
	return e == ERR_OK ? api_answer(c, 200, j) : e;
}

static enum err on_look(struct api_call *c, void *part)
{
	struct looking l = { .control = part };

	return do_drain(c, &l, look);
}

static enum err on_drain(struct api_call *c, void *part)
{
	static const char *const known[] = { "deadline_s", NULL };
	struct looking           l       = { .control = part };
	enum err                 e       = api_body_only(c, known);

	if (e == ERR_OK)
		e = api_body_int(&l.deadline_s, c, "deadline_s", 0, DEADLINE_S_MAX, DEADLINE_S);
	return e == ERR_OK ? do_drain(c, &l, begin_drain) : e;
}

static enum err on_undrain(struct api_call *c, void *part)
{
	struct looking l = { .control = part };

	return do_drain(c, &l, end_drain);
}

/* --- Hand-over --- */

/* At once: the answer comes when the new process stands by, and this one still serves for a moment. */
static enum err hand_over(struct api_call *c, struct admin_control *control, bool only_try)
{
	AUTO(auto_free) char *text = malloc(SUCCESSOR_TEXT_BYTES);
	pid_t                 pid  = 0;
	enum err              e    = text ? control->hand_over(&pid, text, control->server, only_try) : ERR_NOMEM;

	if (e == ERR_INVALID) {
		trim_end(text);
		return api_problem(c, e, "nothing changed, the new process cannot take over: %s", text);
	}
	if (e == ERR_EXISTS)
		return api_problem(c, e, "a hand-over, or a dry run of one, is under way already; wait for its end");
	if (pid > 0)
		api_target(c, "process %ld", (long)pid);
	return e;
}

/* With a deadline it is tried now, so that what would go wrong then is known before anybody is sent away. */
static enum err on_hand_over(struct api_call *c, void *part)
{
	static const char *const known[] = { "deadline_s", NULL };
	struct looking           l       = { .control = part, .hands_over = true };
	enum err                 e       = api_body_only(c, known);

	if (e == ERR_OK)
		e = api_body_int(&l.deadline_s, c, "deadline_s", 0, DEADLINE_S_MAX, 0);
	if (e == ERR_OK)
		e = hand_over(c, part, c->dry_run || l.deadline_s > 0);
	if (e != ERR_OK)
		return e;
	return do_drain(c, &l, l.deadline_s > 0 ? begin_drain : note_leaving);
}

/* --- Backup --- */

/* Over TCP somebody far away may have the token: he gets to write in one folder only. */
static enum err choose_place(char out[PATH_MAX], struct api_call *c)
{
	const char *dir = api_conf(c->api)->backup_dir;
	char        name[1024];
	enum err    e = api_body_text(name, sizeof(name), c, "dest");

	if (e != ERR_OK)
		return e;
	if (!name[0])
		return api_problem(c, ERR_INVALID, "dest is missing: say where the backup is to be written");
	if (c->who->is_unix && name[0] == '/')
		return text_copy(out, PATH_MAX, name) ? ERR_OK : ERR_INVALID;
	if (strchr(name, '/') || name[0] == '.')
		return api_problem(c, ERR_INVALID,
		                   c->who->is_unix
		                           ? "dest is an absolute path, or a plain name below backup.dir"
		                           : "over TCP dest is a plain name, which is a folder below backup.dir");
	if (!dir[0])
		return api_problem(c, ERR_INVALID, "backup.dir is not set, so a name alone says nothing; set it");
	return text_format(out, PATH_MAX, "%s/%s", dir, name) ? ERR_OK : ERR_INVALID;
}

static enum err answer_backup(struct api_call *c, const struct backup_state *s)
{
	struct json *j = api_done();

	if (j) {
		json_put_text(j, "dest", s->dest);
		json_put_int(j, "database_bytes", s->database_bytes);
		json_put_int(j, "blobs", s->blobs);
		json_put_int(j, "blobs_copied", s->blobs_copied);
		json_put_int(j, "bytes_copied", s->bytes_copied);
		json_put_int(j, "damaged", s->damaged);
		json_put_int(j, "took_ms", s->ended_ms - s->began_ms);
	}
	return api_answer(c, 200, j);
}

static enum err on_backup(struct api_call *c, void *part)
{
	static const char *const known[] = { "dest", NULL };
	struct admin_control    *control = part;
	struct backup_state      s       = { 0 };
	char                     dest[PATH_MAX], problem[BACKUP_PROBLEM_BYTES] = "";
	enum err                 e = api_body_only(c, known);

	if (e == ERR_OK)
		e = choose_place(dest, c);
	if (e != ERR_OK)
		return e;
	api_target(c, "%.200s", dest);
	if (c->dry_run) {
		e = backup_try(control->backup, dest, problem);
		text_copy(s.dest, sizeof(s.dest), dest);
	} else {
		e = backup_make(&s, control->backup, dest, problem);
	}
	if (e == ERR_HELD)
		e = ERR_EXISTS;
	if (e == ERR_CLOSED)
		e = ERR_DRAINING;
	if (e != ERR_OK)
		return problem[0] ? api_problem(c, e, "%s", problem) : e;
	return answer_backup(c, &s);
}

static enum err on_backup_look(struct api_call *c, void *part)
{
	struct admin_control *control = part;
	struct backup_state   s;
	struct json          *j = json_object_new();

	backup_look(&s, control->backup);
	if (j) {
		json_put_bool(j, "running", s.is_running);
		if (s.dest[0])
			json_put_text(j, "dest", s.dest);
		else
			json_put_null(j, "dest");
		api_put_time(j, "began_at", s.began_ms);
		api_put_time(j, "ended_at", s.ended_ms);
		if (s.ended_ms)
			json_put_text(j, "result", err_rest(s.result));
		else
			json_put_null(j, "result");
		json_put_int(j, "blobs", s.blobs);
		json_put_int(j, "blobs_done", s.blobs_done);
		json_put_int(j, "damaged", s.damaged);
		api_put_time(j, "last_good_at", s.last_good_ms);
		json_put_int(j, "every_s", s.every_ms / 1000);
	}
	return api_answer(c, 200, j);
}

const struct api_route admin_control_routes[] = {
	{ .method = "POST",
	  .path   = "/admin/v1/reload",
	  .role   = API_OPERATOR,
	  .action = "server.reload",
	  .handle = on_reload,
	  .body   = API_OBJECT },
	{ .method = "GET", .path = "/admin/v1/drain", .role = API_VIEWER, .handle = on_look },
	{ .method = "POST",
	  .path   = "/admin/v1/drain",
	  .role   = API_OPERATOR,
	  .action = "server.drain",
	  .handle = on_drain,
	  .body   = API_OBJECT },
	{ .method = "DELETE",
	  .path   = "/admin/v1/drain",
	  .role   = API_OPERATOR,
	  .action = "server.undrain",
	  .handle = on_undrain },
	{ .method = "POST",
	  .path   = "/admin/v1/handover",
	  .role   = API_OPERATOR,
	  .action = "server.handover",
	  .handle = on_hand_over,
	  .body   = API_OBJECT },
	{ .method = "GET", .path = "/admin/v1/backup", .role = API_VIEWER, .handle = on_backup_look },
	{ .method = "POST",
	  .path   = "/admin/v1/backup",
	  .role   = API_OPERATOR,
	  .action = "backup.make",
	  .handle = on_backup,
	  .body   = API_OBJECT },
	{ 0 },
};

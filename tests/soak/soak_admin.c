/*
 * Operators: a scrape of the metrics each second, requests as scripts and the page make them, bans that come and go, viewers of
 * events, and a backup now and then. What must hold: a ban that was answered holds, over restarts too, and one that was taken back
 * does not.
 */
#include "soak.h"
#include "soak_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BANS = 12, PATH_BYTES = 120, BODY_BYTES = 200, BACKUP_EVERY_MS = 45000, BACKUP_PATIENCE_MS = 180000 };

/* The status; what else is of interest is in out, for soak_answer_fini. */
static int ask(struct soak_answer *out, const char *method, const char *path, const char *body)
{
	int64_t from_ns = soak_now_ns();

	soak_http(out, &(struct soak_ask){ .unix_path = soak.admin_socket,
	                                   .method    = method,
	                                   .path      = path,
	                                   .body      = body,
	                                   .len       = body ? strlen(body) : 0 });
	if (out->status)
		soak_took(SOAK_ADMIN, from_ns);
	return out->status;
}

static bool look(struct soak_actor *a, const char *path, const char *wanted)
{
	struct soak_answer answer;
	int                status = ask(&answer, "GET", path, NULL);
	bool               well   = status == 200 && strstr(answer.body, wanted);

	if (!well)
		soak_fault(a, "%s is answered %d %.60s", path, status, answer.body ? answer.body : "");
	soak_answer_fini(&answer);
	return well;
}

static void scrape(struct soak_actor *a)
{
	look(a, "/metrics", "coopd_");
	soak_pause(a, 800);
}

/* --- Bans --- */

struct bans {
	struct {
		bool     there, gone, doubtful; /* gone: taken back; doubtful: an answer did not come */
		unsigned id;
	} of[BANS];
};

static void ban_value(char out[24], const struct soak_actor *a, unsigned which)
{
	snprintf(out, 24, "203.0.%u.%u", 113 + a->number, which + 1);
}

/* Whether a player from there is turned away: 1 or 0; -1: no answer. */
static int is_refused(const char *address)
{
	struct soak_wire w;
	int              status = soak_dial(&w, NULL, soak.ports.tunnel, 0) ? soak_upgrade(&w, "/", address) : 0;

	soak_hang_up(&w);
	return status == 403 ? 1 : status == 101 ? 0 : -1;
}

static void add_ban(struct soak_actor *a, struct bans *b, unsigned which)
{
	char               body[BODY_BYTES], value[24], id[16];
	struct soak_answer answer;

	ban_value(value, a, which);
	snprintf(body, sizeof(body), "{\"kind\":\"address\",\"value\":\"%s\",\"reason\":\"soak\"}", value);

	int status = ask(&answer, "POST", "/admin/v1/bans", body);

	if (status == 201 && soak_json(id, sizeof(id), answer.body, "id")) {
		b->of[which].there    = true;
		b->of[which].doubtful = b->of[which].gone = false;
		b->of[which].id                           = (unsigned)strtoul(id, NULL, 10);
	} else if (!(status == 409 && b->of[which].doubtful)) {
		b->of[which].doubtful = true;
		soak_fault(a, "a ban is answered %d %.80s", status, answer.body ? answer.body : "");
	}
	soak_answer_fini(&answer);
}

static void remove_ban(struct soak_actor *a, struct bans *b, unsigned which)
{
	char               path[PATH_BYTES];
	struct soak_answer answer;

	snprintf(path, sizeof(path), "/admin/v1/bans/%u", b->of[which].id);

	int status = ask(&answer, "DELETE", path, NULL);

	b->of[which].there    = false;
	b->of[which].gone     = status / 100 == 2;
	b->of[which].doubtful = status / 100 != 2;
	if (status / 100 != 2)
		soak_fault(a, "taking back a ban is answered %d", status);
	soak_answer_fini(&answer);
}

static void check_ban(struct soak_actor *a, const struct bans *b, unsigned which)
{
	char value[24];

	if (b->of[which].doubtful || (!b->of[which].there && !b->of[which].gone))
		return;
	ban_value(value, a, which);

	int refused = is_refused(value);

	if (refused < 0)
		soak_fault(a, "an upgrade gets no answer");
	else
		soak_promise(a, refused == b->of[which].there, "a ban %s",
		             refused ? "that was taken back holds" : "does not hold");
}

static void check_bans(struct soak_actor *a)
{
	for (unsigned i = 0; i < BANS; i++)
		check_ban(a, a->own, i);
}

/* --- An operator at work --- */

static void operate(struct soak_actor *a)
{
	static const char *const paths[] = { "status",
		                             "players?limit=20",
		                             "campaigns?limit=20",
		                             "lobbies",
		                             "games",
		                             "bans",
		                             "audit?limit=20",
		                             "rooms",
		                             "boards",
		                             "drain",
		                             "players?q=0",
		                             "backup" };
	struct bans             *b       = a->own;
	char                     path[PATH_BYTES];
	unsigned                 which = soak_dice(a, BANS);

	switch (soak_dice(a, 8)) {
	case 0:
		if (b->of[which].doubtful)
			break;
		if (b->of[which].there)
			remove_ban(a, b, which);
		else
			add_ban(a, b, which);
		break;
	case 1:
		check_ban(a, b, which);
		break;
	default:
		snprintf(path, sizeof(path), "/admin/v1/%s", paths[soak_dice(a, sizeof(paths) / sizeof(paths[0]))]);
		look(a, path, "{");
	}
	soak_pause(a, 100 + (int)soak_dice(a, 600));
}

/* --- A viewer of events --- */

static void view(struct soak_actor *a)
{
	struct soak_wire    w;
	struct soak_message m;
	int64_t             until_ms = soak_now_ms() + 3000 + soak_dice(a, 30000);
	bool                greeted = false, figures = false;

	if (!soak_dial_unix(&w, soak.events_socket) || soak_upgrade(&w, "/admin/v1/events", NULL) != 101) {
		soak_fault(a, "events cannot be viewed");
		soak_hang_up(&w);
		return;
	}
	while (soak_goes_on(a) && soak_now_ms() < until_ms) {
		m = soak_ws_hear(&w, 300);
		if (m.op == SOAK_WS_NONE && w.late)
			continue;
		if (m.op != SOAK_WS_TEXT)
			break;
		greeted = greeted || memmem(m.data, m.len, "\"op\":\"hello\"", 12);
		figures = figures || memmem(m.data, m.len, "\"op\":\"figures\"", 14);
	}
	if (soak_goes_on(a) && (soak_now_ms() < until_ms || !greeted || !figures))
		soak_fault(a, "a viewer of events %s",
		           greeted && figures ? "is closed" : "gets no hello or no figures");
	soak_hang_up(&w);
}

/* --- Backups --- */

static void back_up(struct soak_actor *a)
{
	char               body[SOAK_PATH_BYTES + 40], damaged[16] = "";
	struct soak_answer answer;
	struct soak_ask    q = { .unix_path   = soak.admin_socket,
		                 .method      = "POST",
		                 .path        = "/admin/v1/backup",
		                 .body        = body,
		                 .patience_ms = BACKUP_PATIENCE_MS };

	soak_pause(a, BACKUP_EVERY_MS / 2 + (int)soak_dice(a, BACKUP_EVERY_MS));
	if (!soak_goes_on(a))
		return;
	q.len = (size_t)snprintf(body, sizeof(body), "{\"dest\":\"%s\"}", soak.backup);
	/* It reads and writes everything, which is no measure of how operators are answered. */
	soak_http(&answer, &q);
	if (answer.status == 200 && soak_json(damaged, sizeof(damaged), answer.body, "damaged") &&
	    strcmp(damaged, "0") == 0)
		soak.backups++;
	else
		soak_fault(a, "a backup is answered %d %.120s", answer.status, answer.body ? answer.body : "");
	soak_answer_fini(&answer);
}

const struct soak_part soak_part_scrape   = { .name = "scrape", .actors = 1, .visit = scrape };
const struct soak_part soak_part_operator = {
	.name = "operator", .actors = 2, .own_bytes = sizeof(struct bans), .visit = operate, .check = check_bans
};
const struct soak_part soak_part_viewer = { .name = "viewer", .actors = 2, .visit = view };
const struct soak_part soak_part_backup = { .name = "backup", .actors = 1, .visit = back_up };

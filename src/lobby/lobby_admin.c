/*
 * Lobbies, for operators: src/admin/PROTOCOL.md.
 *
 * The list is in the order of ids, which no beat changes. The lobbies are under one lock: ids are copied under it, and then the
 * lobbies themselves, a few at a time; filters and JSON are outside.
 */
#include "base/auto.h"
#include "base/metric.h"
#include "lobby/lobby_inside.h"
#include "os/clock.h"
#include "os/log.h"

#include <string.h>

#define HELPING 64 /* lobbies copied under the lock at once */

/* What is shown of one. */
struct shown {
	uint8_t     id[LOBBY_ID_BYTES];
	char        name[LOBBY_TEXT_BYTES(LOBBY_NAME_CHARS)];
	char        world[LOBBY_TEXT_BYTES(LOBBY_WORLD_CHARS)];
	char        version[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)];
	char        game[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)];
	int         players, players_max;
	bool        locked, listed, is_direct, is_proved;
	struct addr last_addr;
	int64_t     made_ms, beat_ms; /* wall */
};

static void copy_lobby(struct shown *to, const struct lobby *l, int64_t ahead_ms)
{
	*to = (struct shown){ .players     = l->players,
		              .players_max = l->players_max,
		              .locked      = l->locked,
		              .listed      = l->listed,
		              .is_direct   = l->is_direct,
		              .is_proved   = l->is_proved,
		              .last_addr   = l->client,
		              .made_ms     = l->made_ms,
		              .beat_ms     = l->beat_ms + ahead_ms };
	memcpy(to->id, l->id, sizeof(to->id));
	memcpy(to->name, l->name, sizeof(to->name));
	memcpy(to->world, l->world, sizeof(to->world));
	memcpy(to->version, l->version, sizeof(to->version));
	memcpy(to->game, l->game, sizeof(to->game));
}

static struct json *lobby_json(const struct shown *l)
{
	struct json *j = json_object_new();
	char         address[ADDR_TEXT_BYTES];

	if (!j)
		return NULL;
	api_put_id(j, "id", l->id);
	api_put_text(j, "name", l->name, strlen(l->name), LOBBY_NAME_CHARS);
	api_put_text(j, "world", l->world, strlen(l->world), LOBBY_WORLD_CHARS);
	api_put_text(j, "game", l->game, strlen(l->game), LOBBY_VERSION_CHARS);
	api_put_text(j, "version", l->version, strlen(l->version), LOBBY_VERSION_CHARS);
	json_put_int(j, "players", l->players);
	json_put_int(j, "players_max", l->players_max);
	json_put_bool(j, "locked", l->locked);
	json_put_bool(j, "listed", l->listed);
	json_put_text(j, "kind", l->is_direct ? "direct" : "brokered");
	json_put_bool(j, "proved", l->is_proved);
	addr_text(address, &l->last_addr);
	if (l->last_addr.family == ADDR_NONE)
		json_put_null(j, "address");
	else
		json_put_text(j, "address", address);
	api_put_time(j, "made_at", l->made_ms);
	api_put_time(j, "beat_at", l->beat_ms);
	return j;
}

/* --- Filters --- */

struct filter {
	char q[API_QUERY_BYTES], game[API_QUERY_BYTES];
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* ASCII, without regard to case. */
static bool begins_nocase(const char *text, const char *with)
{
	for (; *with; text++, with++) {
		if (lower(*text) != lower(*with))
			return false;
	}
	return true;
}

static bool has_nocase(const char *text, const char *part)
{
	for (; *text; text++) {
		if (begins_nocase(text, part))
			return true;
	}
	return *part == '\0';
}

/* Part of the name, or the beginning of the id. */
static bool is_wanted(const struct filter *f, const struct shown *l)
{
	char id[LOBBY_ID_TEXT_BYTES];

	if (f->game[0] && strcmp(f->game, l->game) != 0)
		return false;
	lobby_log_id(id, l->id);
	return has_nocase(l->name, f->q) || begins_nocase(id, f->q);
}

/* --- The list --- */

struct ids {
	uint8_t (*ids)[LOBBY_ID_BYTES];
	size_t count;
};

static int compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, LOBBY_ID_BYTES);
}

static bool is_behind(const struct api_page *p, const struct lobby *l)
{
	return !p->has_after || p->after_len != LOBBY_ID_BYTES || memcmp(l->id, p->after, LOBBY_ID_BYTES) > 0;
}

/* Of those that stand on this page or behind it, in order. Ids are for free(). */
static enum err copy_ids(struct ids *out, struct lobby_master *m, const struct api_page *p)
{
	size_t cap;

	*out = (struct ids){ 0 };
	lobby_lock(m);
	cap = m->state.count;
	lobby_unlock(m);
	out->ids = calloc(cap + 1, sizeof(*out->ids));
	if (!out->ids)
		return ERR_NOMEM;
	lobby_lock(m);
	for (struct list *at = m->state.by_beat.next; at != &m->state.by_beat && out->count < cap; at = at->next) {
		const struct lobby *l = CONTAINER(at, struct lobby, by_beat);

		if (!l->is_pending && is_behind(p, l))
			memcpy(out->ids[out->count++], l->id, LOBBY_ID_BYTES);
	}
	lobby_unlock(m);
	qsort(out->ids, out->count, sizeof(*out->ids), compare_ids);
	return ERR_OK;
}

/* How many of these there are still. */
static size_t copy_some(struct shown *out, struct lobby_master *m, const struct ids *ids, size_t from)
{
	int64_t ahead_ms = clock_wall_ms() - clock_mono_ms();
	size_t  count    = 0;

	lobby_lock(m);
	for (size_t i = from; i < ids->count && i < from + HELPING; i++) {
		const struct lobby *l = lobby_of_id(&m->state, ids->ids[i]);

		if (l)
			copy_lobby(&out[count++], l, ahead_ms);
	}
	lobby_unlock(m);
	return count;
}

static enum err add_lobbies(struct api_page *p, struct lobby_master *m, const struct filter *f, const struct ids *ids)
{
	AUTO(auto_free) struct shown *some = calloc(HELPING, sizeof(*some));

	if (!some)
		return ERR_NOMEM;
	for (size_t from = 0; from < ids->count; from += HELPING) {
		size_t count = copy_some(some, m, ids, from);

		for (size_t i = 0; i < count; i++) {
			if (!is_wanted(f, &some[i]))
				continue;
			if (!api_page_room(p, some[i].id, LOBBY_ID_BYTES))
				return ERR_OK;
			api_page_add(p, lobby_json(&some[i]));
		}
	}
	return ERR_OK;
}

static enum err on_list(struct api_call *c, void *part)
{
	struct filter   f;
	struct api_page p;
	struct ids      ids;
	enum err        e = api_query_text(f.q, c, "q");

	if (e == ERR_OK)
		e = api_query_text(f.game, c, "game");
	if (e == ERR_OK)
		e = api_page_begin(&p, c);
	if (e != ERR_OK)
		return e;
	e = copy_ids(&ids, part, &p);
	if (e == ERR_OK)
		e = add_lobbies(&p, part, &f, &ids);
	free(ids.ids);
	return api_page_end(&p, e);
}

/* --- Removing one --- */

/*
 * Nobody finds it from here on, and its host's next beat is answered as one of an unknown session. When it cannot be written, that
 * is done as soon as it can: only a crash before that brings it back.
 */
static enum err take_out(struct api_call *c, struct lobby_master *m, struct lobby *l)
{
	char     id[LOBBY_ID_TEXT_BYTES];
	enum err e;

	lobby_list_expire(m->list);
	e = lobby_keep_remove(m->keep, l->id);
	lobby_log_id(id, l->id);
	metric_inc(M_LOBBY_REMOVED);
	log_info("lobby", 0, "removed", "lobby=%s live=%lld", id, (long long)lobby_count(m));
	lobby_free(l);
	return e == ERR_OK ? e
	                   : api_problem(c, e, "the lobby is gone for everybody, but the disk does not know it yet");
}

static enum err on_remove(struct api_call *c, void *part)
{
	struct lobby_master *m = part;
	struct shown         shown;
	struct lobby        *l;
	struct json         *j;
	uint8_t              id[LOBBY_ID_BYTES];
	enum err             e = api_path_id(id, c, 0);

	if (e != ERR_OK)
		return e;
	lobby_lock(m);
	l = lobby_of_id(&m->state, id);
	if (l)
		copy_lobby(&shown, l, 0);
	if (l && !c->dry_run)
		lobby_remove(&m->state, l);
	lobby_unlock(m);
	if (!l)
		return ERR_NOT_FOUND;
	e = c->dry_run ? ERR_OK : take_out(c, m, l);
	if (e != ERR_OK)
		return e;
	j = api_done();
	if (j)
		api_put_text(j, "name", shown.name, strlen(shown.name), LOBBY_NAME_CHARS);
	return api_answer(c, 200, j);
}

const struct api_route lobby_admin_routes[] = {
	{ .method = "GET",
	  .path   = "/admin/v1/lobbies",
	  .role   = API_VIEWER,
	  .query  = "limit cursor q game",
	  .handle = on_list },
	{ .method = "DELETE",
	  .path   = "/admin/v1/lobbies/{id}",
	  .role   = API_OPERATOR,
	  .action = "lobby.remove",
	  .handle = on_remove },
	{ 0 },
};

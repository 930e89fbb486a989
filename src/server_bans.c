#include "server_bans.h"

#include "os/clock.h"
#include "os/log.h"
#include "store/ban.h"

#include <stdio.h>

/* One that an operator wrote into the database himself may be none. */
static enum err load(const struct ban_row *row, void *arg)
{
	size_t    *count = arg;
	struct ban b;
	enum err   e = ban_parse(&b, (enum ban_kind)row->kind, row->value);

	if (e == ERR_OK) {
		b.id       = row->id;
		b.until_ms = row->until_ms;
		e          = ban_add(&b);
	}
	*count += e == ERR_OK;
	if (e == ERR_OK || e == ERR_NOMEM)
		return e;
	log_warn("server", 0, "leaves-out", "ban=%lld error=%s", (long long)row->id, err_name(e));
	return ERR_OK;
}

bool server_bans_load(struct store *store)
{
	struct db        *db    = store_db(store);
	struct ban_filter all   = { .kind = -1, .text = "", .now_ms = clock_wall_ms(), .rows = INT64_MAX };
	size_t            count = 0;
	enum err          e     = ban_row_expire(db, all.now_ms);

	if (e == ERR_OK)
		e = ban_row_each(db, &all, load, &count);
	if (e != ERR_OK) {
		fprintf(stderr, "coopd: the bans cannot be read: %s.\n", err_people(e));
		return false;
	}
	if (count > 0)
		log_info("server", 0, "loads", "bans=%zu", count);
	return true;
}

/* Parts first: they tell who plays with the banned one; what is left of an address is then net's. */
size_t server_bans_end(void *arg, const struct ban *b, bool end)
{
	const struct server_bans *s     = arg;
	size_t                    count = ws_ban(s->ws, b, false);

	if (s->tcp)
		count += tcp_ban(s->tcp, b, false);
	count += tunnel_ban(s->tunnel, b, end);
	if (s->cloud)
		count += cloud_ban(s->cloud, b, end);
	if (s->signal)
		count += signal_ban(s->signal, b, end);
	if (s->rooms)
		count += rooms_ban(s->rooms, b, end);
	count += p2p_ban(s->p2p, b, end);
	if (end) {
		ws_ban(s->ws, b, true);
		if (s->tcp)
			tcp_ban(s->tcp, b, true);
	}
	return count;
}

size_t server_bans_end_http(void *arg, const struct ban *b, bool end)
{
	const struct server_bans *s     = arg;
	size_t                    count = 0;

	if (*s->http)
		count += http_ban(*s->http, b, end);
	if (*s->rooms_status)
		count += http_ban(*s->rooms_status, b, end);
	if (s->lobby)
		lobby_ban(s->lobby, b, end); /* lobbies are no connections */
	return count;
}

enum err server_forget_begin(void *arg, const uint8_t id[8])
{
	const struct server_bans *s = arg;

	return tunnel_forget_begin(s->tunnel, id);
}

void server_forget_finish(void *arg, const uint8_t id[8], enum err result)
{
	const struct server_bans *s = arg;

	tunnel_forget_end(s->tunnel, id, result);
}

enum err server_forget_name(void *arg, struct api_call *c, const uint8_t name[16], int64_t *rows)
{
	const struct server_bans *s = arg;

	return s->rooms ? rooms_forget_name(c, s->rooms, name, rows) : ERR_OK;
}

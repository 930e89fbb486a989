#include "admin/admin_figures.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum kind {
	VALUE,     /* the sum of first to last as it is */
	RATE,      /* so many more of them a second */
	COMMIT_50, /* milliseconds, of the last sets together */
	COMMIT_99,
	LAG, /* the largest since the set before */
};

/* clang-format off */
static const struct figure {
	const char *name;
	enum kind   kind;
	enum metric first, last;
	const char *help;
} figures[] = {
	{ "games",              VALUE, M_TUNNEL_GAMES,           M_TUNNEL_GAMES,           "games, those whose host is away included" },
	{ "hosts",              VALUE, M_TUNNEL_HOSTS,           M_TUNNEL_HOSTS,           "hosts connected" },
	{ "friends",            VALUE, M_TUNNEL_FRIENDS,         M_TUNNEL_FRIENDS,         "friends connected" },
	{ "players",            VALUE, M_TUNNEL_PLAYERS,         M_TUNNEL_PLAYERS,         "players with a code" },
	{ "datagrams_up_s",     RATE,  M_TUNNEL_TO_HOST,         M_TUNNEL_TO_HOST,         "from friends to hosts, a second" },
	{ "datagrams_down_s",   RATE,  M_TUNNEL_TO_FRIEND,       M_TUNNEL_TO_FRIEND,       "from hosts to friends, a second" },
	{ "bytes_up_s",         RATE,  M_TUNNEL_TO_HOST_BYTES,   M_TUNNEL_TO_HOST_BYTES,   "the same in bytes" },
	{ "bytes_down_s",       RATE,  M_TUNNEL_TO_FRIEND_BYTES, M_TUNNEL_TO_FRIEND_BYTES, "" },
	{ "drops_tunnel_s",     RATE,  M_TUNNEL_DROPPED_AWAY,    M_TUNNEL_DROPPED_SLOW,    "datagrams, lines and packets dropped a second, by part" },
	{ "drops_ws_s",         RATE,  M_WS_DROPPED_FULL,        M_WS_DROPPED_GONE,        "" },
	{ "drops_signal_s",     RATE,  M_SIGNAL_DROPPED_NO_DEST, M_SIGNAL_DROPPED_BUDGET,  "" },
	{ "drops_rooms_s",      RATE,  M_ROOMS_UDP_SHAPE,        M_ROOMS_UDP_RATE,         "" },
	{ "drops_p2p_s",        RATE,  M_P2P_DROPPED_WAITING,    M_P2P_DROPPED_GONE,       "" },
	{ "drops_udp_s",        RATE,  M_UDP_DROPPED,            M_UDP_DROPPED,            "" },
	{ "lobbies",            VALUE, M_LOBBIES,                M_LOBBIES,                "live lobbies, hidden ones too" },
	{ "signal_peers",       VALUE, M_SIGNAL_PEERS,           M_SIGNAL_PEERS,           "peers registered at signaling" },
	{ "rooms",              VALUE, M_ROOMS_OPEN,             M_ROOMS_OPEN,             "rooms" },
	{ "room_players",       VALUE, M_ROOMS_PLAYERS,          M_ROOMS_PLAYERS,          "players of the rooms" },
	{ "p2p_sessions",       VALUE, M_P2P_SESSIONS,           M_P2P_SESSIONS,           "sessions at /p2p" },
	{ "p2p_rooms",          VALUE, M_P2P_ROOMS,              M_P2P_ROOMS,              "peer-to-peer rooms" },
	{ "ws_connections",     VALUE, M_WS_CONNECTIONS,         M_WS_CONNECTIONS,         "WebSocket connections" },
	{ "http_requests_s",    RATE,  M_HTTP_REQUESTS_2XX,      M_HTTP_REQUESTS_5XX,      "HTTP requests answered a second" },
	{ "store_queue",        VALUE, M_STORE_QUEUE,            M_STORE_QUEUE,            "jobs that wait for the store" },
	{ "commit_p50_ms",      COMMIT_50, M_UP,                 M_UP,                     "commits of the last 10 s: half took at most that long" },
	{ "commit_p99_ms",      COMMIT_99, M_UP,                 M_UP,                     "99 of 100" },
	{ "loop_lag_ms",        LAG,       M_UP,                 M_UP,                     "how late the loop was at most" },
	{ "rss_bytes",          VALUE, M_PROCESS_RESIDENT_BYTES, M_PROCESS_RESIDENT_BYTES, "memory of the process" },
	{ "disk_free_bytes",    VALUE, M_STORE_FREE_BYTES,       M_STORE_FREE_BYTES,       "free where the data folder is" },
	{ "database_bytes",     VALUE, M_STORE_DATABASE_BYTES,   M_STORE_DATABASE_BYTES,   "the database" },
	{ "wal_bytes",          VALUE, M_STORE_WAL_BYTES,        M_STORE_WAL_BYTES,        "its log" },
	{ "blob_bytes",         VALUE, M_BLOBS_BYTES,            M_BLOBS_BYTES,            "the checkpoints' files" },
	{ "quota_used_bytes",   VALUE, M_CLOUD_BYTES,            M_CLOUD_BYTES,            "what checkpoints count, of" },
	{ "quota_max_bytes",    VALUE, M_CLOUD_MAX_BYTES,        M_CLOUD_MAX_BYTES,        "what they may together" },
};
/* clang-format on */

static int64_t sum(const int64_t *values, const struct figure *f)
{
	int64_t all = 0;

	for (unsigned m = f->first; m <= f->last; m++)
		all += values[m];
	return all;
}

struct set {
	const struct admin_figures *before;
	const int64_t              *now;
	struct metric_histogram     commits, lag;
	int64_t                     us; /* since the set before; 0: there was none */
};

static int64_t rate(const struct set *s, const struct figure *f)
{
	int64_t more = sum(s->now, f) - sum(s->before->values, f);

	return s->us > 0 ? (more * 1000000 + s->us / 2) / s->us : 0;
}

static double commit_ms(const struct set *s, double share)
{
	return metric_quantile_ms(&s->before->commits[s->before->turn], &s->commits, share);
}

static void put(char out[ADMIN_FIGURES_BYTES], size_t *used, const struct set *s, const struct figure *f)
{
	char  *at   = out + *used;
	size_t left = ADMIN_FIGURES_BYTES - *used;
	bool   fits = false;

	switch (f->kind) {
	case VALUE:
		fits = text_format(at, left, ",\"%s\":%" PRId64, f->name, sum(s->now, f));
		break;
	case RATE:
		fits = text_format(at, left, ",\"%s\":%" PRId64, f->name, rate(s, f));
		break;
	case COMMIT_50:
		fits = text_format(at, left, ",\"%s\":%.3f", f->name, commit_ms(s, 0.50));
		break;
	case COMMIT_99:
		fits = text_format(at, left, ",\"%s\":%.3f", f->name, commit_ms(s, 0.99));
		break;
	case LAG:
		fits = text_format(at, left, ",\"%s\":%.3f", f->name, metric_quantile_ms(&s->before->lag, &s->lag, 1));
		break;
	}
	assert(fits);
	(void)fits;
	*used += strlen(at);
}

static void read_all(int64_t values[METRIC_COUNT])
{
	for (int m = 0; m < METRIC_COUNT; m++)
		values[m] = metric_get((enum metric)m);
}

size_t admin_figures_next(char out[ADMIN_FIGURES_BYTES], struct admin_figures *f, int64_t wall_ms, int64_t lap_us)
{
	int64_t    now[METRIC_COUNT];
	struct set s = { .before = f, .now = now, .us = f->at_us ? lap_us - f->at_us : 0 };
	char       at[EVENT_TIME_BYTES];
	size_t     used;

	read_all(now);
	metric_read(&s.commits, H_STORE_COMMIT);
	metric_read(&s.lag, H_LOOP_LAG);
	event_time(at, wall_ms);
	text_format(out, ADMIN_FIGURES_BYTES, "{\"op\":\"figures\",\"at\":\"%s\"", at);
	used = strlen(out);
	for (size_t i = 0; i < COUNT_OF(figures); i++)
		put(out, &used, &s, &figures[i]);
	text_copy(out + used, ADMIN_FIGURES_BYTES - used, "}");

	f->at_us            = lap_us;
	f->lag              = s.lag;
	f->commits[f->turn] = s.commits;
	f->turn             = (f->turn + 1) % ADMIN_FIGURES_WINDOW;
	memcpy(f->values, now, sizeof(now));
	return used + 1;
}

const char *admin_figures_name(size_t n)
{
	return n < COUNT_OF(figures) ? figures[n].name : NULL;
}

const char *admin_figures_help(size_t n)
{
	return n < COUNT_OF(figures) ? figures[n].help : NULL;
}

/*
 * How descriptors are shared out.
 */
#include "server_files.h"

#include "net/http.h"
#include "net/tcp.h"

#include <dirent.h>

#define RESERVE      64  /* database, its copies and readers, the loop, log, certificates, and what libraries need */
#define WS_FEWEST    128 /* 64 games of a host and a friend */
#define LEAVING_FEW  64
#define PER_LISTENER 3 /* itself, the library's signal to its thread, and a connection it is about to refuse */
#define PER_TRANSFER 2 /* the file, and its folder while it is synced */
#define PER_VAULT    2 /* files: one that is stored and one that is loaded */
#define VAULTS_FEW   24
#define PEERS_FEW    32 /* registered at the signaling relay */
#define ROOMS_FEW    32 /* connections of the rooms */
#define STREAMS_FEW  4
#define ADMIN_FEW    4 /* at each of the operators' doors */
#define PER_ADMIN    2 /* as many again are on their way out; of viewers, have not shown their token yet */
#define PER_STREAM   4 /* a pipe each way; its sockets count as connections */
#define SHARE \
	10 /* when it is short, one part in so many of what is left is vaults, one peers of signaling, and two are rooms; one at most is operators' */

static int64_t listeners(const struct conf *conf)
{
	size_t count = 0;

	if (conf->admin_enable)
		count += 2 + conf->admin_listen.count + conf->admin_events_listen.count;

	if (conf->http_enable)
		count += conf->http_listen.count + (conf->tls_cert[0] ? conf->http_tls_listen.count : 0);
	if (conf->tunnel_enable)
		count += conf->tunnel_listen.count + conf->tunnel_tls_listen.count;
	if (conf->signal_enable)
		count += conf->signal_listen.count + (conf->tls_cert[0] ? conf->signal_tls_listen.count : 0);
	if (conf->rooms_enable)
		count += 2 * conf->rooms_listen.count + conf->rooms_status_listen.count;
	return (int64_t)count;
}

/* Each address has two ports; no library has a part in them. */
static int64_t p2p_sockets(const struct conf *conf)
{
	if (!conf->p2p_enable || !conf->p2p_listen1[0])
		return 0;
	return conf->p2p_listen2[0] ? 4 : 2;
}

static int64_t rooms_need(const struct conf *conf, const struct server_files *at)
{
	int64_t need = at->rooms_connections;

	if (conf->rooms_relay)
		need += PER_STREAM * at->rooms_streams;
	if (conf->rooms_status_listen.count > 0)
		need += 2 * conf->limits.rooms_status_connections; /* as many again are on their way out */
	return need;
}

/* All but WebSocket connections and vaults, when there are so many of everything. */
static int64_t first_needs(const struct conf *conf, int64_t open, const struct server_files *at)
{
	const struct limits *l    = &conf->limits;
	int64_t              need = open + RESERVE + PER_LISTENER * listeners(conf) + p2p_sockets(conf);

	if (conf->http_enable)
		need += l->http_connections + at->http_leaving + PER_TRANSFER * l->http_transfers;
	if (conf->admin_enable)
		need += PER_ADMIN * (at->admin_connections + at->admin_viewers);
	if (conf->admin_enable && conf->admin_listen.count > 0)
		need += PER_ADMIN * at->admin_tcp_connections;
	if (conf->signal_enable)
		need += l->signal_unproved + at->signal_peers;
	if (conf->rooms_enable)
		need += rooms_need(conf, at);
	if (conf->signal_enable || conf->rooms_enable)
		need += TCP_LEAVING_MAX;
	return need;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Operators are few: what they can use is a small part of what there is soon. Returns what is left of `more`. */
static int64_t share_admin(struct server_files *out, const struct conf *conf, int64_t more)
{
	const struct limits *l    = &conf->limits;
	int64_t              each = more / SHARE / 3 / PER_ADMIN;
	int64_t              was  = out->admin_connections + out->admin_tcp_connections + out->admin_viewers;

	if (!conf->admin_enable)
		return more;
	out->admin_connections = least(l->admin_connections, out->admin_connections + each);
	if (conf->admin_listen.count > 0)
		out->admin_tcp_connections = least(l->admin_tcp_connections, out->admin_tcp_connections + each);
	out->admin_viewers = least(l->admin_viewers, out->admin_viewers + each);
	return more - PER_ADMIN * (out->admin_connections + out->admin_tcp_connections + out->admin_viewers - was);
}

/* A share of what is more than the fewest, at most `more`. */
static void share_peers(struct server_files *out, const struct conf *conf, int64_t more)
{
	if (conf->signal_enable)
		out->signal_peers = least(conf->limits.signal_peers, out->signal_peers + more);
}

/* Half of it for streams, where there are some. */
static void share_rooms(struct server_files *out, const struct conf *conf, int64_t more)
{
	int64_t streams = conf->rooms_relay ? more / 2 / PER_STREAM : 0;

	if (!conf->rooms_enable)
		return;
	out->rooms_streams = least(conf->limits.rooms_streams, out->rooms_streams + streams);
	out->rooms_connections =
		least(conf->limits.rooms_connections, out->rooms_connections + more - PER_STREAM * streams);
}

/* So many are left for WebSocket connections and the files of vaults. */
static void share_rest(struct server_files *out, const struct conf *conf, int64_t left)
{
	int64_t vaults = left / SHARE > VAULTS_FEW ? left / SHARE : VAULTS_FEW;

	if (conf->cloud_enable) {
		out->cloud_vaults = least(out->cloud_vaults, vaults);
		left -= PER_VAULT * out->cloud_vaults;
	}
	out->ws_connections = least(out->ws_connections, left);
	out->http_leaving += least(HTTP_LEAVING_MAX - LEAVING_FEW, left - out->ws_connections);
}

/* As much of everything as limits say. */
static struct server_files all_of(const struct conf *conf)
{
	const struct limits *l = &conf->limits;

	return (struct server_files){ .ws_connections        = l->ws_connections,
		                      .cloud_vaults          = l->cloud_vaults,
		                      .signal_peers          = l->signal_peers,
		                      .rooms_connections     = l->rooms_connections,
		                      .rooms_streams         = l->rooms_streams,
		                      .admin_connections     = l->admin_connections,
		                      .admin_tcp_connections = l->admin_tcp_connections,
		                      .admin_viewers         = l->admin_viewers,
		                      .http_leaving          = HTTP_LEAVING_MAX };
}

/* The fewest with which it starts; of WebSocket and vaults, which come last, still all. */
static struct server_files few_of(const struct conf *conf)
{
	struct server_files few = all_of(conf);

	if (conf->signal_enable)
		few.signal_peers = least(few.signal_peers, PEERS_FEW);
	if (conf->rooms_enable)
		few.rooms_connections = least(few.rooms_connections, ROOMS_FEW);
	if (conf->rooms_enable && conf->rooms_relay)
		few.rooms_streams = least(few.rooms_streams, STREAMS_FEW);
	if (conf->admin_enable)
		few.admin_connections = least(few.admin_connections, ADMIN_FEW);
	if (conf->admin_enable)
		few.admin_viewers = least(few.admin_viewers, ADMIN_FEW);
	if (conf->admin_enable && conf->admin_listen.count > 0)
		few.admin_tcp_connections = least(few.admin_tcp_connections, ADMIN_FEW);
	few.http_leaving = LEAVING_FEW;
	return few;
}

enum err server_files_share(struct server_files *out, const struct conf *conf, int64_t files, int64_t open,
                            FILE *report)
{
	struct server_files all = all_of(conf), few = few_of(conf);
	int64_t             ws     = conf->tunnel_enable ? all.ws_connections : 0;
	int64_t             vaults = conf->tunnel_enable && conf->cloud_enable ? all.cloud_vaults : 0;
	int64_t fewest = first_needs(conf, open, &few) + least(ws, WS_FEWEST) + PER_VAULT * least(vaults, VAULTS_FEW);
	int64_t more;

	all.wanted = few.wanted = first_needs(conf, open, &all) + ws + PER_VAULT * vaults;
	*out                    = files >= all.wanted ? all : few;
	if (files >= all.wanted)
		return ERR_OK;
	if (files < fewest) {
		fprintf(report,
		        "coopd: this process may have %lld files and connections open and needs at least %lld: raise "
		        "LimitNOFILE= (systemd) or ulimit -n, or lower limits.http_connections.\n",
		        (long long)files, (long long)fewest);
		return ERR_LIMIT;
	}
	more = share_admin(out, conf, files - fewest);
	share_peers(out, conf, more / SHARE);
	share_rooms(out, conf, ws > 0 ? 2 * more / SHARE : more - more / SHARE);
	if (ws > 0)
		share_rest(out, conf, files - first_needs(conf, open, out));
	return ERR_OK;
}

int64_t server_files_open(void)
{
	DIR    *dir   = opendir("/proc/self/fd");
	int64_t count = 0;

	if (!dir)
		return 16;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 3; /* the two dots, and the folder itself */
}

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
#define VAULTS_FEW   32
#define PEERS_FEW    64 /* registered at the signaling relay */
#define SHARE \
	10 /* one part in so many of what is left is vaults, and another one peers of signaling, when it is short */

static int64_t listeners(const struct conf *conf)
{
	size_t count = conf->admin_enable ? 1 : 0;

	if (conf->http_enable)
		count += conf->http_listen.count + (conf->tls_cert[0] ? conf->http_tls_listen.count : 0);
	if (conf->tunnel_enable)
		count += conf->tunnel_listen.count + conf->tunnel_tls_listen.count;
	if (conf->signal_enable)
		count += conf->signal_listen.count + (conf->tls_cert[0] ? conf->signal_tls_listen.count : 0);
	return (int64_t)count;
}

/* All but WebSocket connections. */
static int64_t first_needs(const struct conf *conf, int64_t open, int64_t leaving, int64_t peers)
{
	const struct limits *l    = &conf->limits;
	int64_t              need = open + RESERVE + PER_LISTENER * listeners(conf);

	if (conf->http_enable)
		need += l->http_connections + leaving + PER_TRANSFER * l->http_transfers;
	if (conf->admin_enable)
		need += 2 * l->admin_connections; /* as many again are on their way out */
	if (conf->signal_enable)
		need += l->signal_unproved + peers + TCP_LEAVING_MAX;
	return need;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* A share of what is more than the fewest. Returns how many of it are left. */
static int64_t share_peers(struct server_files *out, int64_t more)
{
	int64_t few   = least(out->signal_peers, PEERS_FEW);
	int64_t peers = least(out->signal_peers - few, more / SHARE);

	out->signal_peers = few + peers;
	return peers;
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

enum err server_files_share(struct server_files *out, const struct conf *conf, int64_t files, int64_t open,
                            FILE *report)
{
	int64_t ws     = conf->tunnel_enable ? conf->limits.ws_connections : 0;
	int64_t vaults = conf->tunnel_enable && conf->cloud_enable ? conf->limits.cloud_vaults : 0;
	int64_t first  = first_needs(conf, open, LEAVING_FEW, least(conf->limits.signal_peers, PEERS_FEW));
	int64_t fewest = first + least(ws, WS_FEWEST) + PER_VAULT * least(vaults, VAULTS_FEW);

	*out = (struct server_files){
		.ws_connections = conf->limits.ws_connections,
		.cloud_vaults   = conf->limits.cloud_vaults,
		.signal_peers   = conf->limits.signal_peers,
		.http_leaving   = HTTP_LEAVING_MAX,
		.wanted =
			first_needs(conf, open, HTTP_LEAVING_MAX, conf->limits.signal_peers) + ws + PER_VAULT * vaults,
	};
	if (files >= out->wanted)
		return ERR_OK;
	if (files < fewest) {
		fprintf(report,
		        "coopd: this process may have %lld files and connections open and needs at least %lld: raise "
		        "LimitNOFILE= (systemd) or ulimit -n, or lower limits.http_connections.\n",
		        (long long)files, (long long)fewest);
		return ERR_LIMIT;
	}
	out->http_leaving = LEAVING_FEW;
	if (conf->signal_enable)
		first += share_peers(out, files - fewest);
	if (ws > 0)
		share_rest(out, conf, files - first);
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

/*
 * How descriptors are shared out.
 */
#include "server_files.h"

#include "net/http.h"

#include <dirent.h>

#define RESERVE      64  /* database, its copies and readers, the loop, log, certificates, and what libraries need */
#define WS_FEWEST    128 /* 64 games of a host and a friend */
#define LEAVING_FEW  64
#define PER_LISTENER 3 /* itself, the library's signal to its thread, and a connection it is about to refuse */
#define PER_TRANSFER 2 /* the file, and its folder while it is synced */

/* A WebSocket connection, and the file of the checkpoint it stores or loads. */
static int64_t per_ws(const struct conf *conf)
{
	return conf->cloud_enable ? 2 : 1;
}

static int64_t listeners(const struct conf *conf)
{
	size_t count = conf->admin_enable ? 1 : 0;

	if (conf->http_enable)
		count += conf->http_listen.count + (conf->tls_cert[0] ? conf->http_tls_listen.count : 0);
	if (conf->tunnel_enable)
		count += conf->tunnel_listen.count + conf->tunnel_tls_listen.count;
	return (int64_t)count;
}

/* All but WebSocket connections. */
static int64_t first_needs(const struct conf *conf, int64_t open, int64_t leaving)
{
	const struct limits *l    = &conf->limits;
	int64_t              need = open + RESERVE + PER_LISTENER * listeners(conf);

	if (conf->http_enable)
		need += l->http_connections + leaving + PER_TRANSFER * l->http_transfers;
	if (conf->admin_enable)
		need += 2 * l->admin_connections; /* as many again are on their way out */
	return need;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

enum err server_files_share(struct server_files *out, const struct conf *conf, int64_t files, int64_t open,
                            FILE *report)
{
	int64_t ws    = conf->tunnel_enable ? conf->limits.ws_connections : 0;
	int64_t few   = least(ws, WS_FEWEST);
	int64_t first = first_needs(conf, open, LEAVING_FEW);

	*out = (struct server_files){
		.ws_connections = conf->limits.ws_connections,
		.http_leaving   = HTTP_LEAVING_MAX,
		.wanted         = first_needs(conf, open, HTTP_LEAVING_MAX) + per_ws(conf) * ws,
	};
	if (files >= out->wanted)
		return ERR_OK;
	if (files < first + per_ws(conf) * few) {
		fprintf(report,
		        "coopd: this process may have %lld files and connections open and needs at least %lld: raise "
		        "LimitNOFILE= (systemd) or ulimit -n, or lower limits.http_connections.\n",
		        (long long)files, (long long)(first + per_ws(conf) * few));
		return ERR_LIMIT;
	}
	out->ws_connections = ws ? least(ws, (files - first) / per_ws(conf)) : conf->limits.ws_connections;
	out->http_leaving   = LEAVING_FEW + least(HTTP_LEAVING_MAX - LEAVING_FEW,
	                                          files - first - per_ws(conf) * (ws ? out->ws_connections : 0));
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

/*
 * Only combinations that would hurt without anybody noticing are refused; one that merely makes a limit unreachable
 * (an address may have more connections than the whole server) is the operator's choice.
 */
#include "conf/conf_check.h"

#include "base/auto.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/un.h>

#define UNIX_PATH_BYTES_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

struct check {
	const struct conf *conf;
	const bool        *bad;
	FILE              *report;
	size_t             problems;
};

__attribute__((format(printf, 3, 4))) static void problem(struct check *k, enum conf_row_id id, const char *format, ...)
{
	va_list args;

	fprintf(k->report, "%s: ", k->conf->origins[id].text);
	va_start(args, format);
	vfprintf(k->report, format, args);
	va_end(args);
	fputc('\n', k->report);
	k->problems++;
}

static void check_tls(struct check *k)
{
	const struct conf *c     = k->conf;
	bool               cert  = *c->tls_cert;
	bool               key   = *c->tls_key;
	bool               wants = c->tunnel_tls_listen.count > 0;

	if (k->bad[CONF_ROW_tls_cert] || k->bad[CONF_ROW_tls_key])
		return;
	if (cert && !key)
		problem(k, CONF_ROW_tls_cert, "tls.cert: a certificate needs its private key, tls.key");
	else if (key && !cert)
		problem(k, CONF_ROW_tls_key, "tls.key: a private key needs its certificate, tls.cert");
	else if (wants && !cert)
		problem(k, CONF_ROW_tunnel_tls_listen, "tunnel.tls_listen: needs tls.cert and tls.key");
	else if (c->tls_require && !cert)
		problem(k, CONF_ROW_tls_require, "tls.require: needs tls.cert and tls.key");
}

/* In production nothing is made up that a TURN server or other programs have to know. */
static void check_secret(struct check *k, enum conf_row_id id, const char *variable, const char *whose)
{
	const char *secret = *(char *const *)conf_field_const(k->conf, &conf_rows[id]);

	if (!k->bad[id] && !*secret)
		problem(k, id,
		        "%s.%s: is empty, and in production nobody makes it up; make one with \"openssl rand -hex 32\" "
		        "and set it here or as %s (%s), or set lobby.enable = no",
		        conf_rows[id].section, conf_rows[id].name, variable, whose);
}

static void check_secrets(struct check *k)
{
	if (!k->conf->server_production || !k->conf->lobby_enable)
		return;
	check_secret(k, CONF_ROW_turn_secret, "COOP_TURN_SECRET", "the TURN server gets the same");
	check_secret(k, CONF_ROW_signal_token, "COOP_SIGNALING_TOKEN", "players are told it");
}

static void check_paths(struct check *k)
{
	const char *admin = k->conf->admin_socket;

	if (!k->bad[CONF_ROW_admin_socket] && strlen(admin) > UNIX_PATH_BYTES_MAX)
		problem(k, CONF_ROW_admin_socket,
		        "admin.socket: \"%s\" has %zu bytes; the path of a unix socket has at most %zu, choose a "
		        "shorter server.run",
		        admin, strlen(admin), UNIX_PATH_BYTES_MAX);
}

/* Pairs of limits of which the first may not be above the second. */
static const struct order {
	enum conf_row_id low, high;
	const char      *otherwise;
} orders[] = {
	{ CONF_ROW_limits_tunnel_wait_alone_ms, CONF_ROW_limits_tunnel_wait_ms,
	  "a game without friends would outlive one with friends" },
	{ CONF_ROW_limits_tunnel_to_host_bytes, CONF_ROW_limits_tunnel_burst,
	  "the largest datagrams would never pass" },
	{ CONF_ROW_limits_tunnel_to_friend_bytes, CONF_ROW_limits_tunnel_burst,
	  "the largest datagrams would never pass" },
	{ CONF_ROW_limits_ws_backlog, CONF_ROW_limits_ws_output_total,
	  "one slow connection would use up what all share" },
	{ CONF_ROW_limits_ws_control, CONF_ROW_limits_ws_output_total,
	  "one slow connection would use up what all share" },
};

static void check_order(struct check *k, const struct order *o)
{
	int64_t low  = *(const int64_t *)conf_field_const(k->conf, &conf_rows[o->low]);
	int64_t high = *(const int64_t *)conf_field_const(k->conf, &conf_rows[o->high]);

	if (low <= high || k->bad[o->low] || k->bad[o->high])
		return;
	/* Somebody who wrote one of the two looks for the mistake where he wrote it. */
	bool low_is_default = strcmp(k->conf->origins[o->low].text, "default") == 0;
	problem(k, low_is_default ? o->high : o->low, "limits.%s (%" PRId64 ") is above limits.%s (%" PRId64 "): %s",
	        conf_rows[o->low].name, low, conf_rows[o->high].name, high, o->otherwise);
}

size_t conf_check(const struct conf *c, const bool bad[CONF_ROWS], FILE *report)
{
	struct check k = { .conf = c, .bad = bad, .report = report };

	check_tls(&k);
	check_secrets(&k);
	check_paths(&k);
	for (size_t i = 0; i < COUNT_OF(orders); i++)
		check_order(&k, &orders[i]);
	return k.problems;
}

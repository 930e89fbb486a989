/*
 * Only combinations that would hurt without anybody noticing are refused; one that merely makes a limit unreachable
 * (an address may have more connections than the whole server) is the operator's choice.
 */
#include "conf/conf_check.h"

#include "base/auto.h"
#include "base/text.h"
#include "conf/conf_word.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/un.h>

#define TITLE_BYTES         12 /* of a game of the rooms */
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

/* Somebody who wrote one of two that do not fit looks for the mistake where he wrote it. */
static bool is_default(const struct check *k, enum conf_row_id id)
{
	return strcmp(k->conf->origins[id].text, CONF_ORIGIN_DEFAULT) == 0;
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
static void check_secret(struct check *k, enum conf_row_id id, const char *variable, const char *whose,
                         const char *else_set)
{
	const char *secret = *(char *const *)conf_field_const(k->conf, &conf_rows[id]);

	if (!k->bad[id] && !*secret)
		problem(k, id,
		        "%s.%s: is empty, and in production nobody makes it up; make one with \"openssl rand -hex 32\" "
		        "and set it here or as %s (%s), or set %s = no",
		        conf_rows[id].section, conf_rows[id].name, variable, whose, else_set);
}

static void check_secrets(struct check *k)
{
	const struct conf *c = k->conf;

	if (!c->server_production)
		return;
	if (c->lobby_enable)
		check_secret(k, CONF_ROW_turn_secret, "COOP_TURN_SECRET", "the TURN server gets the same",
		             "lobby.enable");
	if (c->signal_enable || c->lobby_enable)
		check_secret(k, CONF_ROW_signal_token, "COOP_SIGNALING_TOKEN", "players are told it",
		             "signal.enable and lobby.enable");
}

static void check_socket(struct check *k, enum conf_row_id id, const char *path)
{
	if (!k->bad[id] && strlen(path) > UNIX_PATH_BYTES_MAX)
		problem(k, id,
		        "%s.%s: \"%s\" has %zu bytes; the path of a unix socket has at most %zu, choose a shorter "
		        "server.run",
		        conf_rows[id].section, conf_rows[id].name, path, strlen(path), UNIX_PATH_BYTES_MAX);
}

static void check_paths(struct check *k)
{
	const struct conf *c = k->conf;

	check_socket(k, CONF_ROW_admin_socket, c->admin_socket);
	check_socket(k, CONF_ROW_admin_events_socket, c->admin_events_socket);
	if (c->admin_enable && !k->bad[CONF_ROW_admin_socket] && !k->bad[CONF_ROW_admin_events_socket] &&
	    strcmp(c->admin_socket, c->admin_events_socket) == 0)
		problem(k, CONF_ROW_admin_events_socket, "admin.events_socket: is the same as admin.socket");
}

/* What players' programs are told as it is: one that they cannot read leaves them without a way to each other. */
static const struct form {
	enum conf_row_id id;
	const char      *begins[3]; /* one of these; none: with the place itself */
	bool             is_page;   /* something stands behind that; else a place */
	bool             needs_port;
	const char      *how;
} forms[] = {
	{ CONF_ROW_turn_uri,
	  { "turn:", "turns:" },
	  .how = "is no TURN server; write turn:host:port or turns:host:port, and no transport behind" },
	{ CONF_ROW_stun_uri,
	  { "stun:", "stuns:" },
	  .how = "is no STUN server; write stun:host:port or stuns:host:port, and nothing behind" },
	{ CONF_ROW_signal_url, .needs_port = true,
	  .how = "is no place to connect to; write host:port, without a scheme" },
	{ CONF_ROW_latest_url,
	  { "https://", "http://" },
	  .is_page = true,
	  .how     = "is no page; write https:// or http:// and what follows" },
};

/* Where the beginning ends; NULL: it is another one. */
static const char *skip_beginning(const struct form *f, const char *text)
{
	if (!f->begins[0])
		return text;
	for (const char *const *b = f->begins; *b; b++) {
		if (strncmp(text, *b, strlen(*b)) == 0)
			return text + strlen(*b);
	}
	return NULL;
}

static void check_form(struct check *k, const struct form *f)
{
	const struct conf_row *row  = &conf_rows[f->id];
	const char            *text = *(char *const *)conf_field_const(k->conf, row);
	const char            *rest = skip_beginning(f, text);
	char                   shown[100];

	if (k->bad[f->id] || !*text || (rest && (f->is_page ? *rest != '\0' : conf_word_is_place(rest, f->needs_port))))
		return;
	text_escape(shown, sizeof(shown), text, strlen(text));
	problem(k, f->id, "%s.%s: \"%s\" %s", row->section, row->name, shown, f->how);
}

/* Fields that clients send themselves: a proxy passes them on, and then everybody would be whoever he says. */
static void check_header(struct check *k)
{
	static const char *const clients[] = { "Host",          "Connection",      "Content-Length",    "Content-Type",
		                               "Authorization", "Origin",          "Transfer-Encoding", "User-Agent",
		                               "Accept",        "Accept-Encoding", "Accept-Language",   "Cookie",
		                               "Referer",       "Range",           "If-Match",          "If-None-Match",
		                               "Upgrade",       "Expect",          "Cache-Control" };
	const char              *name      = k->conf->http_client_address_header;

	for (size_t i = 0; i < COUNT_OF(clients) && !k->bad[CONF_ROW_http_client_address_header]; i++) {
		if (text_same_nocase(name, clients[i]))
			problem(k, CONF_ROW_http_client_address_header,
			        "http.client_address_header: \"%s\" is a field that every client sends; name the one "
			        "that "
			        "your proxy sets, such as X-Forwarded-For",
			        clients[i]);
	}
}

/* A longer title is none that a game could say. */
static void check_titles(struct check *k)
{
	const struct conf_list *titles = &k->conf->rooms_titles;
	char                    shown[100];

	for (size_t i = 0; i < titles->count && !k->bad[CONF_ROW_rooms_titles]; i++) {
		if (strlen(titles->words[i]) <= TITLE_BYTES)
			continue;
		text_escape(shown, sizeof(shown), titles->words[i], strlen(titles->words[i]));
		problem(k, CONF_ROW_rooms_titles,
		        "rooms.titles: \"%s\" is too long for a title, which has at most %d bytes", shown, TITLE_BYTES);
	}
}

/* Where the server listens. */
struct place {
	enum conf_row_id id;
	const char      *word;
	uint8_t          addr[sizeof(struct in6_addr)];
	bool             is_ipv6;
	int64_t          port;
};

/* The word has its form already. False: any free port, so that it meets no other. */
static bool read_place(struct place *p, enum conf_row_id id, const char *word)
{
	const char *colon = strrchr(word, ':');
	char        host[INET6_ADDRSTRLEN + 2];
	size_t      len;

	*p = (struct place){ .id = id, .word = word, .is_ipv6 = *word == '[' };
	if (!colon || text_to_int(&p->port, colon + 1, 1, 65535) != ERR_OK)
		return false;
	word += p->is_ipv6;
	len = (size_t)(colon - word) - p->is_ipv6;
	return len < sizeof(host) && text_format(host, sizeof(host), "%.*s", (int)len, word) &&
	       inet_pton(p->is_ipv6 ? AF_INET6 : AF_INET, host, p->addr) == 1;
}

static bool is_same_place(const struct place *a, const struct place *b)
{
	return a->is_ipv6 == b->is_ipv6 && a->port == b->port && memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

#define LISTENERS 8

/* The words of what is listened on with these settings. */
static size_t list_listeners(const struct check *k, enum conf_row_id ids[LISTENERS])
{
	const struct conf *c = k->conf;
	const struct {
		enum conf_row_id id;
		bool             is_used;
	} all[]      = { { CONF_ROW_http_listen, c->http_enable },
		         { CONF_ROW_http_tls_listen, c->http_enable && *c->tls_cert },
		         { CONF_ROW_tunnel_listen, c->tunnel_enable },
		         { CONF_ROW_tunnel_tls_listen, c->tunnel_enable },
		         { CONF_ROW_signal_listen, c->signal_enable },
		         { CONF_ROW_signal_tls_listen, c->signal_enable && *c->tls_cert },
		         { CONF_ROW_rooms_listen, c->rooms_enable },
		         { CONF_ROW_rooms_status_listen, c->rooms_enable } };
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		if (all[i].is_used && !k->bad[all[i].id])
			ids[count++] = all[i].id;
	}
	return count;
}

static const struct conf_list *words_of(const struct check *k, enum conf_row_id id)
{
	return conf_field_const(k->conf, &conf_rows[id]);
}

/* Says it when one of those before is the same as word number at of ids[which]; for the first of them. */
static void check_place(struct check *k, const enum conf_row_id *ids, size_t which, size_t at)
{
	struct place p, other;

	if (!read_place(&p, ids[which], words_of(k, ids[which])->words[at]))
		return;
	for (size_t i = 0; i <= which; i++) {
		const struct conf_list *list = words_of(k, ids[i]);

		for (size_t n = 0; n < (i < which ? list->count : at); n++) {
			if (!read_place(&other, ids[i], list->words[n]) || !is_same_place(&p, &other))
				continue;
			problem(k, is_default(k, p.id) ? other.id : p.id,
			        "%s.%s: %s is in %s.%s already, and only one can listen there", conf_rows[p.id].section,
			        conf_rows[p.id].name, p.word, conf_rows[other.id].section, conf_rows[other.id].name);
			return;
		}
	}
}

static void check_places(struct check *k)
{
	enum conf_row_id ids[LISTENERS];
	size_t           count = list_listeners(k, ids);

	for (size_t i = 0; i < count; i++) {
		for (size_t n = 0; n < words_of(k, ids[i])->count; n++)
			check_place(k, ids, i, n);
	}
}

/* Peer to peer: addresses of this machine, what clients are told instead, UDP ports */

/* One setting of an address, which is numeric and IPv4: packets have to leave from the very address that was asked. */
struct p2p_ip {
	enum conf_row_id id;
	bool             is_set, is_good;
	uint8_t          ip[sizeof(struct in_addr)];
};

static bool is_loopback_ip(const struct p2p_ip *a)
{
	return a->ip[0] == 127;
}

/* One of a machine: not "any", not a group, not everybody. */
static bool is_unicast_ip(const struct p2p_ip *a)
{
	return a->ip[0] != 0 && a->ip[0] < 224;
}

static struct p2p_ip read_ip(struct check *k, enum conf_row_id id)
{
	const struct conf_row *row  = &conf_rows[id];
	const char            *text = *(char *const *)conf_field_const(k->conf, row);
	struct p2p_ip          a    = { .id = id, .is_set = *text != '\0' };
	char                   shown[100];

	if (k->bad[id] || !a.is_set)
		return a;
	a.is_good = inet_pton(AF_INET, text, a.ip) == 1 && is_unicast_ip(&a);
	if (a.is_good)
		return a;
	text_escape(shown, sizeof(shown), text, strlen(text));
	problem(k, id, "%s.%s: \"%s\" is no IPv4 address of one machine; write it in numbers, like 203.0.113.1",
	        row->section, row->name, shown);
	return a;
}

static bool is_same_ip(const struct p2p_ip *a, const struct p2p_ip *b)
{
	return a->is_good && b->is_good && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

/* Clients would take one address for the other, or one that they cannot reach for the second. */
static void check_second(struct check *k, const struct p2p_ip *one, const struct p2p_ip *two, const struct p2p_ip *as1,
                         const struct p2p_ip *as2)
{
	enum conf_row_id blamed = is_default(k, two->id) ? one->id : two->id;

	if (is_same_ip(one, two))
		problem(k, blamed, "p2p.listen2: is the same as p2p.listen1; the NAT check needs two addresses");
	else if (one->is_good && two->is_good && is_loopback_ip(one) != is_loopback_ip(two))
		problem(k, blamed,
		        "p2p.listen2: of it and p2p.listen1 one is loopback and the other is not, so that no client "
		        "reaches both; set both, or leave p2p.listen2 empty");
	else if (as1->is_set != as2->is_set)
		problem(k, as1->is_set ? as1->id : as2->id,
		        "p2p.%s: is set and p2p.%s is not; with two addresses clients are told another one for both or "
		        "for none",
		        conf_rows[as1->is_set ? as1->id : as2->id].name,
		        conf_rows[as1->is_set ? as2->id : as1->id].name);
	else if (is_same_ip(as1, as2))
		problem(k, as2->id, "p2p.public2: is the same as p2p.public1; the NAT check needs two addresses");
}

/* TCP ports are others. */
static void check_p2p_ports(struct check *k, const struct p2p_ip *listen)
{
	const struct conf_list *rooms    = &k->conf->rooms_listen;
	enum conf_row_id        ids[]    = { CONF_ROW_p2p_port, CONF_ROW_p2p_alt_port };
	const int64_t           ports[]  = { k->conf->p2p_port, k->conf->p2p_alt_port };
	bool                    by_rooms = k->conf->rooms_enable && !k->bad[CONF_ROW_rooms_listen];

	for (size_t i = 0; listen->is_good && i < COUNT_OF(ids); i++) {
		struct place p, mine = { .id = ids[i], .port = ports[i] };

		memcpy(mine.addr, listen->ip, sizeof(listen->ip));
		for (size_t n = 0; by_rooms && !k->bad[ids[i]] && n < rooms->count; n++) {
			if (read_place(&p, CONF_ROW_rooms_listen, rooms->words[n]) && is_same_place(&p, &mine))
				problem(k, is_default(k, ids[i]) ? CONF_ROW_rooms_listen : ids[i],
				        "p2p.%s: %s is in rooms.listen already, which takes UDP too",
				        conf_rows[ids[i]].name, p.word);
		}
	}
}

static void check_p2p(struct check *k)
{
	const struct conf *c = k->conf;
	struct p2p_ip      one, two, as1, as2;

	if (!c->p2p_enable)
		return;
	one = read_ip(k, CONF_ROW_p2p_listen1);
	two = read_ip(k, CONF_ROW_p2p_listen2);
	as1 = read_ip(k, CONF_ROW_p2p_public1);
	as2 = read_ip(k, CONF_ROW_p2p_public2);
	if (c->p2p_port != 0 && c->p2p_port == c->p2p_alt_port)
		problem(k, is_default(k, CONF_ROW_p2p_alt_port) ? CONF_ROW_p2p_port : CONF_ROW_p2p_alt_port,
		        "p2p.alt_port: is the same as p2p.port; the NAT check needs two ports");
	if (c->p2p_second_required && !(one.is_set && two.is_set))
		problem(k, CONF_ROW_p2p_second_required, "p2p.second_required: needs p2p.listen1 and p2p.listen2");
	if (two.is_set && !one.is_set && !is_default(k, two.id))
		problem(k, two.id, "p2p.listen2: needs p2p.listen1, without which there is no UDP at all");
	if (one.is_set && two.is_set)
		check_second(k, &one, &two, &as1, &as2);
	check_p2p_ports(k, &one);
	if (one.is_set)
		check_p2p_ports(k, &two);
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
	{ CONF_ROW_limits_lobby_evict_ms, CONF_ROW_limits_lobby_ttl_ms,
	  "a lobby would be gone before it could make room" },
	{ CONF_ROW_limits_rooms_output, CONF_ROW_limits_rooms_output_total,
	  "one slow player would use up what all share" },
	{ CONF_ROW_limits_p2p_ping_ms, CONF_ROW_limits_p2p_silence_ms, "sessions would end before they were asked" },
	{ CONF_ROW_limits_p2p_push_burst, CONF_ROW_limits_p2p_waiting,
	  "one player could cut off another by what he sends" },
	{ CONF_ROW_limits_p2p_drop_waiting, CONF_ROW_limits_p2p_waiting,
	  "sessions would be closed before a frame was dropped" },
	{ CONF_ROW_limits_rooms_message_burst, CONF_ROW_limits_rooms_output,
	  "one player could cut off another by what he says" },
};

static void check_order(struct check *k, const struct order *o)
{
	int64_t low  = *(const int64_t *)conf_field_const(k->conf, &conf_rows[o->low]);
	int64_t high = *(const int64_t *)conf_field_const(k->conf, &conf_rows[o->high]);

	if (low <= high || k->bad[o->low] || k->bad[o->high])
		return;
	problem(k, is_default(k, o->low) ? o->high : o->low,
	        "limits.%s (%" PRId64 ") is above limits.%s (%" PRId64 "): %s", conf_rows[o->low].name, low,
	        conf_rows[o->high].name, high, o->otherwise);
}

/* A folder whose place depends on where coopd was started is none for backups. */
static void check_backup(struct check *k)
{
	const char *dir = k->conf->backup_dir;

	if (k->conf->backup_every == 0 || k->bad[CONF_ROW_backup_every] || k->bad[CONF_ROW_backup_dir])
		return;
	if (!*dir)
		problem(k, CONF_ROW_backup_every, "backup.every: needs backup.dir, the folder to write to");
	else if (*dir != '/')
		problem(k, CONF_ROW_backup_dir,
		        "backup.dir: must be a whole path, from / on, when backup.every is set");
}

size_t conf_check(const struct conf *c, const bool bad[CONF_ROWS], FILE *report)
{
	struct check k = { .conf = c, .bad = bad, .report = report };

	check_tls(&k);
	check_secrets(&k);
	check_paths(&k);
	check_header(&k);
	check_titles(&k);
	check_places(&k);
	check_p2p(&k);
	check_backup(&k);
	for (size_t i = 0; i < COUNT_OF(forms); i++)
		check_form(&k, &forms[i]);
	for (size_t i = 0; i < COUNT_OF(orders); i++)
		check_order(&k, &orders[i]);
	return k.problems;
}

#include "coopctl/doctor.h"

#include "base/auto.h"
#include "base/text.h"
#include "coopctl/print.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_S            INT64_C(86400)
#define CERT_SOON_S      (14 * DAY_S)
#define CERT_LATE_S      (3 * DAY_S)
#define BACKUP_OLD_S     (8 * DAY_S)
#define CLOCK_OFF_MAX_MS 2000
#define UPGRADED         101

const char *const doctor_words[] = {
	[DOCTOR_OK] = "ok", [DOCTOR_WARNING] = "warning", [DOCTOR_PROBLEM] = "problem", [DOCTOR_SKIPPED] = "skipped"
};

/* --- Saying it --- */

__attribute__((format(printf, 3, 4))) static void find(struct doctor_finding *out, enum doctor_state state,
                                                       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	out->state     = state;
	out->advice[0] = '\0';
	text_formatv(out->message, sizeof(out->message), format, args);
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void advise(struct doctor_finding *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_formatv(out->advice, sizeof(out->advice), format, args);
	va_end(args);
}

/* Adds ", TEXT" to a list, as long as there is room. */
static void list(char *out, size_t cap, const char *text)
{
	size_t len = strlen(out);

	text_format(out + len, cap - len, "%s%s", len > 0 ? ", " : "", text);
}

/* --- The server --- */

static void judge_api(struct doctor_finding *out, const struct doctor_facts *f)
{
	if (f->is_reached) {
		find(out, DOCTOR_OK, "the API answers; this is coopd %s", f->version);
		return;
	}
	find(out, DOCTOR_PROBLEM, "the API does not answer: %s", f->why);
	advise(out, "see whether coopd runs and what its log says last (systemctl status coopd, journalctl -u coopd)");
}

static void judge_state(struct doctor_finding *out, const struct doctor_facts *f)
{
	if (strcmp(f->state, "failing") == 0) {
		find(out, DOCTOR_PROBLEM, "coopd cannot serve players: it is failing");
		advise(out, "see what is said of the store below, and coopd's log");
	} else if (strcmp(f->state, "draining") == 0) {
		find(out, DOCTOR_WARNING, "coopd is draining: nobody can begin anything");
		advise(out, "coopctl drain --cancel takes that back");
	} else if (strcmp(f->state, "ready") == 0) {
		find(out, DOCTOR_OK, "coopd is ready");
	} else {
		find(out, DOCTOR_WARNING, "coopd is %s", f->state);
		advise(out, "wait a moment and look again");
	}
}

static void judge_store(struct doctor_finding *out, const struct doctor_facts *f)
{
	if (f->is_failing || strcmp(f->store, "failing") == 0) {
		find(out, DOCTOR_PROBLEM, "the store fails: what players do is not kept");
		advise(out, "look for disk errors (dmesg, coopd's log), make sure that there is space, then start "
		            "coopd again");
	} else if (strcmp(f->store, "slow") == 0) {
		find(out, DOCTOR_WARNING, "the store is slow: commits take long");
		advise(out, "see what else uses the disk (iostat, coopctl top)");
	} else {
		find(out, DOCTOR_OK, "the store keeps what it is told");
	}
}

static void judge_integrity(struct doctor_finding *out, const struct doctor_facts *f)
{
	if (f->damaged > 0 || f->missing > 0) {
		find(out, DOCTOR_PROBLEM,
		     "%lld checkpoints were found damaged since coopd started, %lld files are missing",
		     (long long)f->damaged, (long long)(f->missing > 0 ? f->missing : 0));
		advise(out, "stop coopd and run coopd --verify-blobs, which names them; get them from a backup");
		return;
	}
	find(out, DOCTOR_OK, "no damage was found in database and checkpoints%s",
	     f->missing < 0 ? "; whether files are missing was not counted yet" : "");
}

static void judge_space(struct doctor_finding *out, const struct doctor_facts *f)
{
	char is[32], floor[32];

	print_bytes(is, sizeof(is), f->free_bytes);
	print_bytes(floor, sizeof(floor), f->free_floor);
	if (f->free_bytes < f->free_floor) {
		find(out, DOCTOR_PROBLEM,
		     "%s are free, less than limits.store_free_floor of %s: checkpoints are refused", is, floor);
		advise(out, "make room where the data folder is, or coopctl blobs and coopctl quota to keep less");
	} else if (f->free_bytes < 2 * f->free_floor) {
		find(out, DOCTOR_WARNING, "%s are free; at %s checkpoints will be refused", is, floor);
		advise(out, "make room where the data folder is, soon");
	} else {
		find(out, DOCTOR_OK, "%s are free", is);
	}
}

static void judge_wal(struct doctor_finding *out, const struct doctor_facts *f)
{
	char is[32], max[32];

	print_bytes(is, sizeof(is), f->wal_bytes);
	print_bytes(max, sizeof(max), f->wal_max);
	if (f->wal_bytes < f->wal_max) {
		find(out, DOCTOR_OK, "the database's log (WAL) has %s", is);
		return;
	}
	find(out, DOCTOR_WARNING, "the database's log (WAL) has %s, more than limits.store_wal_max of %s", is, max);
	advise(out, "something reads the database for long: end every sqlite3 shell and copy of it, then it shrinks");
}

/* Two missed ones are no accident. */
static void judge_schedule(struct doctor_finding *out, const struct doctor_facts *f)
{
	int64_t age_s = f->now_s - f->backup_good_s;
	char    age[32], every[32];

	print_duration(age, sizeof(age), age_s > 0 ? age_s : 0);
	print_duration(every, sizeof(every), f->backup_every_s);
	if (f->backup_good_s == 0) {
		find(out, DOCTOR_WARNING, "no backup was made yet, though one is due every %s", every);
		advise(out, "the first comes a minute after the start at most; then see coopd's log");
	} else if (age_s > 2 * f->backup_every_s + 3600) {
		find(out, DOCTOR_PROBLEM, "the last good backup is %s old, though one is due every %s", age, every);
		advise(out, "see coopd's log why; mostly the disk of backup.dir is full or not there");
	} else {
		find(out, DOCTOR_OK, "the last good backup is %s old; one is due every %s", age, every);
	}
}

static void judge_backup(struct doctor_finding *out, const struct doctor_facts *f)
{
	int64_t age_s = f->now_s - f->backup_at_s;
	char    age[32];

	print_duration(age, sizeof(age), age_s > 0 ? age_s : 0);
	if (f->backup_runs) {
		find(out, DOCTOR_OK, "a backup is being made");
	} else if (f->backup == LOOK_OK && strcmp(f->backup_result, "ok") != 0) {
		find(out, DOCTOR_PROBLEM, "the last backup failed: %s", f->backup_result);
		advise(out, "see coopctl backup --status and coopd's log, then make another");
	} else if (f->backup_every_s > 0) {
		judge_schedule(out, f);
	} else if (f->backup == LOOK_NONE && !f->is_production) {
		find(out, DOCTOR_SKIPPED, "no backup was made since coopd started, and this is no production");
	} else if (f->backup == LOOK_NONE) {
		find(out, DOCTOR_WARNING, "no backup was made since coopd started");
		advise(out, "coopctl backup DEST makes one; let a timer or backup.every do it daily");
	} else if (f->backup == LOOK_FAILED) {
		find(out, DOCTOR_SKIPPED, "the server does not say when the last backup was");
	} else if (age_s > BACKUP_OLD_S) {
		find(out, DOCTOR_WARNING, "the last backup is %s old", age);
		advise(out, "coopctl backup DEST makes another; let a timer or backup.every do it daily");
	} else {
		find(out, DOCTOR_OK, "the last backup is %s old, and good", age);
	}
}

static void judge_clock(struct doctor_finding *out, const struct doctor_facts *f)
{
	int64_t off = f->clock_off_ms < 0 ? -f->clock_off_ms : f->clock_off_ms;

	if (off > CLOCK_OFF_MAX_MS) {
		find(out, DOCTOR_WARNING, "the server's clock is %lld s %s this machine's", (long long)(off / 1000),
		     f->clock_off_ms > 0 ? "ahead of" : "behind");
		advise(out, "let both machines take the time from the network (systemd-timesyncd, chrony)");
	} else if (f->is_here && !f->is_clock_synced) {
		find(out, DOCTOR_WARNING, "nothing keeps this machine's clock right, as far as its kernel knows");
		advise(out, "let it take the time from the network (systemd-timesyncd, chrony); in a container the "
		            "host does");
	} else {
		find(out, DOCTOR_OK, f->is_here ? "the clock is kept right" : "the clocks here and there agree");
	}
}

/* --- Listeners --- */

static void judge_listeners(struct doctor_finding *out, const struct doctor_facts *f)
{
	char   dead[DOCTOR_TEXT_BYTES - 120] = "", one[DOCTOR_ADDRESS_BYTES + 140];
	size_t tried                         = 0;

	if (!f->is_here) {
		find(out, DOCTOR_SKIPPED, "listeners can be tried only on the server's machine");
		return;
	}
	for (size_t i = 0; i < f->listener_count; i++) {
		const struct doctor_listener *l = &f->listeners[i];

		tried += !l->is_udp;
		if (l->is_udp || l->answers)
			continue;
		text_format(one, sizeof(one), "%s %s (%s)", l->part, l->address, l->why);
		list(dead, sizeof(dead), one);
	}
	if (tried == 0) {
		find(out, DOCTOR_WARNING, "coopd listens nowhere");
		advise(out, "see coopctl settings for the listeners");
	} else if (*dead) {
		find(out, DOCTOR_PROBLEM, "does not answer: %s", dead);
		advise(out,
		       "look in coopd's log for the reason, and whether a firewall on this machine drops connections");
	} else {
		find(out, DOCTOR_OK, "all %zu listeners over TCP and unix sockets answer", tried);
	}
}

static void judge_stun(struct doctor_finding *out, const struct doctor_facts *f)
{
	char        silent[DOCTOR_TEXT_BYTES - 120] = "";
	const char *first                           = NULL;
	bool        differ                          = false;

	if (!f->is_here) {
		find(out, DOCTOR_SKIPPED, "STUN is tried only on the server's machine");
		return;
	}
	if (f->stun_off || f->stun_count == 0) {
		find(out, DOCTOR_SKIPPED, "STUN is off: %s", f->stun_off ? f->stun_off : "p2p.listen1 is not set");
		return;
	}
	for (size_t i = 0; i < f->stun_count; i++) {
		const struct doctor_stun *s = &f->stun[i];

		if (!s->answers)
			list(silent, sizeof(silent), s->address);
		else if (!first)
			first = s->mapped;
		else
			differ = differ || strcmp(first, s->mapped) != 0;
	}
	if (*silent) {
		find(out, DOCTOR_PROBLEM, "no answer over UDP from %s", silent);
		advise(out, "let UDP to these ports through every firewall, on this machine and at its provider");
	} else if (differ) {
		find(out, DOCTOR_WARNING,
		     "the STUN addresses do not agree on where a packet of this machine came from");
		advise(out, "something between rewrites addresses (NAT, a container's network): put p2p.listen1 and "
		            "p2p.listen2 on "
		            "the machine's own addresses");
	} else {
		find(out, DOCTOR_OK, "all %zu UDP addresses answer STUN and agree", f->stun_count);
	}
}

/* --- Certificates --- */

/* "60 days, until 2027-01-30" */
static void print_left(char *out, size_t cap, const struct doctor_cert *c, int64_t now_s)
{
	time_t    until = (time_t)c->until_s;
	struct tm tm    = { 0 };
	char      left[32];

	print_duration(left, sizeof(left), c->until_s - now_s);
	gmtime_r(&until, &tm);
	text_format(out, cap, "%s, until %04d-%02d-%02d", left, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

/* What is wrong with its dates; true: nothing. */
static bool judge_dates(struct doctor_finding *out, const struct doctor_cert *c, int64_t now_s, const char *whose)
{
	int64_t left = c->until_s - now_s;
	char    text[32];

	print_duration(text, sizeof(text), left < 0 ? -left : left);
	if (c->from_s > now_s) {
		find(out, DOCTOR_PROBLEM, "the certificate of %s is not valid yet", whose);
		advise(out, "see whether this machine's clock is right");
	} else if (left <= 0) {
		find(out, DOCTOR_PROBLEM, "the certificate of %s ended %s ago", whose, text);
		advise(out, "renew it, then coopctl reload (or reload the proxy that has it)");
	} else if (left < CERT_SOON_S) {
		find(out, left < CERT_LATE_S ? DOCTOR_PROBLEM : DOCTOR_WARNING, "the certificate of %s ends in %s",
		     whose, text);
		advise(out, "see why it was not renewed (certbot renew), then coopctl reload");
	} else {
		return true;
	}
	return false;
}

/* A listener that shows another one than the file has; NULL: there is none. */
static const struct doctor_listener *other_cert(const struct doctor_facts *f)
{
	for (size_t i = 0; i < f->listener_count; i++)
		if (f->listeners[i].cert.look == LOOK_OK && f->file_cert.look == LOOK_OK &&
		    f->listeners[i].cert.until_s != f->file_cert.until_s)
			return &f->listeners[i];
	return NULL;
}

static void judge_certificate(struct doctor_finding *out, const struct doctor_facts *f)
{
	const struct doctor_listener *other = other_cert(f);
	char                          text[64];

	if (f->file_cert.look == LOOK_NONE) {
		find(out, DOCTOR_SKIPPED, "coopd has no certificate of its own (tls.cert)");
		return;
	}
	for (size_t i = 0; i < f->listener_count; i++) {
		const struct doctor_listener *l = &f->listeners[i];

		if (l->cert.look == LOOK_FAILED) {
			find(out, DOCTOR_PROBLEM, "%s %s does not speak TLS: %s", l->part, l->address, l->cert.why);
			advise(out, "see coopd's log");
			return;
		}
		if (l->cert.look == LOOK_OK && !other && !judge_dates(out, &l->cert, f->now_s, l->part))
			return;
	}
	if (f->file_cert.look == LOOK_FAILED) {
		find(out, DOCTOR_WARNING, "the file tls.cert cannot be looked at: %s", f->file_cert.why);
		advise(out, "run coopctl doctor as root or as the user coopd runs as");
		return;
	}
	if (!judge_dates(out, &f->file_cert, f->now_s, "tls.cert"))
		return;
	if (other) {
		find(out, DOCTOR_WARNING, "%s %s shows another certificate than the file has", other->part,
		     other->address);
		advise(out, "coopctl reload makes coopd use the file's");
		return;
	}
	print_left(text, sizeof(text), &f->file_cert, f->now_s);
	find(out, DOCTOR_OK, "the certificate is good for %s", text);
}

/* --- The public name --- */

/* True: it cannot be looked at, and that was said. */
static bool is_not_public(struct doctor_finding *out, const struct doctor_facts *f)
{
	if (f->is_outside_off)
		find(out, DOCTOR_SKIPPED, "not looked at from outside, as was wished");
	else if (!f->public_host[0])
		find(out, DOCTOR_SKIPPED, "server.public_host is not set, so the way from outside is not known");
	else
		return false;
	return true;
}

static void judge_public_certificate(struct doctor_finding *out, const struct doctor_facts *f)
{
	char text[64];

	if (is_not_public(out, f))
		return;
	if (f->public_cert.look != LOOK_OK) {
		find(out, DOCTOR_PROBLEM, "%s cannot be reached with TLS: %s", f->public_host, f->public_cert.why);
		advise(out, "see whether the name leads to this machine, the proxy runs, and its port (443) is open");
	} else if (judge_dates(out, &f->public_cert, f->now_s, f->public_host)) {
		print_left(text, sizeof(text), &f->public_cert, f->now_s);
		find(out, DOCTOR_OK, "the certificate of %s is good for %s", f->public_host, text);
		if (f->public_cert.is_trusted)
			return;
		find(out, DOCTOR_PROBLEM, "the certificate of %s is not trusted: %s", f->public_host,
		     f->public_cert.distrust);
		advise(out, "get one for this name from an authority (certbot, Caddy), with its whole chain");
	}
}

static void judge_public_name(struct doctor_finding *out, const struct doctor_facts *f)
{
	if (is_not_public(out, f))
		return;
	if (f->health_status == 200 && strcmp(f->health_version, f->version) == 0) {
		find(out, DOCTOR_OK, "https://%s/healthz reaches this server", f->public_host);
		return;
	}
	if (f->health_status == 200 && f->health_version[0])
		find(out, DOCTOR_PROBLEM, "https://%s/healthz reaches another server: coopd %s", f->public_host,
		     f->health_version);
	else if (f->health_status)
		find(out, DOCTOR_PROBLEM, "https://%s/healthz answers %d, and not as coopd does", f->public_host,
		     f->health_status);
	else
		find(out, DOCTOR_PROBLEM, "https://%s/healthz does not answer", f->public_host);
	advise(out,
	       "see that the name leads here and the proxy hands /healthz to http.listen (README.md has examples)");
}

static void judge_upgrade(struct doctor_finding *out, const struct doctor_facts *f)
{
	if (is_not_public(out, f))
		return;
	if (f->upgrade_status == UPGRADED) {
		find(out, DOCTOR_OK, "WebSockets get through at wss://%s/", f->public_host);
		return;
	}
	if (f->upgrade_status)
		find(out, DOCTOR_PROBLEM, "wss://%s/ answers %d, no WebSocket", f->public_host, f->upgrade_status);
	else
		find(out, DOCTOR_PROBLEM, "wss://%s/ does not answer", f->public_host);
	advise(out,
	       "let the proxy hand WebSockets to tunnel.listen, with Upgrade and Connection (README.md has examples)");
}

static void judge_proxy_header(struct doctor_finding *out, const struct doctor_facts *f)
{
	if (f->proxy_bad > 0) {
		find(out, DOCTOR_WARNING,
		     "%lld requests through the proxy were refused, since its field named no address",
		     (long long)f->proxy_bad);
		advise(out, "let the proxy write nothing but addresses into the field of http.client_address_header");
	} else if (f->players_seen == 0 && f->proxy_seen > 0) {
		find(out, DOCTOR_OK, "the proxy has named the player in %lld requests", (long long)f->proxy_seen);
	} else if (f->players_seen == 0) {
		find(out, DOCTOR_SKIPPED,
		     "nobody is connected, so it cannot be seen whether players' addresses arrive");
	} else if (f->players_behind == f->players_seen && !f->is_production) {
		find(out, DOCTOR_OK, "all who are connected are on this machine, or behind a proxy on it");
	} else if (f->players_behind == f->players_seen) {
		find(out, DOCTOR_WARNING,
		     "all %zu connections looked at have the proxy's own address, so limits and bans hit "
		     "everybody at once",
		     f->players_seen);
		advise(out,
		       "let the proxy send the field of http.client_address_header (X-Forwarded-For) and name it in "
		       "http.trusted_proxies");
	} else {
		find(out, DOCTOR_OK, "players' addresses arrive");
	}
}

/* --- Files --- */

static void judge_update(struct doctor_finding *out, const struct doctor_facts *f)
{
	if (f->manifest == LOOK_NONE) {
		find(out, DOCTOR_SKIPPED, "there are no update files (update.dir), or they are on another machine");
	} else if (f->manifest == LOOK_FAILED) {
		find(out, DOCTOR_PROBLEM, "launchers get no update: %s", f->manifest_why);
		advise(out, "coopctl publish FILE... puts a good one there");
	} else if (!f->has_update_key) {
		find(out, DOCTOR_WARNING, "update files are served unchecked, as update.key is not set");
		advise(out, "set update.key to the public key that manifests are signed with");
	} else {
		find(out, DOCTOR_OK, "the update's manifest is signed and its package is there");
	}
}

int doctor_compare(const char *a, const char *b)
{
	while (*a || *b) {
		unsigned long x = strtoul(a, NULL, 10), y = strtoul(b, NULL, 10);

		if (x != y)
			return x < y ? -1 : 1;
		a += strcspn(a, ".");
		b += strcspn(b, ".");
		a += *a == '.';
		b += *b == '.';
	}
	return 0;
}

/*
 * Holes that are publicly known, in versions from..below. A distribution may have closed one without another number; so may
 * coopd, which then says how.
 */
static const struct hole {
	const char *library, *from, *below, *what, *closed; /* closed NULL: it is open */
	const char *advice;
} holes[] = {
	{ "libwebsockets", "4.1.6", "4.1.7", "CVE-2025-11677 and CVE-2026-19773 (upgrades)",
	  "coopd refuses what leads there", NULL },
	{ "libmicrohttpd", "0", "0.9.76", "CVE-2023-27371 (forms)", "coopd reads no forms", NULL },
	{ "sqlite", "3.7.0", "3.51.3", "the WAL-reset bug (two who write at once)", "coopd has one who writes",
	  "while coopd runs, only read with the sqlite3 shell" },
	{ "libcrypto", "3.0.0", "3.0.7", "CVE-2022-3602 (certificates)", NULL, "install the security updates" },
	{ "zlib", "0", "1.2.12", "CVE-2018-25032 (compressing)", NULL, "install the security updates" },
};

static void judge_versions(struct doctor_finding *out, const struct doctor_facts *f)
{
	char        open[200] = "", closed[DOCTOR_TEXT_BYTES - 120] = "", one[200];
	const char *advice = NULL;

	if (f->version_count == 0) {
		find(out, DOCTOR_SKIPPED, "no coopd was found here that says which libraries it uses");
		return;
	}
	for (size_t i = 0; i < f->version_count; i++)
		for (size_t k = 0; k < COUNT_OF(holes); k++) {
			const struct hole *h = &holes[k];
			const char        *v = f->versions[i].version;

			if (strcmp(h->library, f->versions[i].name) != 0 || doctor_compare(v, h->from) < 0 ||
			    doctor_compare(v, h->below) >= 0)
				continue;
			text_format(one, sizeof(one), "%s %s has %s%s%s", h->library, v, h->what,
			            h->closed ? ", but " : "", h->closed ? h->closed : "");
			list(h->closed ? closed : open, h->closed ? sizeof(closed) : sizeof(open), one);
			advice = h->advice && (!advice || !h->closed) ? h->advice : advice;
		}
	if (*open)
		find(out, DOCTOR_WARNING, "%s, unless the distribution closed it", open);
	else
		find(out, DOCTOR_OK, "no library has an open hole that coopctl knows of%s%s", *closed ? ": " : "",
		     closed);
	if (advice)
		advise(out, "%s", advice);
}

/* --- All of them --- */

const struct doctor_check doctor_checks[] = {
	{ "api", judge_api, false },
	{ "state", judge_state, true },
	{ "listeners", judge_listeners, true },
	{ "store", judge_store, true },
	{ "integrity", judge_integrity, true },
	{ "space", judge_space, true },
	{ "wal", judge_wal, true },
	{ "backup", judge_backup, true },
	{ "certificate", judge_certificate, true },
	{ "public_certificate", judge_public_certificate, true },
	{ "public_name", judge_public_name, true },
	{ "websocket", judge_upgrade, true },
	{ "proxy_header", judge_proxy_header, true },
	{ "stun", judge_stun, true },
	{ "clock", judge_clock, true },
	{ "update", judge_update, true },
	{ "versions", judge_versions, false },
	{ 0 },
};

/* A problem is worse than a warning, and what was skipped is as good as ok. */
static enum doctor_state worse(enum doctor_state a, enum doctor_state b)
{
	enum doctor_state x = a == DOCTOR_SKIPPED ? DOCTOR_OK : a, y = b == DOCTOR_SKIPPED ? DOCTOR_OK : b;

	return x > y ? x : y;
}

json_t *doctor_judge(enum doctor_state *worst, const struct doctor_facts *f)
{
	json_t *items = json_array();

	*worst = DOCTOR_OK;
	for (const struct doctor_check *check = doctor_checks; check->name; check++) {
		struct doctor_finding found = { .state = DOCTOR_OK };

		if (check->needs_server && !f->is_reached)
			continue;
		check->judge(&found, f);
		text_make_utf8(found.message);
		text_make_utf8(found.advice);
		*worst = worse(*worst, found.state);
		json_array_append_new(items, json_pack("{s:s,s:s,s:s,s:s}", "check", check->name, "state",
		                                       doctor_words[found.state], "message", found.message, "advice",
		                                       found.advice));
	}
	return json_pack("{s:o}", "items", items);
}

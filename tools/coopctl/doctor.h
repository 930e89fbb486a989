/*
 * What coopctl doctor makes of what it found: a table of checks, each a judgement of facts. Pure: facts are gathered by
 * doctor_ask.c (from the server) and doctor_probe.h (from outside).
 */
#ifndef COOPCTL_DOCTOR_H
#define COOPCTL_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOCTOR_TEXT_BYTES    512
#define DOCTOR_ADDRESS_BYTES 320
#define DOCTOR_LISTENERS_MAX 64
#define DOCTOR_VERSIONS_MAX  24
#define DOCTOR_STUN_MAX      8

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_WARNING,
	DOCTOR_PROBLEM,
	DOCTOR_SKIPPED /* it could not be checked here, or there is nothing to check; the message says why */
};
extern const char *const doctor_words[]; /* "ok", ... by state */

struct doctor_finding {
	enum doctor_state state;
	char              message[DOCTOR_TEXT_BYTES]; /* a sentence */
	char              advice[DOCTOR_TEXT_BYTES];  /* what to do; "": nothing */
};

/* Whether something could be looked at. */
enum doctor_look { LOOK_NONE /* there is nothing to look at */, LOOK_FAILED /* why says so */, LOOK_OK };

struct doctor_cert {
	enum doctor_look look;
	char             why[160];
	int64_t          from_s, until_s; /* since 1970 */
	bool             is_trusted;      /* of a server: for its name, by this machine's authorities */
	char             distrust[160];   /* why not */
};

struct doctor_listener {
	char               part[40], address[DOCTOR_ADDRESS_BYTES];
	bool               is_udp, answers;
	char               why[80]; /* when not */
	struct doctor_cert cert;    /* LOOK_NONE: it speaks no TLS */
};

struct doctor_stun {
	char address[DOCTOR_ADDRESS_BYTES];
	bool answers;
	char mapped[64]; /* "192.0.2.1:4000" */
};

struct doctor_version {
	char name[40], version[40];
};

struct doctor_facts {
	int64_t now_s;   /* of this machine */
	bool    is_here; /* coopctl runs where the server does: asked over its socket */

	/* What the server says. */
	bool             is_reached;
	char             why[DOCTOR_TEXT_BYTES]; /* when it is not */
	char             state[32], store[32], version[64];
	bool             is_production;
	bool             is_failing;       /* a sync failed */
	int64_t          damaged, missing; /* blobs; missing -1: never counted */
	int64_t          free_bytes, free_floor, wal_bytes, wal_max;
	int64_t          clock_off_ms;    /* the server's clock is so much later */
	bool             is_clock_synced; /* of this machine, as its kernel says */
	enum doctor_look backup;          /* LOOK_NONE: none since the start */
	bool             backup_runs;
	char             backup_result[64];
	int64_t          backup_at_s;    /* the end of the last */
	int64_t          backup_good_s;  /* of the last good one; 0: not known */
	int64_t          backup_every_s; /* 0: no schedule */

	struct doctor_listener listeners[DOCTOR_LISTENERS_MAX];
	size_t                 listener_count;
	struct doctor_stun     stun[DOCTOR_STUN_MAX];
	size_t                 stun_count;
	const char            *stun_off; /* why STUN is not looked at; NULL: it is */

	struct doctor_cert file_cert; /* tls.cert */

	/* The public name, through whatever proxy. */
	char               public_host[256]; /* "": not set */
	bool               is_outside_off;
	struct doctor_cert public_cert;
	int                health_status; /* of https://NAME/healthz; 0: no answer */
	char               health_version[64];
	int                upgrade_status;               /* of wss://NAME/ */
	size_t             players_seen, players_behind; /* connected; of these, with a proxy's address */
	int64_t            proxy_seen, proxy_bad; /* requests through it that named the player, or nobody, so far */

	/* Files that are looked at when is_here. */
	enum doctor_look manifest;
	bool             has_update_key;
	char             manifest_why[160];

	struct doctor_version versions[DOCTOR_VERSIONS_MAX]; /* what `coopd --version` says */
	size_t                version_count;
};

struct doctor_check {
	const char *name;
	void (*judge)(struct doctor_finding *out, const struct doctor_facts *f);
	bool needs_server; /* is not judged when the API is not reached */
};
extern const struct doctor_check doctor_checks[]; /* ends with a NULL name */

/* {"items":[{"check","state","message","advice"}]}, for json_decref; *worst: of all. */
json_t *doctor_judge(enum doctor_state *worst, const struct doctor_facts *f);

/* 2 numbers and more: below 0 when version a is older than b. */
int doctor_compare(const char *a, const char *b);

#endif

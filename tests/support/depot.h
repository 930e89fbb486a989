/*
 * A store whose thread does not run, for tests of campaigns: every call is one job, under clocks that are only numbers,
 * and a checkpoint has any size that a test likes to say, for its file stays empty.
 */
#ifndef TESTS_DEPOT_H
#define TESTS_DEPOT_H

#include "store/campaign.h"

#include <stdbool.h>
#include <stdint.h>

#define DEPOT_DAY    INT64_C(86400000)
#define DEPOT_MIB    INT64_C(1048576)
#define DEPOT_SECOND INT64_C(1000)

struct depot {
	struct store  *store;
	struct db     *db;
	struct limits *limits; /* change them at any time */
	int64_t        keep, wall_ms, mono_ms;
	int            addr; /* from which uploads come */
	bool           exempt;
	int            stored; /* uploads so far: each has a hash of its own */

	/* The last upload. Tests set in begin and end what goes beyond the arguments, before the call. */
	struct upload_begin begin;
	struct upload_end   end;
};

void depot_open(struct depot *d);
void depot_close(struct depot *d);

void depot_pass(struct depot *d, int64_t ms);

/* Player n, campaign n, address n; valid until the eighth call after this one. A player's id begins his digest. */
const uint8_t *depot_player(int n);
const uint8_t *depot_campaign(int n);
const uint8_t *depot_addr(int n);

/* One job each; d->begin and d->end hold what came out. The last but one is both, 10 s after whatever was before. */
enum err depot_begin(struct depot *d, int player, int campaign, int64_t bytes);
enum err depot_end(struct depot *d, int64_t id, int64_t bytes);
enum err depot_put(struct depot *d, int player, int campaign, int64_t bytes);

/* The same with players named in the text, ended by -1. */
enum err depot_put_naming(struct depot *d, int player, int campaign, const int *members);

/* Any call as one job: DEPOT_JOB(d, e, campaign_forget(...)). */
void     depot_job_begin(struct depot *d);
enum err depot_job_end(struct depot *d, enum err e);
#define DEPOT_JOB(d, call) (depot_job_begin(d), depot_job_end((d), (call)))

/* Goes on like that until *more is false. */
void depot_sweep(struct depot *d);

/* So many days with a sweep on each. */
void depot_pass_days(struct depot *d, int days);

int64_t depot_ask(struct depot *d, const char *sql);

/* The sums that the database keeps are those of its rows; ends the test when not. */
void depot_check_sums(struct depot *d);

#endif

#include "support/depot.h"

#include "base/auto.h"
#include "base/text.h"
#include "store/upkeep.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NOON (UPTIME_OLDEST_WALL_MS + 30 * DEPOT_DAY + DEPOT_DAY / 2)

void depot_open(struct depot *d)
{
	struct conf  *conf = data_conf();
	struct upkeep today;

	*d       = (struct depot){ .limits = &conf->limits, .keep = 5, .wall_ms = NOON, .mono_ms = 1000 };
	d->store = data_open_store();
	d->db    = store_db(d->store);
	uptime_init(db_uptime(d->db));
	data_exec(d->db, "DELETE FROM uptime_days");
	/* One transaction for the whole test: its jobs are savepoints in it. */
	data_exec(d->db, "BEGIN IMMEDIATE");
	cr_assert_eq(upkeep_look(&today, d->db, d->wall_ms, d->mono_ms), ERR_OK);
}

void depot_close(struct depot *d)
{
	data_exec(d->db, "COMMIT");
	store_stop(d->store);
}

void depot_pass(struct depot *d, int64_t ms)
{
	d->wall_ms += ms;
	d->mono_ms += ms;
}

static const uint8_t *numbered(uint8_t first, int n)
{
	static uint8_t made[8][PLAYER_DIGEST_BYTES];
	static size_t  turn;
	uint8_t       *out = made[turn++ % COUNT_OF(made)];

	memset(out, 0, PLAYER_DIGEST_BYTES);
	out[0] = first;
	for (int i = 0; i < 4; i++)
		out[1 + i] = (uint8_t)(n >> (8 * (3 - i)));
	out[PLAYER_DIGEST_BYTES - 2] = (uint8_t)n;
	out[PLAYER_DIGEST_BYTES - 1] = first; /* zeros behind an id would be a player who was imported */
	return out;
}

const uint8_t *depot_player(int n)
{
	return numbered(0xaa, n);
}

const uint8_t *depot_campaign(int n)
{
	return numbered(0xcc, n);
}

const uint8_t *depot_addr(int n)
{
	return numbered(0xdd, n);
}

void depot_job_begin(struct depot *d)
{
	cr_assert_eq(db_run(d->db, Q_JOB_BEGIN), ERR_OK);
}

enum err depot_job_end(struct depot *d, enum err e)
{
	if (e != ERR_OK)
		cr_assert_eq(db_run(d->db, Q_JOB_UNDO), ERR_OK);
	cr_assert_eq(db_run(d->db, Q_JOB_KEEP), ERR_OK);
	return e;
}

enum err depot_begin(struct depot *d, int player, int campaign, int64_t bytes)
{
	struct upload_begin *u = &d->begin;

	memcpy(u->digest, depot_player(player), sizeof(u->digest));
	memcpy(u->addr, depot_addr(d->addr), sizeof(u->addr));
	memcpy(u->campaign, depot_campaign(campaign), sizeof(u->campaign));
	u->exempt  = d->exempt;
	u->bytes   = bytes;
	u->mono_ms = d->mono_ms;
	u->wall_ms = d->wall_ms;
	return DEPOT_JOB(d, upload_begin(u, d->db, d->limits));
}

/* As blob_writer_finish leaves it, but for what is in the file. */
static void make_blob(struct blob_writer *w, struct depot *d, int64_t bytes)
{
	char path[100];

	*w = (struct blob_writer){ .store = d->store, .fd = -1, .bytes = (uint64_t)bytes };
	d->stored++;
	memcpy(w->sha256, numbered(0xbb, d->stored), sizeof(w->sha256));
	text_format(w->tmp, sizeof(w->tmp), "depot-%d", d->stored);
	text_format(path, sizeof(path), "blobs/.tmp/%s", w->tmp);
	int fd = open(data_path(path), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	close(fd);
}

enum err depot_end(struct depot *d, int64_t id, int64_t bytes)
{
	struct blob_writer w;
	struct upload_end *u = &d->end;

	make_blob(&w, d, bytes);
	u->id      = id;
	u->blob    = &w;
	u->keep    = d->keep;
	u->mono_ms = d->mono_ms;
	u->wall_ms = d->wall_ms;
	enum err e = DEPOT_JOB(d, upload_end(u, d->db, d->limits));
	blob_writer_fini(&w);
	u->blob = NULL;
	return e;
}

enum err depot_put(struct depot *d, int player, int campaign, int64_t bytes)
{
	depot_pass(d, d->limits->cloud_interval_ms);
	enum err e = depot_begin(d, player, campaign, bytes);

	return e == ERR_OK ? depot_end(d, d->begin.id, bytes) : e;
}

enum err depot_put_naming(struct depot *d, int player, int campaign, const int *members)
{
	uint8_t ids[CAMPAIGN_NAMED_MAX][PLAYER_ID_BYTES];
	size_t  count = 0;

	for (; members[count] >= 0; count++)
		memcpy(ids[count], depot_player(members[count]), PLAYER_ID_BYTES);
	d->end.members      = (const uint8_t(*)[PLAYER_ID_BYTES])ids;
	d->end.member_count = count;
	enum err e          = depot_put(d, player, campaign, 1000);
	d->end.members      = NULL;
	d->end.member_count = 0;
	return e;
}

void depot_sweep(struct depot *d)
{
	bool more = true;

	while (more)
		cr_assert_eq(DEPOT_JOB(d, campaign_sweep(&more, d->db, d->wall_ms, d->mono_ms, d->limits)), ERR_OK);
}

void depot_pass_days(struct depot *d, int days)
{
	for (int i = 0; i < days; i++) {
		depot_pass(d, DEPOT_DAY);
		depot_sweep(d);
	}
}

int64_t depot_ask(struct depot *d, const char *sql)
{
	return data_ask(d->db, sql);
}

void depot_check_sums(struct depot *d)
{
	static const char *const same[] = {
		"SELECT (SELECT coalesce(sum(bytes), 0) FROM checkpoints) = (SELECT bytes + trash FROM cloud_totals)",
		"SELECT (SELECT count(*) FROM campaigns WHERE trashed_ms IS NULL) = (SELECT campaigns FROM "
		"cloud_totals)",
		"SELECT (SELECT coalesce(sum(spare), 0) FROM campaigns WHERE trashed_ms IS NULL) ="
		" (SELECT spare FROM cloud_totals)",
		"SELECT NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.bytes <>"
		" (SELECT coalesce(sum(bytes), 0) FROM checkpoints WHERE campaign = c.number))",
		"SELECT NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.spare <>"
		" (SELECT coalesce(sum(bytes), 0) FROM checkpoints WHERE campaign = c.number AND spare > 0))",
		"SELECT NOT EXISTS (SELECT 1 FROM holders h WHERE (h.campaigns, h.bytes, h.spare) <>"
		" (SELECT count(*), coalesce(sum(bytes), 0), coalesce(sum(spare), 0) FROM campaigns"
		"  WHERE owner = h.player AND trashed_ms IS NULL))",
		"SELECT NOT EXISTS (SELECT 1 FROM checkpoints k LEFT JOIN blobs b ON b.hash = k.sha256 WHERE b.hash IS "
		"NULL)",
	};

	for (size_t i = 0; i < COUNT_OF(same); i++)
		cr_expect_eq(data_ask(d->db, same[i]), 1, "%s", same[i]);
}

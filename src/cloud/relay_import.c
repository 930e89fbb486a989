#include "cloud/relay_import.h"

#include "base/auto.h"
#include "base/text.h"
#include "cloud/cloud_put.h"
#include "cloud/relay_folder.h"
#include "cloud/relay_seen.h"
#include "crypt/hash.h"
#include "os/clock.h"
#include "store/ask.h"
#include "store/import.h"
#include "store/restore_move.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CODES_HELPING 500 /* in one job */
#define PIECE_BYTES   262144
#define NAME_SHOWN    200

struct tally {
	int64_t in, same, left;
};

struct import {
	const struct conf *conf;
	struct store      *store; /* NULL: only a check */
	struct db         *db;    /* of a check, for reading; NULL: there is no database yet */
	FILE              *out;
	int64_t            now_ms;
	struct relay_seen *seen; /* of a check; NULL: none */
	struct tally       codes, campaigns, checkpoints;
	uint8_t            piece[PIECE_BYTES];
	struct cloud_put   puts[IMPORT_CHECKPOINTS_MAX];
};

/* --- What is said --- */

static void leave_out(struct import *im, const char *name, const char *below, const char *why)
{
	char shown[NAME_SHOWN];

	text_escape(shown, sizeof(shown), name, strlen(name));
	fprintf(im->out, "%s%s%s: %s\n", shown, *below ? "/" : "", below, why);
}

static const char *why_not(enum import_verdict v)
{
	switch (v) {
	case IMPORT_OTHER_CODE:
		return "the player has another code here; left out";
	case IMPORT_TAKEN:
		return "this is another player's here; left out";
	case IMPORT_FORGOTTEN:
		return "the player was forgotten here; left out";
	case IMPORT_DELETED:
		return "the campaign was here, and was deleted; left out";
	default:
		return "";
	}
}

static bool count(struct tally *t, enum import_verdict v)
{
	t->in += v == IMPORT_NEW;
	t->same += v == IMPORT_SAME;
	t->left += v != IMPORT_NEW && v != IMPORT_SAME;
	return v == IMPORT_NEW || v == IMPORT_SAME;
}

/* --- The store --- */

struct work {
	struct job job;
	enum err (*run)(struct db *db, void *arg);
	void *arg;
};

static enum err run_work(struct job *job, struct db *db)
{
	struct work *w = CONTAINER(job, struct work, job);

	return w->run(db, w->arg);
}

static enum err in_store(struct import *im, enum err (*run)(struct db *db, void *arg), void *arg)
{
	struct work w    = { .job = { .surface = SURFACE_CLOUD, .run = run_work }, .run = run, .arg = arg };
	bool        gone = false;

	if (im->store)
		return store_ask_within(im->store, &w.job, &gone, NULL, -1); /* no bound: it is never late */
	return im->db ? run(im->db, arg) : ERR_OK;                           /* into nothing all is new */
}

/* --- Codes --- */

struct helping {
	struct import_code codes[CODES_HELPING];
	size_t             count;
};

static enum err run_codes(struct db *db, void *arg)
{
	struct helping *h = arg;
	enum err        e = ERR_OK;

	for (size_t i = 0; e == ERR_OK && i < h->count; i++)
		e = import_code(&h->codes[i], db);
	return e;
}

static enum err import_helping(struct import *im, struct helping *h)
{
	enum err e = in_store(im, run_codes, h);

	for (size_t i = 0; e == ERR_OK && i < h->count; i++) {
		struct import_code *c = &h->codes[i];
		char                text[32];

		if (im->seen)
			e = relay_seen_code(im->seen, c);
		if (count(&im->codes, c->verdict))
			continue;
		text_format(text, sizeof(text), "%02x%02x%02x%02x%02x%02x%02x%02x", c->id[0], c->id[1], c->id[2],
		            c->id[3], c->id[4], c->id[5], c->id[6], c->id[7]);
		fprintf(im->out, "codes.json/%s: code %" PRId64 ": %s\n", text, c->code, why_not(c->verdict));
	}
	h->count = 0;
	return e;
}

static enum err add_code(struct import *im, struct helping *h, const struct json *codes, const char *name)
{
	struct relay_code c;
	relay_why         why = relay_code(&c, codes, name, im->now_ms);

	if (why) {
		char shown[NAME_SHOWN];

		text_escape(shown, sizeof(shown), name, strlen(name));
		fprintf(im->out, "codes.json/%s: %s; left out\n", shown, why);
		im->codes.left++;
		return ERR_OK;
	}
	struct import_code *to = &h->codes[h->count++];

	*to = (struct import_code){ .code = c.code, .used_ms = c.used_ms, .dry_run = !im->store };
	memcpy(to->id, c.id, sizeof(to->id));
	return h->count == CODES_HELPING ? import_helping(im, h) : ERR_OK;
}

static void say_twice(void *arg, const char *name, size_t len)
{
	struct import *im = arg;
	char           shown[NAME_SHOWN];

	text_escape(shown, sizeof(shown), name, len);
	fprintf(im->out,
	        "codes.json/%s: stands there more than once; what stands last counts, the others are left out\n",
	        shown);
	im->codes.left++;
}

static enum err import_codes(struct import *im, int dir)
{
	AUTO(json_freep) struct json   *codes = NULL;
	AUTO(auto_free) char           *text  = NULL;
	size_t                          len   = 0;
	AUTO(auto_free) struct helping *h     = calloc(1, sizeof(*h));
	relay_why why = relay_json_text(&codes, &text, &len, dir, "codes.json", RELAY_CODES_BYTES);
	enum err  e   = h ? ERR_OK : ERR_NOMEM;

	if (why) {
		fprintf(im->out, "codes.json: %s; no code was imported\n", why);
		im->codes.left++;
		return e;
	}
	if (e == ERR_OK)
		e = relay_twice(text, len, say_twice, im);
	for (const char *name = NULL; e == ERR_OK && (name = json_next_member(codes, name));)
		e = add_code(im, h, codes, name);
	return e == ERR_OK ? import_helping(im, h) : e;
}

/* --- One checkpoint --- */

/* ERR_CONTENT: it is no whole container of this campaign. *checkpoint is filled and the blob finished, but for a check. */
static enum err take_bytes(struct import *im, struct cloud_put *p, struct checkpoint_meta *meta, int fd, int64_t bytes)
{
	enum err e = ERR_OK;
	ssize_t  got;

	while (e == ERR_OK && (got = read(fd, im->piece, sizeof(im->piece))) != 0) {
		if (got < 0 && errno != EINTR)
			return ERR_CONTENT;
		if (got > 0 && im->store)
			e = cloud_put_add(p, im->piece, (size_t)got);
		else if (got > 0)
			e = container_add(&p->container, im->piece, (size_t)got);
	}
	if (e != ERR_OK)
		return e;
	if (im->store)
		return cloud_put_end(p, meta);
	p->container.total = (uint64_t)bytes;
	e                  = container_end(&p->text, &p->container);
	return e == ERR_OK && memcmp(p->text.campaign, p->campaign, sizeof(p->campaign)) == 0 ? ERR_OK : ERR_CONTENT;
}

static enum err begin_put(struct import *im, struct cloud_put *p, const uint8_t *campaign, int64_t bytes)
{
	if (im->store)
		return cloud_put_begin(p, im->store, campaign, bytes);
	container_init(&p->container, (uint64_t)bytes);
	memcpy(p->campaign, campaign, sizeof(p->campaign));
	return ERR_OK;
}

/* A checkpoint and its campaign's folder. */
struct source {
	int               dir;
	const char       *name; /* "campaigns/ID" */
	struct relay_meta meta;
};

static enum err leave_checkpoint(struct import *im, const struct source *s, const char *file, const char *why)
{
	char text[128];

	text_format(text, sizeof(text), "%s; left out", why);
	leave_out(im, s->name, file, text);
	im->checkpoints.left++;
	return ERR_OK;
}

/* Adds it to c when it is good; a file that is not is left out. ERR_SPACE, ERR_IO, ERR_NOMEM: of our own folder. */
static enum err read_checkpoint(struct import *im, const struct source *s, const char *file, int64_t said,
                                struct import_campaign *c, struct import_checkpoint *k)
{
	struct cloud_put *p = &im->puts[c->checkpoint_count];
	int               fd;
	int64_t           bytes;
	relay_why         why = relay_open(&fd, &bytes, &k->stored_ms, s->dir, file, im->conf->limits.cloud_checkpoint);

	if (why)
		return leave_checkpoint(im, s, file, why);
	enum err e = begin_put(im, p, c->id, bytes);
	if (e != ERR_OK) {
		close(fd);
		return e;
	}
	e = take_bytes(im, p, &k->meta, fd, bytes);
	close(fd);
	if (e != ERR_OK) {
		if (im->store)
			cloud_put_fini(p);
		return e == ERR_CONTENT ? leave_checkpoint(im, s, file, "is damaged, or of another campaign") : e;
	}
	if (said >= 0 && said != bytes)
		leave_out(im, s->name, file, "meta.json says another size; taken as it is");
	k->blob                               = &p->blob;
	c->checkpoints[c->checkpoint_count++] = k;
	return ERR_OK;
}

/* --- One campaign --- */

static enum err run_campaign(struct db *db, void *arg)
{
	return import_campaign(arg, db);
}

/* Newer than the campaign's last change, or older than its first, is no time of a checkpoint. */
static void place_in_time(const struct import *im, const struct relay_meta *m, struct import_campaign *c)
{
	struct import_checkpoint *newest = c->checkpoints[c->checkpoint_count - 1];

	if (m->stored_ms > 0 || newest->stored_ms > im->now_ms)
		newest->stored_ms = m->stored_ms > 0 ? m->stored_ms : im->now_ms;
	c->stored_ms = newest->stored_ms;
	c->made_ms   = m->made_ms > 0 && m->made_ms < c->stored_ms ? m->made_ms : c->stored_ms;
	if (c->checkpoint_count == 1)
		return;
	struct import_checkpoint *before = c->checkpoints[0];

	if (before->stored_ms > c->stored_ms)
		before->stored_ms = c->stored_ms;
	if (before->stored_ms < c->made_ms)
		before->stored_ms = c->made_ms;
}

struct members {
	uint8_t id[IMPORT_CHECKPOINTS_MAX * CONTAINER_MEMBERS_MAX + CAMPAIGN_NAMED_MAX][PLAYER_ID_BYTES];
	size_t  count;
};

static void add_members(struct members *m, const uint8_t (*ids)[PLAYER_ID_BYTES], size_t count)
{
	memcpy(m->id + m->count, ids, count * sizeof(*ids));
	m->count += count;
}

/* Those of meta.json first, then whom the texts name besides. */
static void gather_members(const struct import *im, const struct relay_meta *meta, struct import_campaign *c,
                           struct members *m)
{
	add_members(m, meta->members, meta->member_count);
	for (size_t i = c->checkpoint_count; i > 0; i--)
		add_members(m, im->puts[i - 1].text.members, im->puts[i - 1].text.member_count);
	c->members      = m->id;
	c->member_count = m->count;
}

static enum err import_one(struct import *im, const struct source *s, struct import_campaign *c)
{
	struct members members = { .count = 0 };
	enum err       e;

	place_in_time(im, &s->meta, c);
	gather_members(im, &s->meta, c, &members);
	e = in_store(im, run_campaign, c);
	if (e != ERR_OK)
		return e;
	if (!count(&im->campaigns, c->verdict))
		leave_out(im, s->name, "", why_not(c->verdict));
	if (c->verdict == IMPORT_NEW)
		im->checkpoints.in += (int64_t)c->checkpoint_count;
	else if (c->verdict == IMPORT_SAME)
		im->checkpoints.same += (int64_t)c->checkpoint_count;
	else
		im->checkpoints.left += (int64_t)c->checkpoint_count;
	return ERR_OK;
}

static enum err leave_campaign(struct import *im, const char *name, const char *below, const char *why)
{
	char text[128];

	text_format(text, sizeof(text), "%s; the campaign is left out", why);
	leave_out(im, name, below, text);
	im->campaigns.left++;
	return ERR_OK;
}

static enum err import_checkpoints(struct import *im, const struct source *s, struct import_campaign *c)
{
	struct import_checkpoint before = { .blob = NULL }, last = { .blob = NULL };
	enum err                 e = ERR_OK;

	if (relay_has(s->dir, "prev.bin"))
		e = read_checkpoint(im, s, "prev.bin", s->meta.prev_size, c, &before);
	if (e == ERR_OK)
		e = read_checkpoint(im, s, "last.bin", s->meta.size, c, &last);
	if (e == ERR_OK && c->checkpoint_count == 0)
		e = leave_campaign(im, s->name, "", "no checkpoint of it is good");
	else if (e == ERR_OK)
		e = import_one(im, s, c);
	for (size_t i = 0; im->store && i < c->checkpoint_count; i++)
		cloud_put_fini(&im->puts[i]);
	return e;
}

static enum err import_folder(struct import *im, int dir, const char *name, const uint8_t *id)
{
	struct source          s = { .dir = dir, .name = name };
	struct import_campaign c = {
		.wall_ms = im->now_ms, .keep = im->conf->cloud_keep, .limits = &im->conf->limits, .dry_run = !im->store
	};
	relay_why why = relay_meta(&s.meta, dir, im->now_ms);

	if (why)
		return leave_campaign(im, name, "meta.json", why);
	if (s.meta.odd_members > 0)
		leave_out(im, name, "meta.json", "has members that are no ids, or too many; they are left out");
	memcpy(c.id, id, sizeof(c.id));
	memcpy(c.owner, s.meta.owner, sizeof(c.owner));
	return import_checkpoints(im, &s, &c);
}

static enum err import_entry(struct import *im, int parent, const char *entry)
{
	uint8_t id[CAMPAIGN_ID_BYTES];
	char    name[NAME_MAX + 16];
	int     dir;

	text_format(name, sizeof(name), "campaigns/%s", entry);
	if (!relay_id(id, entry))
		return leave_campaign(im, name, "", "its name is no campaign's id");
	dir = openat(parent, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return leave_campaign(im, name, "",
		                      errno == ENOTDIR || errno == ELOOP ? "it is no folder" : "it cannot be opened");
	enum err e = import_folder(im, dir, name, id);
	close(dir);
	return e;
}

static enum err import_campaigns(struct import *im, int dir)
{
	int            fd = openat(dir, "campaigns", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR           *d  = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	enum err       e = ERR_OK;

	if (!d) {
		fputs("campaigns: is no folder that can be read; no campaign was imported\n", im->out);
		im->campaigns.left++;
		return ERR_OK;
	}
	while (e == ERR_OK && (entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			e = import_entry(im, fd, entry->d_name);
	}
	closedir(d);
	return e;
}

/* --- All of it --- */

static void say(FILE *out, const char *what, const struct tally *t, bool check)
{
	fprintf(out, "%-12s %" PRId64 " %s, %" PRId64 " here already, %" PRId64 " left out\n", what, t->in,
	        check ? "would come in" : "imported", t->same, t->left);
}

static int say_all(const struct import *im, enum err e)
{
	bool check = !im->store;

	say(im->out, "Codes:", &im->codes, check);
	say(im->out, "Campaigns:", &im->campaigns, check);
	say(im->out, "Checkpoints:", &im->checkpoints, check);
	if (e != ERR_OK)
		fprintf(stderr, "coopd: the import was given up: %s. What has come in stays; run it again to go on.\n",
		        err_people(e));
	if (fflush(im->out) != 0 || e != ERR_OK)
		return 1;
	return im->codes.left + im->campaigns.left + im->checkpoints.left > 0 ? RELAY_LEFT_OUT : 0;
}

static bool open_ours(struct import *im, bool check)
{
	char path[PATH_MAX];

	if (!check)
		return store_open(&im->store, im->conf, stderr) == ERR_OK && store_start(im->store) == ERR_OK;
	if (restore_is_due(im->conf->server_data)) {
		fprintf(stderr,
		        "coopd: a restore into %s was interrupted and must be finished first: start coopd, or run the "
		        "restore "
		        "again. Nothing was checked.\n",
		        im->conf->server_data);
		return false;
	}
	if (!text_format(path, sizeof(path), "%s/coop.db", im->conf->server_data))
		return false;
	return access(path, F_OK) != 0 || db_open_reader(&im->db, path) == ERR_OK;
}

int relay_import_main(const struct conf *conf, const char *source, bool check, FILE *out)
{
	AUTO(auto_free) struct import *im  = calloc(1, sizeof(*im));
	int                            dir = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC), status;
	enum err                       e;

	if (dir < 0) {
		fprintf(stderr, "coopd: %s is no folder that can be read: %s\n", source, strerror(errno));
		return 1;
	}
	if (!im || crypt_init() != ERR_OK) {
		close(dir);
		return 1;
	}
	im->conf   = conf;
	im->out    = out;
	im->now_ms = clock_wall_ms();
	im->seen   = check ? relay_seen_new() : NULL;
	if ((check && !im->seen) || !open_ours(im, check)) {
		relay_seen_free(im->seen);
		close(dir);
		return 1;
	}
	e = import_codes(im, dir);
	if (e == ERR_OK)
		e = import_campaigns(im, dir);
	close(dir);
	status = say_all(im, e);
	if (im->store)
		store_stop(im->store);
	db_close(im->db);
	relay_seen_free(im->seen);
	return status;
}

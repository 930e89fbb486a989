/*
 * What players read: their campaigns, one of them, and the bytes of a checkpoint.
 */
#include "base/auto.h"
#include "base/base64.h"
#include "base/hex.h"
#include "cloud/cloud_event.h"
#include "cloud/cloud_get.h"
#include "cloud/rest.h"
#include "os/clock.h"
#include "store/readers.h"

#include <stdlib.h>
#include <string.h>

/* --- Lists --- */

static enum err add_campaign(const struct campaign_row *row, void *arg)
{
	struct json *array = arg, *j = json_object_new();

	if (!j)
		return ERR_NOMEM;
	rest_put_id(j, "id", row->id);
	json_put_text(j, "role", row->role == CAMPAIGN_OWNER ? "owner" : "member");
	rest_put_id(j, "owner", row->owner);
	json_put_json(j, "newest", rest_checkpoint(&row->newest));
	json_put_bool(j, "previous", row->has_previous);
	json_put_int(j, "bytes", row->bytes);
	json_add_json(array, j);
	return ERR_OK;
}

static enum err read_list(struct json *out, struct db *db, const uint8_t player[PLAYER_ID_BYTES],
                          const struct limits *limits)
{
	struct json         *array = json_array_new();
	struct quota_figures q;
	enum err             e = array ? campaign_each(db, player, false, limits, add_campaign, array) : ERR_NOMEM;

	if (e == ERR_OK)
		e = quota_figures(&q, db, player, limits);
	if (e != ERR_OK) {
		json_free(array);
		return e;
	}
	json_put_json(out, "campaigns", array);
	json_put_json(out, "quota", rest_quota(&q));
	return ERR_OK;
}

enum err rest_list(struct http_answer *a, struct http_request *rq, void *part)
{
	const struct cloud           *c = part;
	AUTO(json_freep) struct json *j = json_object_new();
	uint8_t                       digest[PLAYER_DIGEST_BYTES];
	struct db                    *db;
	enum err                      e = rest_player(digest, c, rq);

	if (e == ERR_OK && !j)
		e = ERR_NOMEM;
	if (e == ERR_OK)
		e = readers_take(&db, c->store);
	if (e != ERR_OK)
		return rest_error(a, rq, e);
	e = player_check(db, digest);
	if (e == ERR_OK)
		e = read_list(j, db, digest, &c->conf->limits);
	readers_give(c->store, db);
	return e == ERR_OK ? http_answer_json(a, 200, j) : rest_error(a, rq, e);
}

/* --- One campaign --- */

static enum err add_member(const uint8_t player[PLAYER_ID_BYTES], void *arg)
{
	char text[17];

	hex_encode(text, player, PLAYER_ID_BYTES);
	json_add_text(arg, text);
	return ERR_OK;
}

static enum err add_checkpoint(const struct checkpoint_row *row, void *arg)
{
	json_add_json(arg, rest_checkpoint(row));
	return ERR_OK;
}

static enum err read_campaign(struct json *out, struct db *db, const struct rest_who *who)
{
	struct campaign_row row;
	enum err            e = player_check(db, who->digest);
	struct json        *members, *checkpoints;

	if (e == ERR_OK)
		e = campaign_find(&row, db, who->campaign, who->digest);

	if (e != ERR_OK)
		return e;
	members     = json_array_new();
	checkpoints = json_array_new();
	if (!members || !checkpoints)
		e = ERR_NOMEM;
	if (e == ERR_OK)
		e = campaign_each_member(db, who->campaign, add_member, members);
	if (e == ERR_OK)
		e = campaign_each_checkpoint(db, who->campaign, add_checkpoint, checkpoints);
	rest_put_id(out, "id", row.id);
	json_put_text(out, "role", row.role == CAMPAIGN_OWNER ? "owner" : "member");
	rest_put_id(out, "owner", row.owner);
	json_put_json(out, "members", members);
	json_put_int(out, "bytes", row.bytes);
	json_put_json(out, "checkpoints", checkpoints);
	return e;
}

enum err rest_campaign(struct http_answer *a, struct http_request *rq, void *part)
{
	const struct cloud           *c = part;
	AUTO(json_freep) struct json *j = json_object_new();
	struct rest_who               who;
	struct db                    *db;
	enum err                      e = rest_who(&who, c, rq);

	if (e == ERR_OK && !j)
		e = ERR_NOMEM;
	if (e == ERR_OK)
		e = readers_take(&db, c->store);
	if (e != ERR_OK)
		return rest_error(a, rq, e);
	e = read_campaign(j, db, &who);
	readers_give(c->store, db);
	return e == ERR_OK ? http_answer_json(a, 200, j) : rest_error(a, rq, e);
}

/* --- Downloads --- */

/* One on its way; lives until the library is done with the answer. */
struct download {
	struct cloud     *cloud;
	struct live       live;
	struct cloud_get *get;
	bool              is_player;                   /* else an operator's, which is no use of the campaign */
	uint8_t           player[PLAYER_DIGEST_BYTES]; /* who loads */
	uint64_t          bytes;                       /* of the whole checkpoint */
	int64_t           version;
	bool              is_part;  /* of it, by a Range */
	bool              is_whole; /* its last byte was read, and that was noted */
};

struct loaded {
	struct job job;
	uint8_t    campaign[CAMPAIGN_ID_BYTES], player[PLAYER_ID_BYTES];
	int64_t    wall_ms;
};

static enum err run_loaded(struct job *job, struct db *db)
{
	struct loaded *l = CONTAINER(job, struct loaded, job);

	return campaign_loaded(db, l->campaign, l->player, l->wall_ms);
}

static void free_loaded(struct job *job, enum err result)
{
	(void)result; /* a note that it was used; the next download makes another */
	free(CONTAINER(job, struct loaded, job));
}

/* So that a campaign which is only ever loaded does not expire. */
static void note_loaded(const struct download *d)
{
	struct loaded *l = calloc(1, sizeof(*l));

	if (!l)
		return;
	l->job = (struct job){ .surface = SURFACE_CLOUD, .lazy = true, .run = run_loaded, .done = free_loaded };
	memcpy(l->campaign, d->live.campaign, sizeof(l->campaign));
	memcpy(l->player, d->player, sizeof(l->player));
	l->wall_ms = clock_wall_ms();
	if (store_submit(d->cloud->store, &l->job) != ERR_OK)
		free(l);
}

/*
 * The last piece was read: noted before it is handed out, and jobs of a surface run in their order. So whatever the player
 * asks for once he has it all, even to leave the campaign, comes after the note. (No test: what it is about is which of
 * two threads is first.)
 */
static void on_last_piece(struct download *d)
{
	if (!d->is_whole && d->is_player) {
		note_loaded(d);
		cloud_event_loaded(d->live.campaign, d->version, d->bytes, d->player, CLOUD_BY_REST);
	}
	d->is_whole = true;
}

static ssize_t read_download(void *arg, uint64_t at, void *out, size_t cap)
{
	struct download *d   = arg;
	size_t           len = 0;

	if (live_is_cut(&d->live, 0))
		return -1;
	/* The bytes of a part that ends before the file does would be gone before they are judged. */
	if (d->is_part && cloud_get_verify(d->get) != ERR_OK)
		return -1;
	/* Damage was reported where it was found; the broken connection is what the player sees of it. */
	if (cloud_get_read(d->get, &len, at, out, cap) != ERR_OK || len == 0)
		return -1;
	if (at + len >= d->bytes)
		on_last_piece(d);
	return (ssize_t)len;
}

static void free_download(void *arg)
{
	struct download *d = arg;

	live_leave(&d->cloud->live, &d->live);
	cloud_get_free(d->get);
	free(d);
}

static enum err open_download(struct download **out, struct checkpoint_row *row, struct cloud *c,
                              const struct cloud_pick *pick)
{
	struct download *d = calloc(1, sizeof(*d));
	enum err         e;

	if (!d)
		return ERR_NOMEM;
	d->cloud = c;
	memcpy(d->live.campaign, pick->campaign, sizeof(d->live.campaign));
	d->is_player = pick->player != NULL;
	if (d->is_player)
		memcpy(d->player, pick->player, sizeof(d->player));
	live_enter(&c->live, &d->live);
	e = cloud_get_open(&d->get, row, c->store, c->verified, pick);
	if (e != ERR_OK) {
		free_download(d);
		return e;
	}
	d->bytes   = (uint64_t)row->bytes;
	d->version = row->version;
	*out       = d;
	return ERR_OK;
}

/* Content-Digest is of what is sent, so that it would be wrong beside a part; Repr-Digest is of the whole, always. */
static void add_digests(struct http_answer *a, const struct checkpoint_row *row)
{
	char base64[BASE64_BYTES(BLOB_HASH_BYTES)];

	base64_encode(base64, row->sha256, BLOB_HASH_BYTES);
	if (a->status == 200)
		http_answer_field(a, "Content-Digest", "sha-256=:%s:", base64);
	http_answer_field(a, "Repr-Digest", "sha-256=:%s:", base64);
}

static enum err answer_unchanged(struct http_answer *a, const char *etag)
{
	rest_done(a);
	a->status = 304;
	http_answer_field(a, "ETag", "%s", etag);
	return ERR_OK;
}

enum err rest_send_checkpoint(struct http_answer *a, struct http_request *rq, struct cloud *c,
                              const struct cloud_pick *pick)
{
	const char           *seen = http_header(rq, "If-None-Match");
	struct download      *d;
	struct checkpoint_row row;
	char                  etag[REST_ETAG_BYTES];
	enum err              e = open_download(&d, &row, c, pick);

	if (e != ERR_OK)
		return e;
	rest_etag(etag, &row);
	if (seen && rest_etag_is_listed(seen, etag)) {
		free_download(d);
		return answer_unchanged(a, etag);
	}
	a->status   = 200;
	a->type     = "application/octet-stream";
	a->no_store = true;
	http_answer_stream(a, &(struct http_stream){
				      .bytes = d->bytes, .read = read_download, .free = free_download, .arg = d });
	http_answer_field(a, "ETag", "%s", etag);
	http_answer_range(a, rq, etag);
	d->is_part = a->status == 206;
	add_digests(a, &row);
	return ERR_OK;
}

enum err rest_download(struct http_answer *a, struct http_request *rq, void *part)
{
	struct cloud     *c    = part;
	struct cloud_pick pick = { .version = 0 };
	struct rest_who   who;
	enum err          e = rest_who(&who, c, rq);

	if (e == ERR_OK)
		e = rest_version(&pick.version, rq);
	pick.campaign = who.campaign;
	pick.player   = who.digest;
	if (e == ERR_OK)
		e = rest_send_checkpoint(a, rq, c, &pick);
	return e == ERR_OK ? ERR_OK : rest_error(a, rq, e);
}

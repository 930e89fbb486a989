/*
 * Requests read files on their own threads; what is looked at in between is work that the loop hands to another:
 *
 *	update_start --> work: check --> done (loop): timer --> work ...	until update_stop
 */
#include "update/update_serve.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "os/file.h"
#include "os/log.h"
#include "update/update_folder.h"
#include "update/update_manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES_MAX  16384
#define ETAG_BYTES     64
#define MANIFEST_TYPE  "text/plain"
#define PACKAGE_TYPE   "application/octet-stream"
#define REVALIDATED    "no-cache" /* kept by whoever likes, but asked for each time */
#define MANIFEST_ROUTE "/update/" MANIFEST_NAME

struct update {
	struct loop           *loop;
	int64_t                every_ms;
	struct update_folder   folder;
	struct p256_key       *key; /* NULL: manifests are not verified */
	struct update_manifest manifest;
	struct timer           timer;
	struct loop_work       work;
	atomic_bool            stopping;

	/* Of whoever checks, one at a time: what was reported last. */
	bool is_folder_gone;
	enum { UNCHECKED_UNKNOWN, UNCHECKED_MISSING, UNCHECKED_THERE } unchecked;
};

/* --- Answers --- */

static void close_file(void *arg)
{
	update_file_close(arg);
	free(arg);
}

static ssize_t read_file(void *arg, uint64_t at, void *out, size_t cap)
{
	return update_file_read(arg, at, out, cap);
}

/* The file is the answer's from here on, also on failure. */
static enum err answer_stream(struct http_answer *a, const struct update_file *file)
{
	struct update_file *mine = malloc(sizeof(*mine));

	if (!mine) {
		update_file_close(file);
		return ERR_NOMEM;
	}
	*mine     = *file;
	a->status = 200;
	http_answer_field(a, "Cache-Control", REVALIDATED);
	http_answer_stream(a, &(struct http_stream){ .bytes = (uint64_t)file->mark.bytes,
	                                             .read  = read_file,
	                                             .free  = close_file,
	                                             .arg   = mine });
	return ERR_OK;
}

static enum err answer_bytes(struct http_answer *a, const char *bytes, size_t len)
{
	a->body = malloc(len + 1);
	if (!a->body)
		return ERR_NOMEM;
	memcpy(a->body, bytes, len);
	a->body_len = len;
	a->status   = 200;
	a->type     = MANIFEST_TYPE;
	http_answer_field(a, "Cache-Control", REVALIDATED);
	return ERR_OK;
}

/* --- The manifest --- */

static enum err answer_checked(struct http_answer *a, struct update *u)
{
	char     bytes[MANIFEST_BYTES_MAX];
	size_t   len;
	enum err e = update_manifest_get(bytes, &len, &u->manifest);

	return e == ERR_OK ? answer_bytes(a, bytes, len) : e;
}

/*
 * Read at once where that is possible: a launcher at every start is no transfer, of which an address may have only a few.
 * What is too long for a launcher is somebody else's affair, and streamed.
 */
static enum err answer_unchecked(struct http_answer *a, struct update *u)
{
	char               bytes[MANIFEST_BYTES_MAX];
	struct update_file file;
	enum err           e = update_file_open(&file, &u->folder, MANIFEST_NAME);

	if (e != ERR_OK)
		return e;
	if (file.mark.bytes > MANIFEST_BYTES_MAX) {
		a->type = MANIFEST_TYPE;
		return answer_stream(a, &file);
	}

	size_t  len  = (size_t)file.mark.bytes;
	ssize_t read = update_file_read(&file, 0, bytes, len);

	update_file_close(&file);
	return read < 0 ? ERR_IO : answer_bytes(a, bytes, len);
}

static enum err on_manifest(struct http_answer *a, struct http_request *rq, void *part)
{
	struct update *u = part;

	(void)rq;
	return u->key ? answer_checked(a, u) : answer_unchecked(a, u);
}

/* --- Packages --- */

static void make_etag(char out[ETAG_BYTES], const struct update_mark *m)
{
	text_format(out, ETAG_BYTES, "\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%lx\"", (uint64_t)m->inode,
	            (uint64_t)m->bytes, (uint64_t)m->written.tv_sec, (unsigned long)m->written.tv_nsec);
}

static void answer_unchanged(struct http_answer *a, const char *etag)
{
	a->status = 304;
	http_answer_field(a, "ETag", "%s", etag);
	http_answer_field(a, "Cache-Control", REVALIDATED);
}

static enum err on_package(struct http_answer *a, struct http_request *rq, void *part)
{
	struct update     *u = part;
	struct update_file file;
	char               etag[ETAG_BYTES];
	enum err           e = update_file_open(&file, &u->folder, http_path_part(rq, 0));

	if (e != ERR_OK)
		return e;
	make_etag(etag, &file.mark);
	if (http_has_match(rq, etag)) {
		update_file_close(&file);
		answer_unchanged(a, etag);
		return ERR_OK;
	}
	a->type = PACKAGE_TYPE;
	e       = answer_stream(a, &file);
	if (e != ERR_OK)
		return e;
	metric_inc(M_UPDATE_PACKAGES);
	http_answer_field(a, "ETag", "%s", etag);
	http_answer_range(a, rq, etag);
	return ERR_OK;
}

const struct http_route update_routes[] = {
	{ "GET", MANIFEST_ROUTE, on_manifest, NULL, NULL },
	{ "GET", "/update/{package}", on_package, NULL, NULL },
	{ 0 },
};

/* --- Looking now and then --- */

static void check_folder(struct update *u)
{
	enum err e;

	if (update_folder_renew(&e, &u->folder))
		log_info("update", 0, "folder-changed",
		         "update.dir leads to another folder; files come from there now");
	if (e != ERR_OK && !u->is_folder_gone)
		log_warn("update", 0, "folder-gone", "why=\"%s\" note=\"the one that was there is held open\"",
		         strerror(errno));
	u->is_folder_gone = e != ERR_OK;
}

static void check_unchecked(struct update *u)
{
	struct update_file file;
	bool               there = update_file_open(&file, &u->folder, MANIFEST_NAME) == ERR_OK;

	if (there)
		update_file_close(&file);
	metric_set(M_UPDATE_MANIFEST_GOOD, there);
	if (there && u->unchecked != UNCHECKED_THERE)
		log_info("update", 0, "manifest-unchecked",
		         "it is served as it is; set update.key to have it verified");
	if (!there && u->unchecked != UNCHECKED_MISSING)
		log_warn("update", 0, "manifest-missing", "publish " MANIFEST_NAME " in update.dir");
	u->unchecked = there ? UNCHECKED_THERE : UNCHECKED_MISSING;
}

static void check(struct loop_work *w)
{
	struct update *u = CONTAINER(w, struct update, work);

	if (atomic_load(&u->stopping))
		return;
	check_folder(u);
	if (u->key)
		update_manifest_check(&u->manifest, &u->stopping);
	else
		check_unchecked(u);
}

static void on_checked(struct loop_work *w)
{
	struct update *u = CONTAINER(w, struct update, work);

	if (!atomic_load(&u->stopping))
		timer_set(u->loop, &u->timer, loop_now_ms(u->loop) + u->every_ms);
}

static void on_time(struct timer *t, int64_t now_ms)
{
	struct update *u = CONTAINER(t, struct update, timer);

	(void)now_ms;
	loop_work(u->loop, &u->work);
}

/* --- Building it --- */

static enum err load_key(struct p256_key **out, const char *path, FILE *report)
{
	AUTO(auto_free) char *pem = NULL;
	size_t                len;
	enum err              e = file_read(&pem, &len, path, KEY_BYTES_MAX);

	if (e != ERR_OK) {
		fprintf(report, "coopd: update.key: %s cannot be read: %s.\n", path,
		        e == ERR_TOO_BIG ? "it is too long for a key" : strerror(errno));
		return e == ERR_NOMEM ? e : ERR_IO;
	}
	e = p256_key_new(out, pem, len);
	if (e != ERR_OK)
		fprintf(report,
		        "coopd: update.key: %s is no public key on P-256 in PEM (it begins with \"-----BEGIN PUBLIC "
		        "KEY-----\").\n",
		        path);
	return e;
}

static enum err open_folder(struct update_folder *f, const char *path, FILE *report)
{
	enum err e = update_folder_open(f, path);

	if (e != ERR_OK)
		fprintf(report, "coopd: update.dir: %s cannot be opened as a folder: %s.\n", path, strerror(errno));
	return e;
}

bool update_is_wanted(const struct conf *conf)
{
	return conf->update_enable && conf->update_dir[0];
}

enum err update_check(const struct conf *conf, FILE *report)
{
	struct update_folder folder;
	struct p256_key     *key = NULL;

	if (!update_is_wanted(conf))
		return ERR_OK;

	enum err there = open_folder(&folder, conf->update_dir, report);
	enum err good  = conf->update_key[0] ? load_key(&key, conf->update_key, report) : ERR_OK;

	if (there == ERR_OK)
		update_folder_close(&folder);
	p256_key_free(key);
	return there != ERR_OK ? there : good;
}

enum err update_new(struct update **out, struct loop *loop, const struct conf *conf, FILE *report)
{
	struct update *u = calloc(1, sizeof(*u));

	if (!u)
		return ERR_NOMEM;

	enum err e = open_folder(&u->folder, conf->update_dir, report);

	if (e != ERR_OK) {
		free(u);
		return e;
	}
	u->loop      = loop;
	u->every_ms  = conf->limits.update_check_ms;
	u->work.run  = check;
	u->work.done = on_checked;
	timer_init(&u->timer, on_time);
	if (conf->update_key[0])
		e = load_key(&u->key, conf->update_key, report);
	update_manifest_init(&u->manifest, &u->folder, u->key);
	if (e != ERR_OK) {
		update_free(u);
		return e;
	}
	if (u->key)
		update_manifest_look(&u->manifest);
	else
		check_unchecked(u);
	*out = u;
	return ERR_OK;
}

void update_start(struct update *u)
{
	loop_work(u->loop, &u->work); /* the package's content, which takes a while */
}

void update_stop(struct update *u)
{
	atomic_store(&u->stopping, true);
	timer_clear(&u->timer);
}

void update_free(struct update *u)
{
	update_manifest_fini(&u->manifest);
	update_folder_close(&u->folder);
	p256_key_free(u->key);
	free(u);
}

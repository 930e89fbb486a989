/*
 * The blobs behind the checkpoints, and their sweep.
 */
#include "base/metric.h"
#include "cloud/cloud_admin.h"
#include "store/blob_admin.h"

enum err cloud_admin_blobs(struct api_call *c, void *part)
{
	struct blob_figures f;
	struct json        *j;
	enum err            e = blob_look(&f, api_store(c->api));

	(void)part;
	if (e != ERR_OK)
		return e;
	j = json_object_new();
	if (!j)
		return ERR_NOMEM;
	json_put_int(j, "blobs", f.blobs);
	json_put_int(j, "bytes", f.bytes);
	json_put_int(j, "garbage", f.garbage);
	json_put_int(j, "trash", f.trash);
	json_put_int(j, "trash_bytes", f.trash_bytes);
	json_put_int(j, "damaged", metric_get(M_BLOBS_DAMAGED));
	json_put_bool(j, "known", f.known);
	if (f.missing < 0)
		json_put_null(j, "missing");
	else
		json_put_int(j, "missing", f.missing);
	return api_answer(c, 200, j);
}

static void nothing(void *arg)
{
	(void)arg;
}

/* The loop ends first when the server stops. */
static bool goes_on(void *arg)
{
	return api_on_loop(arg, nothing, NULL) == ERR_OK;
}

enum err cloud_admin_sweep(struct api_call *c, void *part)
{
	static const char *const known[] = { "confirm", NULL };
	struct blob_sweep        sweep   = { .count = c->dry_run };
	bool                     confirm = false;
	struct json             *j;
	enum err                 e = api_body_only(c, known);

	(void)part;
	if (e == ERR_OK)
		e = api_body_bool(&confirm, c, "confirm", false);
	if (e == ERR_OK && !confirm && !c->dry_run)
		e = api_problem(c, ERR_INVALID,
		                "files that no row names go to the trash: look at the database first, try it with "
		                "dry_run, then send \"confirm\":true");
	if (e == ERR_OK)
		e = blob_sweep(&sweep, api_store(c->api), goes_on, c);
	if (e == ERR_EXISTS)
		return api_problem(c, e, "a check of the blobs is under way; try again when it has ended");
	if (e != ERR_OK)
		return e;
	j = api_done();
	if (!j)
		return ERR_NOMEM;
	json_put_int(j, "moved", sweep.moved);
	json_put_int(j, "bytes", sweep.bytes);
	return api_answer(c, 200, j);
}

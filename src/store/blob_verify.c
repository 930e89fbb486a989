#include "store/blob_verify.h"

#include "base/auto.h"
#include "base/hex.h"
#include "crypt/hash_stream.h"
#include "store/blob.h"
#include "store/campaign.h"
#include "store/db.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES 262144

struct verify {
	struct blob_verified *result;
	struct store         *store;
	FILE                 *out;
	uint8_t              *buffer;
};

/* The hash of what is left to read; false when it cannot be read. */
static bool hash_file(struct verify *v, uint8_t out[BLOB_HASH_BYTES], int fd, struct hash_stream *hash)
{
	ssize_t n;

	while ((n = read(fd, v->buffer, READ_BYTES)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		hash_stream_add(hash, v->buffer, (size_t)n);
		v->result->bytes += n;
	}
	hash_stream_end(out, hash);
	return true;
}

/* What is wrong with it, NULL: nothing. */
static enum err check(const char **wrong, struct verify *v, const uint8_t hash[BLOB_HASH_BYTES], int64_t bytes)
{
	uint8_t  found[BLOB_HASH_BYTES];
	uint64_t size = 0;
	int      fd   = -1;

	*wrong     = NULL;
	enum err e = blob_open(&fd, &size, v->store, hash);
	if (e != ERR_OK) {
		*wrong = e == ERR_NOT_FOUND ? "missing" : "cannot be opened";
		return ERR_OK;
	}
	struct hash_stream *stream = hash_stream_new();
	if (!stream)
		e = ERR_NOMEM;
	else if (size != (uint64_t)bytes)
		*wrong = "wrong size";
	else if (!hash_file(v, found, fd, stream))
		*wrong = "cannot be read";
	else if (memcmp(found, hash, BLOB_HASH_BYTES) != 0)
		*wrong = "wrong content";
	hash_stream_free(stream);
	close(fd);
	return e;
}

static enum err print_campaigns(struct verify *v, const uint8_t hash[BLOB_HASH_BYTES])
{
	AUTO_QUERY  q    = db_query(store_db(v->store), Q_BLOB_NEEDED_BY);
	const char *lead = " campaigns=";
	enum err    e;

	q_blob(&q, ":hash", hash, BLOB_HASH_BYTES);
	while ((e = q_row(&q)) == ERR_OK) {
		uint8_t id[CAMPAIGN_ID_BYTES];
		char    hex[2 * CAMPAIGN_ID_BYTES + 1];

		q_get_blob(&q, 0, id, sizeof(id));
		hex_encode(hex, id, sizeof(id));
		fprintf(v->out, "%s%s", lead, hex);
		lead = ",";
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err check_row(struct verify *v, const uint8_t hash[BLOB_HASH_BYTES], int64_t bytes)
{
	char        hex[2 * BLOB_HASH_BYTES + 1];
	const char *wrong;

	enum err e = check(&wrong, v, hash, bytes);
	if (e != ERR_OK)
		return e;
	v->result->checked++;
	if (!wrong)
		return ERR_OK;
	v->result->damaged++;
	hex_encode(hex, hash, BLOB_HASH_BYTES);
	fprintf(v->out, "%s what=\"%s\"", hex, wrong);
	e = print_campaigns(v, hash);
	fputc('\n', v->out);
	return e;
}

static enum err check_all(struct verify *v)
{
	AUTO_QUERY q = db_query(store_db(v->store), Q_BLOB_EACH);
	enum err   e;

	while ((e = q_row(&q)) == ERR_OK) {
		uint8_t hash[BLOB_HASH_BYTES];

		q_get_blob(&q, 0, hash, sizeof(hash));
		e = check_row(v, hash, q_get_int(&q, 1));
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err blob_verify(struct blob_verified *out, struct store *s, FILE *report)
{
	AUTO(auto_free) uint8_t *buffer = malloc(READ_BYTES);
	struct verify            v      = { .result = out, .store = s, .out = report, .buffer = buffer };

	*out = (struct blob_verified){ 0 };
	return buffer ? check_all(&v) : ERR_NOMEM;
}

static int say_result(const struct blob_verified *v, enum err e, FILE *out)
{
	if (e != ERR_OK)
		fprintf(out,
		        "coopd could not check all blobs (%s); %" PRId64 " were checked, %" PRId64 " are damaged.\n",
		        err_people(e), v->checked, v->damaged);
	else if (v->damaged > 0)
		fprintf(out,
		        "%" PRId64 " blobs checked, %" PRId64
		        " damaged: put those files back from a backup; players of "
		        "these campaigns can load an older checkpoint meanwhile.\n",
		        v->checked, v->damaged);
	else
		fprintf(out, "%" PRId64 " blobs checked (%" PRId64 " bytes), all are as they were stored.\n",
		        v->checked, v->bytes);
	bool written = fflush(out) == 0;
	return written && e == ERR_OK && v->damaged == 0 ? 0 : 1;
}

int blob_verify_main(const struct conf *conf, FILE *out)
{
	struct store        *s;
	struct blob_verified v;

	if (crypt_init() != ERR_OK || store_open(&s, conf, stderr) != ERR_OK)
		return 1;
	enum err e = blob_verify(&v, s, out);
	store_stop(s);
	return say_result(&v, e, out);
}

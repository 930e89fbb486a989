/* The files of coopctl publish: read and checked, written, and old ones removed. */
#ifndef COOPCTL_PUBLISH_H
#define COOPCTL_PUBLISH_H

#include "coopctl/ctl.h"

#include "crypt/verify.h"
#include "update/manifest_wire.h"

#include <stdbool.h>
#include <stddef.h>

#define PUBLISH_KEPT    3  /* packages */
#define PUBLISH_OLD_MAX 64 /* that one call removes */

struct publish {
	char            *dir, *key_path, *url; /* url NULL: not known */
	struct p256_key *key;
	struct manifest  manifest;
	char            *text; /* of the manifest */
	size_t           text_len;
	const char      *package; /* path of the file that was given; NULL: the one in the folder */
	char             published[MANIFEST_TEXT_BYTES]; /* the version that is there now; "": none */
	bool             is_older;                       /* than that */
	char            *old[PUBLISH_OLD_MAX];           /* names of packages that go, or went */
	size_t           old_count;
};
void publish_fini(struct publish *p);

/* Each says what is wrong and returns its exit. read: the files that were given, against the key and each other. */
enum ctl_exit publish_read(struct publish *p, const struct ctl *c);
enum ctl_exit publish_write(struct publish *p, const struct ctl *c);

/* Finds the old packages and, unless it is a dry run, removes them. */
enum ctl_exit publish_prune(struct publish *p, const struct ctl *c);

/* Number by number from the left: below 0 when a is older than b, 0: the same, above 0: newer. */
int publish_compare(const char *a, const char *b);

/* Whether the name is like the package's but for its version, which is put into out; then it is one of the same mod. */
bool publish_version_of(char out[MANIFEST_TEXT_BYTES], const char *name, const struct manifest *m);

#endif

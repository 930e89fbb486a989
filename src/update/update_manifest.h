/*
 * The manifest as it may be served: read whole, and verified when there is a key.
 *
 *	looked at	by each request and every limits.update_check_ms: opened, read and compared with what was verified last
 *	verified	when its inode, size, times or bytes are others than those, before it is served
 *	served		from the very bytes that were verified
 *	reported	once per change: good, bad and why, missing; the package it names missing, of another size or content
 *
 * Without a key nothing is looked into: update_manifest_get is not called, and the file is served as it is.
 */
#ifndef UPDATE_UPDATE_MANIFEST_H
#define UPDATE_UPDATE_MANIFEST_H

#include "crypt/verify.h"
#include "update/manifest_wire.h"
#include "update/update_folder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum update_state { UPDATE_UNKNOWN, UPDATE_MISSING, UPDATE_BAD, UPDATE_GOOD };
enum update_package { PACKAGE_UNKNOWN, PACKAGE_MISSING, PACKAGE_OTHER_SIZE, PACKAGE_OTHER_CONTENT, PACKAGE_GOOD };

struct update_manifest {
	struct update_folder  *folder;
	const struct p256_key *key;
	pthread_mutex_t        lock; /* guards from here */

	/* What was found last. */
	enum update_state  state;
	const char        *why; /* of UPDATE_BAD and UPDATE_MISSING, static or from strerror */
	struct update_mark mark;
	char               bytes[MANIFEST_BYTES_MAX];
	size_t             len;
	struct manifest    parsed; /* of UPDATE_GOOD */

	/* The package it names, as it was when it was looked at. */
	enum update_package package;
	struct update_mark  package_mark;
	bool                is_hashed; /* package_mark was compared with the manifest's SHA-256 */
};

/* folder and key must outlive it. */
void update_manifest_init(struct update_manifest *m, struct update_folder *folder, const struct p256_key *key);
void update_manifest_fini(struct update_manifest *m);

/*
 * Looks at the file and copies what may be served to out, which has room for MANIFEST_BYTES_MAX. ERR_NOT_FOUND: nothing may
 * be served; the log says why. ERR_IO: the system cannot open it now. Any thread.
 */
enum err update_manifest_get(char *out, size_t *len, struct update_manifest *m);

/* Looks at the file, and whether its package is there and as long as it says, for the log. Any thread. */
void update_manifest_look(struct update_manifest *m);

/*
 * The same, and compares the package's SHA-256 when either has changed since. Takes as long as
 * reading 64 MiB may take, unless *stopping becomes true. One thread at a time.
 */
void update_manifest_check(struct update_manifest *m, const atomic_bool *stopping);

#endif

/*
 * Update manifests: lines of text of which all but the last are signed. Read here, verified by the caller.
 *
 *	Crysis Coop update LF	what stands behind these 18 bytes is ignored
 *	WORD VALUE LF ...	one blank between them; in any order, unknown words ignored: version, package, size, sha256
 *	signature 128HEX	then only CR, LF or blanks
 *
 * Printable ASCII; each of the four words once. Everything up to the LF before "signature" is signed.
 */
#ifndef UPDATE_MANIFEST_WIRE_H
#define UPDATE_MANIFEST_WIRE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define MANIFEST_NAME              "update.txt"
#define MANIFEST_BYTES_MAX         4096
#define MANIFEST_TEXT_BYTES        128
#define MANIFEST_PACKAGE_BYTES_MAX ((int64_t)64 * 1024 * 1024)

struct manifest {
	char    version[MANIFEST_TEXT_BYTES]; /* numbers with dots */
	char    package[MANIFEST_TEXT_BYTES]; /* letters, digits, . - _; no dot in front */
	int64_t size;                         /* 1 to MANIFEST_PACKAGE_BYTES_MAX */
	uint8_t sha256[32];
	uint8_t signature[64]; /* r then s */
	size_t  signed_len;    /* bytes from the first on that the signature covers */
};

/*
 * ERR_MALFORMED with *why a static sentence for the operator ("the line 'package' is missing"); *out is not to be used
 * then. *why is untouched on success.
 */
enum err manifest_parse(struct manifest *out, const char **why, const void *data, size_t len);

#endif

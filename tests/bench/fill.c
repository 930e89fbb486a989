/*
 * Makes a large data folder of one that a server has just made: see support/large_folder.h.
 *
 *	fill FOLDER CODES CAMPAIGNS CHECKPOINTS-OF-EACH BYTES-OF-EACH
 */
#include "base/text.h"
#include "support/large_folder.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	int64_t n[4];

	if (argc != 6) {
		fputs("usage: fill FOLDER CODES CAMPAIGNS CHECKPOINTS-OF-EACH BYTES-OF-EACH\n", stderr);
		return 2;
	}
	for (int i = 0; i < 4; i++) {
		if (text_to_int(&n[i], argv[i + 2], 1, INT32_MAX) != ERR_OK) {
			fprintf(stderr, "fill: %s is no number that fits\n", argv[i + 2]);
			return 2;
		}
	}

	const struct large_folder what = {
		.codes = (int32_t)n[0], .campaigns = (int32_t)n[1], .each = (int32_t)n[2], .bytes = n[3]
	};

	return large_folder_fill(argv[1], &what) ? 0 : 1;
}

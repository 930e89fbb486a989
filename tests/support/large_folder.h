/*
 * A data folder as it is after years: its rows are made by SQL, its checkpoints are files without content (sparse) of the
 * sizes that the rows say, under made-up names. For measuring, in tests and in benchmarks.
 */
#ifndef TESTS_LARGE_FOLDER_H
#define TESTS_LARGE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

struct large_folder {
	int32_t codes;     /* players with one */
	int32_t campaigns; /* of the first of them, two each; at most 2 * codes */
	int32_t each;      /* checkpoints of each campaign */
	int64_t bytes;     /* of each checkpoint */
};

/*
 * Adds them to the folder of a server that has ended and kept nothing of the kind yet. false: what went wrong was said on
 * standard error.
 */
bool large_folder_fill(const char *data, const struct large_folder *what);

#endif

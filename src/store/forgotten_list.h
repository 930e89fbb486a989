/*
 * What a list of forgotten players is, for the files that read and write one: store/forget.h.
 */
#ifndef STORE_FORGOTTEN_LIST_H
#define STORE_FORGOTTEN_LIST_H

#include "crypt/hash.h"
#include "store/db.h"
#include "store/forget.h"

struct forgotten_row {
	uint8_t          salt[HASH_KEY_BYTES], tag[HASH_KEYED_BYTES];
	struct forgotten f;
};

/* By salt and tag. */
struct forgotten_list {
	struct forgotten_row *rows;
	size_t                count, cap;
};

enum err forgotten_append(struct forgotten_list *l, const struct forgotten_row *row);
void     forgotten_sort(struct forgotten_list *l);

/* All rows of the database, behind those that are there. */
enum err forgotten_rows(struct forgotten_list *l, struct db *db);

#endif

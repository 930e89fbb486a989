/*
 * Players who are forgotten on request, and the list of them that is kept.
 *
 * What goes: code, campaigns or their owner, memberships, quotas, live games and places, his name in who stored what, and his id in
 * the audit trail. What stays: bans of him, whatever the texts of other people's checkpoints say, and copies made before, which
 * forget_copies finds.
 *
 * The list has keyed hashes of ids. An id on it that is not known again is not made a member by texts, and a database from before
 * is brought up to it by forgotten_apply.
 */
#ifndef STORE_FORGET_H
#define STORE_FORGET_H

#include "base/err.h"
#include "conf/limits.h"
#include "store/campaign.h"
#include "store/player.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands in the trail where an id was. */
#define FORGET_WORD "forgotten"

struct forget {
	/* asked */
	uint8_t id[PLAYER_ID_BYTES];
	bool    has_heir;   /* who gets his campaigns that have other members; must be known (ERR_INVALID) */
	bool    deletes;    /* they are deleted, too */
	bool    to_members; /* each goes to one of its members who is known; if there is none it is deleted */
	uint8_t heir[PLAYER_ID_BYTES];
	bool    dry_run;
	int64_t wall_ms;
	const struct limits *limits;
	/* answered */
	bool    is_known;    /* anything is here of him, the trail left out */
	bool    is_banned;   /* which stays */
	int64_t code;        /* 0: none */
	int64_t deleted;     /* campaigns */
	int64_t given;       /* campaigns, to the heir */
	int64_t undecided;   /* campaigns that have other members, when nothing says what becomes of them */
	int64_t trash;       /* campaigns that were in the trash */
	int64_t memberships; /* in other people's campaigns */
	int64_t checkpoints; /* in other people's campaigns, that he stored */
	int64_t audit;       /* rows of the trail that named him */
};

/*
 * ERR_CONFLICT: he owns campaigns with other members, and nothing says what becomes of them; *f is answered
 * all the same. ERR_INVALID: the heir is he himself, or nobody who is known. ERR_OK also when nothing is known of him. With dry_run
 * it only looks, and a reader's connection will do. Uploads of his that are under way end in ERR_NOT_FOUND, those of others into
 * campaigns that went in ERR_GONE.
 */
enum err forget_player(struct forget *f, struct db *db);

/* His campaigns that have other members, at most cap of them, and how many those are. Only reads. */
struct forget_shared {
	uint8_t id[CAMPAIGN_ID_BYTES];
	int64_t members; /* the others */
};
enum err forget_shared(struct forget_shared *out, size_t *count, size_t cap, struct db *db,
                       const uint8_t id[PLAYER_ID_BYTES]);

/* --- The list --- */

struct forgotten {
	int64_t at_ms;
	bool    has_heir;
	uint8_t heir[PLAYER_ID_BYTES]; /* zeros: nobody who is known any more */
};

/* ERR_NOT_FOUND: he is not on it. Only reads. */
enum err forgotten_find(struct forgotten *out, struct db *db, const uint8_t id[PLAYER_ID_BYTES]);

/* Whether he was forgotten, and has not come back by himself since. Only reads. */
enum err forgotten_is(bool *out, struct db *db, const uint8_t id[PLAYER_ID_BYTES]);

enum err forgotten_add(struct db *db, const uint8_t id[PLAYER_ID_BYTES], const struct forgotten *f);

/* Rows from before go; so many days are kept as limits.store_forgotten_days says. */
enum err forgotten_expire(struct db *db, int64_t before_ms);

/* A list as it was read from another database, whose path it need not be known by any more. */
struct forgotten_list;

/*
 * ERR_OK with an empty list for a database that has none, because it is older. ERR_STORE, ERR_NOMEM, logged. For
 * forgotten_list_free, for which NULL is fine.
 */
enum err forgotten_read(struct forgotten_list **out, const char *database);
void     forgotten_list_free(struct forgotten_list *l);
size_t   forgotten_list_count(const struct forgotten_list *l);

/*
 * For a restore: whoever stands on this list, and not just so on that of the database, is forgotten in it as well; *players says how
 * many of those were there. His campaigns with other members go to his heir, or else to one of them who is known, unless they
 * were deleted then. The database is the caller's alone, has all migrations and is prepared (db_prepare); no transaction is open.
 * All or nothing: ERR_STORE, ERR_SPACE, ERR_NOMEM.
 */
enum err forgotten_apply(int64_t *players, struct db *db, const struct forgotten_list *l, const struct limits *limits);

/* --- The list's file --- */

/*
 * The same list beside the database (0600), so that whoever puts an older database in its place, or a new one, is not the one who
 * brings them back: keyed hashes, one row a line. Written after each commit that changed the list, and read at each start.
 */
#define FORGOTTEN_FILE      "forgotten"
#define FORGOTTEN_BYTES_MAX (256 << 20) /* over a million players */

/* What the database has, synced; the file is left alone when it says so already. ERR_IO, ERR_SPACE, ERR_NOMEM, ERR_STORE. */
enum err forgotten_save(struct db *db, const char *path);

/* Rows from before before_ms are left out. ERR_NOT_FOUND: no such file; ERR_MALFORMED, ERR_IO, ERR_NOMEM. Else as forgotten_read. */
enum err forgotten_load(struct forgotten_list **out, const char *path, int64_t before_ms);

/* --- Copies --- */

/*
 * Each copy of the database, made before, that names him: those in the data folder (named "copies/..."), and those of backups in
 * backup_dir ("": none) and its folders, with their paths. until_ms: when it goes by itself, if the server runs until then; 0: when
 * somebody removes it, or later migrations push it out. Reads files, for seconds maybe. ERR_STORE when one cannot be read, which is
 * logged; the others were looked at. ERR_IO: a name is too long.
 */
enum err forget_copies(struct store *s, const char *backup_dir, const uint8_t id[PLAYER_ID_BYTES],
                       void (*each)(void *arg, const char *file, int64_t until_ms), void *arg);

#endif

/*
 * Campaigns as tests of the operator's routes make and look at them: stored over REST, changed behind the server's back.
 */
#ifndef TESTS_CAMPAIGN_CLIENT_H
#define TESTS_CAMPAIGN_CLIENT_H

#include "support/server.h"

#include <stddef.h>
#include <stdint.h>

#define PLAYER_HEX 17

/* A player's id, by the name of his key. */
const char *player_hex(char out[PLAYER_HEX], const char *key_name);

/* "player=id:...\n" of this player, behind what is in lines already. */
void name_player(char *lines, size_t cap, const char *key_name);

/* A container with further lines in its text and so many bytes to save; must be stored. */
void campaign_put(const struct server *s, const char *key_name, const char *campaign, const char *lines,
                  size_t save_len);

/* The one number that this SELECT gives, read beside the server. */
int64_t campaign_ask(const struct server *s, const char *sql);

/* Runs statements while the server does not: it is stopped and started again. */
void campaign_exec(struct server *s, const char *sql);

/* Ends the test when the sums that the database keeps are not those of its rows. */
void campaign_check_sums(const struct server *s);

/* Files in blobs/FOLDER that do not begin with a dot. */
int campaign_files(const struct server *s, const char *folder);

/* Waits until nothing of any upload is left: no temporary file, nothing reserved. */
void campaign_await_nothing_left(struct server *s);

#endif

/*
 * What operators call things: a campaign by the name that a player gave it, a player by his code.
 */
#ifndef COOPCTL_NAME_H
#define COOPCTL_NAME_H

#include "coopctl/ctl.h"

#define NAME_ID_BYTES    17
#define NAME_LABEL_BYTES 256

struct ctl_name {
	char id[NAME_ID_BYTES];       /* 16 lower case hex digits */
	char label[NAME_LABEL_BYTES]; /* for people: the id, with the name behind it when that is known */
};

/*
 * The campaign of this id, or the only one that has text in its name (any case) or whose id begins so; one that is called
 * exactly so goes before others. trash: "no", "only" or "also". What is wrong has been said: CTL_NOT_FOUND; CTL_CONFLICT when
 * there are several, which are listed.
 */
enum ctl_exit ctl_name_campaign(struct ctl_name *out, struct ctl *c, const char *text, const char *trash);

/* The player of this id, with this code, or the only one whose id begins so. */
enum ctl_exit ctl_name_player(struct ctl_name *out, struct ctl *c, const char *text);

#define NAME_KEY_BYTES 520

/*
 * A title or name of a peer's as paths have it: as it is when it is made of plain characters, else ~ and hex. What already is
 * such a key (~ and hex digits, from a list's title_key) stays. False: too long.
 */
bool ctl_name_key(char out[NAME_KEY_BYTES], const char *text);

#endif

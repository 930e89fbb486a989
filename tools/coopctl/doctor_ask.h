/* What coopctl doctor asks of the server, and of the files it names. */
#ifndef COOPCTL_DOCTOR_ASK_H
#define COOPCTL_DOCTOR_ASK_H

#include "coopctl/client.h"
#include "coopctl/doctor.h"

/* Everything that the server says; with is_reached false nothing but why is filled in. */
void doctor_ask(struct doctor_facts *f, struct ctl *c);

/* The manifest in the folder dir, and its package; key: a path, "" for none. Into manifest*. */
void doctor_look_at_update(struct doctor_facts *f, const char *dir, const char *key);

/* What `coopd --version` says: of the coopd beside this program, or of the one in PATH. */
void doctor_ask_versions(struct doctor_facts *f);

#endif

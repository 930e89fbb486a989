/*
 * What a script is played with: the server, the actors, what was kept under a $name, and a record of what was said.
 * Shared by play.c, actor.c and message.c; one script is played per process.
 */
#ifndef TESTS_STAGE_H
#define TESTS_STAGE_H

#include "scenario/actor.h"
#include "scenario/script.h"
#include "support/server.h"

#include <stdint.h>
#include <stdio.h>

#define STAGE_ACTORS_MAX    16
#define STAGE_VARIABLES_MAX 16

struct stage_variable {
	char name[SCRIPT_WORD_BYTES];
	char value[SCRIPT_WORD_BYTES];
};

struct stage {
	const char           *file;
	struct script         script;
	struct script_step   *step; /* being played */
	struct server        *server;
	int64_t               real_start_ms;
	uint32_t              echoes; /* the clock value in the next ECHO */
	struct actor          actors[STAGE_ACTORS_MAX];
	size_t                actor_count;
	struct stage_variable variables[STAGE_VARIABLES_MAX];
	size_t                variable_count;
	FILE                 *talk;
	char                 *talk_text;
	size_t                talk_len;
};

/* The script's time, which is the server's since the start. */
int64_t stage_now_ms(const struct stage *s);

/* A line of the record, which is printed when the script fails. */
void stage_note(struct stage *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the test, naming the step. */
void stage_fail(struct stage *s, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* The actor of this name, new on first sight. */
struct actor *stage_actor(struct stage *s, const char *name);

/* "$X" is what was kept as X, any other word itself. */
const char *stage_value(struct stage *s, const char *word);
void        stage_keep(struct stage *s, const char *name, const char *value);

/* Words of the step; what is missing, or is not of this kind, fails. */
const char *stage_word(struct stage *s, int i);
const char *stage_text(struct stage *s, int i); /* in double quotes */
unsigned    stage_number(struct stage *s, const char *word);
const char *stage_option(struct stage *s, const char *name, const char *otherwise); /* the value of name=value */

#endif

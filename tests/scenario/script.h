/*
 * The language of the scenarios, read into steps. What a step means is in play.h.
 *
 *	# The host drops; his friends wait five minutes for him, not longer.
 *	at 0s     host    opens key=A            ; host   gets CODE as $CODE
 *	at 1s     friend  joins code=$CODE       ; friend gets JOINED ready
 *	          host    gets FRIEND_IS 1 key=friend
 *	at 10s    host    drops                  ; friend gets STATE lost
 *	by 5m15s not before 5m10s
 *	          friend  gets STATE closed, then is closed
 *
 * A statement is an actor, a verb and what belongs to it. `;` stands between two statements, `, then` between two
 * of one actor; a line ends a statement too, unless it only says when. "text in double quotes" is one word. `#`
 * begins a comment.
 *
 * Times count from the start of the script, in the clock that the server sees: 500ms, 10s, 5m15s, 2h, 60d.
 *
 *	at TIME                     the clock is moved there first
 *	by TIME                     an expectation; the clock is moved until it is met, at most to there
 *	by TIME not before TIME     the same, and it must not be met earlier
 */
#ifndef TESTS_SCRIPT_H
#define TESTS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRIPT_WORDS_MAX  48
#define SCRIPT_WORD_BYTES 96

enum script_when { SCRIPT_NOW, SCRIPT_AT, SCRIPT_BY };

struct script_step {
	int              line;
	enum script_when when;
	int64_t          time_ms;                                    /* of AT and BY */
	int64_t          not_before_ms;                              /* of BY; 0: any time is right */
	int              word_count;                                 /* at least 2 */
	char             words[SCRIPT_WORDS_MAX][SCRIPT_WORD_BYTES]; /* [0] is the actor; quoted text begins with a " */
};

struct script {
	struct script_step *steps;
	size_t              count;
};

/* False and a sentence with the line's number in why when the text is no script. Free with script_free, on success. */
bool script_parse(struct script *out, const char *text, char *why, size_t why_cap);
void script_free(struct script *s);

/* "5m15s" in milliseconds. False when the word is no time. */
bool script_time(int64_t *out_ms, const char *word);

#endif

/*
 * What the run's figures say: each thing that must hold, whether it does, and why it is thought so.
 */
#ifndef SOAK_JUDGE_H
#define SOAK_JUDGE_H

#include "soak_watch.h"

#define SOAK_VERDICTS_MAX 40

struct soak_verdict {
	const char *what;
	bool        holds;
	char        why[300];
};

struct soak_verdicts {
	size_t              count;
	struct soak_verdict of[SOAK_VERDICTS_MAX];
};

/* What only the main thread knows. */
struct soak_outcome {
	unsigned restarts_asked, restarts_well;
	unsigned log_errors, log_warnings, sanitizer_reports;
	char     log_error[300]; /* the last */
	bool     sanitizers;     /* the server was built with them: its memory is theirs, and not judged */
};

/* True when all holds. */
bool soak_judge(struct soak_verdicts *out, const struct soak_outcome *o);

#endif

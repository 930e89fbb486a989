/*
 * The operator's page in a real browser: one scenario of tests/e2e/run.mjs, run beside the test.
 *
 *	static const struct page_act acts[] = { { "open_game", open_game }, { 0 } };
 *
 *	page_run("game", acts);
 *
 * What a scenario cannot do itself it asks for by a line "@open_game rest"; the act writes the answer, one line. Its
 * environment is the test's: set what it needs before. Where there is no browser, or npm has brought nothing, it says so, and
 * nothing is tested.
 */
#ifndef TESTS_PAGE_RUN_H
#define TESTS_PAGE_RUN_H

#include <stddef.h>

#define PAGE_ANSWER_BYTES 200
#define PAGE_SCENARIO_MS  280000

struct page_act {
	const char *word; /* NULL: the end */
	void (*act)(char out[PAGE_ANSWER_BYTES], const char *rest);
};

/* The test fails unless all of the scenario holds; what does not, it has said. acts NULL: it asks for nothing. */
void page_run(const char *scenario, const struct page_act *acts);

#endif

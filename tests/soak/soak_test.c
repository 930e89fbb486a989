/*
 * The soak test itself, in its shortest form: it must still start, go through its lives and find nothing; and what it is there to find
 * it must find.
 */
#include "base/auto.h"
#include "support/data_folder.h"
#include "support/program.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 120000

static int soak(const char *minutes, const char *plant)
{
	const char *program = getenv("SOAK_BIN"), *server = getenv("COOPD_PLAIN_BIN");

	cr_assert(program && server, "SOAK_BIN and COOPD_PLAIN_BIN must name the soak test and the server");
	setenv("COOPD_BIN", server, 1);
	setenv("TMPDIR", data_folder(), 1);
	if (plant)
		setenv("SOAK_PLANT", plant, 1);

	struct program *p      = program_start((const char *[]){ "env", program, "--minutes", minutes, "--load", "0.4",
	                                                         "--out", data_folder(), NULL });
	int             status = program_await_end(p, PATIENCE_MS);

	if (status != (plant ? 1 : 0))
		program_print_output(p);
	program_stop(p);
	return status;
}

/* All of a file, for free(). */
static char *read_report(const char *name)
{
	FILE  *f    = fopen(data_path(name), "re");
	char  *text = NULL;
	size_t cap  = 0;

	cr_assert_not_null(f, "there is no %s", name);
	cr_assert_gt(getdelim(&text, &cap, '\0', f), 0, "%s is empty", name);
	fclose(f);
	return text;
}

Test(soak, seven_seconds_of_everything_pass)
{
	cr_assert_eq(soak("0.12", NULL), 0);

	AUTO(auto_free) char *text  = read_report("report.txt");
	AUTO(auto_free) char *chart = read_report("report.svg");

	cr_expect(strstr(text, "all holds"));
	cr_expect_null(strstr(text, "FAILED"));
	cr_expect(strstr(chart, "</svg>"));
}

Test(soak, a_lost_checkpoint_is_noticed)
{
	cr_assert_eq(soak("0.08", "lost"), 1);

	AUTO(auto_free) char *text = read_report("report.txt");

	cr_expect(strstr(text, "FAILED nothing acknowledged was lost"), "%s", text);
}

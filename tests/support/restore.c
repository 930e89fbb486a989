#include "support/restore.h"

#include "base/auto.h"
#include "support/admin_client.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define COMMAND_BYTES (4 * PATH_MAX)

void restore_shell(const char *format, ...)
{
	char    command[COMMAND_BYTES];
	va_list args;

	va_start(args, format);
	cr_assert_lt(vsnprintf(command, sizeof(command), format, args), COMMAND_BYTES);
	va_end(args);
	cr_assert_eq(system(command), 0, "%s", command); /* NOLINT(cert-env33-c): of our own making */
}

void restore_backup(const struct server *s, const char *place)
{
	char body[PATH_MAX + 20];

	snprintf(body, sizeof(body), "{\"dest\":\"%s\"}", place);
	AUTO(rest_freep) struct http_result r = admin_ask(s, "POST", "/admin/v1/backup", body);

	cr_assert_eq(r.status, 200, "%d %s", r.status, r.body ? r.body : "");
}

static char *read_all(FILE *from)
{
	char  *text = NULL;
	size_t len  = 0;
	FILE  *out  = open_memstream(&text, &len);
	char   piece[4096];
	size_t n;

	cr_assert_not_null(out);
	while ((n = fread(piece, 1, sizeof(piece), from)) > 0)
		fwrite(piece, 1, n, out);
	cr_assert_eq(fclose(out), 0);
	return text;
}

static int run(char **said, const char *command)
{
	FILE                 *out = popen(command, "r"); /* NOLINT(cert-env33-c): of our own making */
	AUTO(auto_free) char *text;
	int                   status;

	cr_assert_not_null(out);
	text   = read_all(out);
	status = pclose(out);
	if (said)
		*said = TAKE(text);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

int restore_coopd(char **said, const char *format, ...)
{
	char    options[COMMAND_BYTES - 200], command[COMMAND_BYTES];
	va_list args;

	va_start(args, format);
	cr_assert_lt(vsnprintf(options, sizeof(options), format, args), (int)sizeof(options));
	va_end(args);
	cr_assert_lt(snprintf(command, sizeof(command), "timeout 60 '%s' %s 2>&1", getenv("COOPD_BIN"), options),
	             COMMAND_BYTES);
	return run(said, command);
}

int restore_into(char **said, const char *data, const char *src, const char *more)
{
	char command[COMMAND_BYTES];

	snprintf(command, sizeof(command),
	         "exec '%s' --data '%s' --set limits.store_free_floor=0 %s --restore '%s' 2>&1", getenv("COOPD_BIN"),
	         data, more, src);
	return run(said, command);
}

unsigned long restore_sum(const char *folder)
{
	char                  command[COMMAND_BYTES];
	AUTO(auto_free) char *said = NULL;

	/* What SQLite keeps for those who read is no content. */
	snprintf(command, sizeof(command),
	         "cd '%s' && find . -type f ! -name lock ! -name '*.db-shm' ! -empty | sort | xargs -r cksum | cksum",
	         folder);
	cr_assert_eq(run(&said, command), 0);
	return strtoul(said, NULL, 10);
}

void restore_check_whole(const struct server *s)
{
	char                  command[COMMAND_BYTES];
	AUTO(auto_free) char *said = NULL, *blobs = NULL;

	snprintf(command, sizeof(command),
	         "sqlite3 -readonly '%s/coop.db' 'PRAGMA integrity_check; PRAGMA foreign_key_check'", s->data);
	cr_assert_eq(run(&said, command), 0);
	cr_assert_str_eq(said, "ok\n");
	snprintf(command, sizeof(command), "exec '%s' --data '%s' --verify-blobs 2>&1", getenv("COOPD_BIN"), s->data);
	cr_assert_eq(run(&blobs, command), 0, "%s", blobs);
}

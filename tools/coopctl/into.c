#include "coopctl/into.h"

#include "base/auto.h"
#include "base/text.h"
#include "coopctl/act.h"
#include "coopctl/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum ctl_exit fetch(struct ctl *c, const char *path, FILE *out)
{
	return client_ask(NULL, c, &(struct client_request){ .path = path, .patient = true, .to = out });
}

static enum ctl_exit cannot_write(const struct ctl *c, const char *to)
{
	return ctl_fail(c, CTL_REFUSED, "output", "\"%s\" cannot be written: %s", to, strerror(errno));
}

static enum ctl_exit into_stdout(struct ctl *c, const char *path)
{
	if (isatty(STDOUT_FILENO))
		return ctl_fail(c, CTL_USAGE, "usage",
		                "standard output is a terminal, which bytes could upset: -o FILE");
	return fetch(c, path, stdout);
}

enum ctl_exit into_file(struct ctl *c, const char *path, const char *to)
{
	char          part[PATH_MAX], question[PATH_MAX + 64];
	enum ctl_exit e = CTL_OK;

	if (strcmp(to, "-") == 0)
		return into_stdout(c, path);
	if (!text_format(part, sizeof(part), "%s.XXXXXX", to))
		return ctl_fail(c, CTL_USAGE, "usage", "the name of the file is too long");
	text_format(question, sizeof(question), "\"%s\" is there already. Replace it?", to);
	if (access(to, F_OK) == 0)
		e = act_confirm(c, question);
	if (e != CTL_OK)
		return e;

	int   fd  = mkstemp(part);
	FILE *out = fd >= 0 ? fdopen(fd, "wb") : NULL;

	if (!out)
		return cannot_write(c, to);
	e = fetch(c, path, out);

	bool written = fflush(out) == 0 && fsync(fd) == 0;

	written = fclose(out) == 0 && written;
	if (e == CTL_OK && (!written || rename(part, to) != 0))
		e = cannot_write(c, to);
	if (e != CTL_OK)
		unlink(part);
	else if (!c->json)
		fprintf(stderr, "Saved as %s.\n", to);
	return e;
}

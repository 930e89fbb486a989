/*
 * coopctl: the operator's command line. ctl.h says how it is made.
 */
#include "coopctl/ctl.h"

#include "base/version.h"
#include "coopctl/client.h"

#include <langinfo.h>
#include <locale.h>
#include <string.h>

/* Terminals show UTF-8 nowadays, also where nobody set a locale: ssh, cron. */
static void use_utf8(void)
{
	if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
}

static enum ctl_exit run(struct ctl *c, enum ctl_instead instead)
{
	enum ctl_exit e = CTL_OK;

	switch (instead) {
	case CTL_HELP:
		ctl_print_help(stdout, c->group, c->command);
		return CTL_OK;
	case CTL_VERSION:
		printf("coopctl %s\n", COOPD_VERSION);
		return CTL_OK;
	case CTL_MAN:
		ctl_print_man(stdout);
		return CTL_OK;
	case CTL_RUN:
		break;
	}
	e = ctl_look_up_where(c);
	if (e == CTL_OK)
		e = c->command->run(c);
	client_fini(c);
	return e;
}

int main(int argc, char **argv)
{
	struct ctl       c = { .json = false };
	enum ctl_instead instead;

	use_utf8();

	enum ctl_exit e = ctl_parse(&c, &instead, argc, (const char *const *)argv);

	if (e == CTL_OK)
		e = run(&c, instead);
	if (fflush(stdout) != 0 && e == CTL_OK)
		e = ctl_fail(&c, CTL_REFUSED, "output", "standard output cannot be written");
	return (int)e;
}

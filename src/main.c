/*
 * coopd: the command line.
 */
#include "base/auto.h"
#include "base/base_version.h"
#include "base/err.h"
#include "base/version.h"
#include "cloud/relay_import.h"
#include "conf/conf.h"
#include "crypt/crypt_version.h"
#include "net/http.h"
#include "net/net_version.h"
#include "os/clock.h"
#include "os/service.h"
#include "os/signals.h"
#include "os/successor.h"
#include "server.h"
#include "server_handover.h"
#include "server_options.h"
#include "store/blob_verify.h"
#include "store/restore.h"
#include "store/store_version.h"
#include "update/update_serve.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void print_errors(FILE *out)
{
	fputs("| code | HTTP | tunnel FAULT | what it means |\n| --- | --- | --- | --- |\n", out);
	for (int e = ERR_OK + 1; e < ERR_COUNT; e++) {
		int  fault    = err_tunnel((enum err)e);
		char text[12] = "";

		if (fault != 0)
			snprintf(text, sizeof(text), "%d", fault);
		fprintf(out, "| `%s` | %d | %s | %s |\n", err_rest((enum err)e), err_http((enum err)e), text,
		        err_people((enum err)e));
	}
}

static void print_versions(FILE *out)
{
	fprintf(out, "coopd %s\n", COOPD_VERSION);
	base_print_versions(out);
	crypt_print_versions(out);
	net_print_versions(out);
	store_print_versions(out);
}

/* What only prints; true when that was asked for. */
static bool print_instead(int option)
{
	switch (option) {
	case SERVER_OPT_SAMPLE:
		conf_print_sample(stdout);
		return true;
	case SERVER_OPT_SETTINGS:
		conf_print_settings_reference(stdout);
		return true;
	case SERVER_OPT_LIMITS:
		conf_print_limits_reference(stdout);
		return true;
	case SERVER_OPT_ERRORS:
		print_errors(stdout);
		return true;
	case SERVER_OPT_VERSION:
		print_versions(stdout);
		return true;
	case SERVER_OPT_HELP:
		server_options_print_help(stdout);
		return true;
	case SERVER_OPT_MAN:
		server_options_print_man(stdout);
		return true;
	case SERVER_OPT_MAN_CONF:
		conf_print_man(stdout);
		return true;
	default:
		return false;
	}
}

#define SETS_MAX 64

struct command {
	struct conf_args   args;
	const char        *sets[SETS_MAX];
	char              *owned[SETS_MAX]; /* the same, for free() */
	const struct task *task;            /* NULL: it serves */
	const char        *source;          /* of a task that has one */
	bool               take_damaged;
};

/* Adds "server.data=VALUE" for --data, the value itself for --set. False when it does not fit, which it says. */
static bool add_set(struct command *cmd, const char *prefix, const char *value)
{
	size_t n = cmd->args.set_count;

	if (n == SETS_MAX) {
		fprintf(stderr, "coopd: more than %d settings on the command line; put them into a file.\n", SETS_MAX);
		return false;
	}
	if (asprintf(&cmd->owned[n], "%s%s", prefix, value) < 0) {
		cmd->owned[n] = NULL;
		fputs("coopd: out of memory.\n", stderr);
		return false;
	}
	cmd->sets[n]        = cmd->owned[n];
	cmd->args.sets      = cmd->sets;
	cmd->args.set_count = n + 1;
	return true;
}

/* What coopd does instead of serving. One thing at a time: with two of them, one would silently not be done. */
static const struct task {
	int         option;
	const char *name;
	bool        has_source;
} tasks[] = {
	{ SERVER_OPT_CHECK, "check-config", false },  { SERVER_OPT_PRINT, "print-config", false },
	{ SERVER_OPT_VERIFY, "verify-blobs", false }, { SERVER_OPT_RESTORE, "restore", true },
	{ SERVER_OPT_IMPORT, "import", true },        { SERVER_OPT_IMPORT_CHECK, "import-check", true },
};

/* False when it cannot be, which it says. */
static bool take_task(struct command *cmd, int option, const char *source)
{
	const struct task *t = NULL;

	for (size_t i = 0; i < COUNT_OF(tasks); i++)
		t = tasks[i].option == option ? &tasks[i] : t;
	if (!t)
		fputs("coopd --help lists the options.\n", stderr);
	else if (t->has_source && !*source)
		fprintf(stderr, "coopd: --%s needs the name of a folder.\n", t->name);
	else if (cmd->task && cmd->task != t)
		fprintf(stderr, "coopd: --%s and --%s are two things; do one after the other.\n", cmd->task->name,
		        t->name);
	else if (cmd->task && t->has_source)
		fprintf(stderr, "coopd: --%s is given twice; name one folder.\n", t->name);
	else {
		cmd->task   = t;
		cmd->source = source;
		return true;
	}
	return false;
}

static int task_option(const struct command *cmd)
{
	return cmd->task ? cmd->task->option : 0;
}

/* Reads the command line; -1 to go on, else the exit status. */
static int parse(struct command *cmd, int argc, char **argv)
{
	struct option options[SERVER_OPTIONS + 1];
	int           option;

	server_options_fill(options);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		bool ok = true;

		if (print_instead(option))
			return fflush(stdout) == 0 ? 0 : 1;
		switch (option) {
		case SERVER_OPT_CONFIG:
			cmd->args.file = optarg;
			break;
		case SERVER_OPT_DATA:
			ok = add_set(cmd, "server.data=", optarg);
			break;
		case SERVER_OPT_SET:
			ok = add_set(cmd, "", optarg);
			break;
		case SERVER_OPT_DAMAGED:
			cmd->take_damaged = true;
			break;
		default:
			if (!take_task(cmd, option, optarg))
				return 2;
			break;
		}
		if (!ok)
			return 1;
	}
	if (optind < argc) {
		fprintf(stderr, "coopd: \"%s\" is not an option; coopd --help lists them.\n", argv[optind]);
		return 2;
	}
	if (cmd->take_damaged && task_option(cmd) != SERVER_OPT_RESTORE) {
		fputs("coopd: --restore-damaged says how to restore; name the backup with --restore.\n", stderr);
		return 2;
	}
	return -1;
}

/* The settings are good; the files that they name, and that a start needs, are looked at too. */
static bool check(const struct conf *conf, FILE *report)
{
	struct http_cert *cert   = NULL;
	bool              served = http_cert_load(&cert, conf, report) == ERR_OK;

	http_cert_free(cert);
	return update_check(conf, report) == ERR_OK && served;
}

/* Who is to take over looks at all of it before the other one leaves. */
static int serve(struct conf *conf, const struct conf_args *args, FILE *report)
{
	if (report != stderr && !check(conf, report)) {
		handover_answer(report, false);
		return 1;
	}
	return server_run(conf, args, report);
}

static int run(struct command *cmd)
{
	struct conf conf;

	if (cmd->task)
		signals_release(); /* no server that would take them */

	FILE *report = handover_report();
	int   status = 0;

	if (conf_load(&conf, &cmd->args, report) != ERR_OK) {
		handover_answer(report, false);
		return 1;
	}

	switch (task_option(cmd)) {
	case SERVER_OPT_PRINT:
		conf_print(&conf, stdout);
		break;
	case SERVER_OPT_CHECK:
		status = check(&conf, stderr) && puts("The configuration is good.") >= 0 ? 0 : 1;
		break;
	case SERVER_OPT_VERIFY:
		status = blob_verify_main(&conf, stdout);
		break;
	case SERVER_OPT_RESTORE:
		status = (int)restore_run(&conf, cmd->source, cmd->take_damaged, stdout, stderr);
		break;
	case SERVER_OPT_IMPORT:
	case SERVER_OPT_IMPORT_CHECK:
		status = relay_import_main(&conf, cmd->source, task_option(cmd) == SERVER_OPT_IMPORT_CHECK, stdout);
		break;
	default:
		status = serve(&conf, &cmd->args, report);
	}
	conf_fini(&conf);
	return status;
}

/* A closed standard stream would become the number of a socket, and the log would go to a player. */
static bool open_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	return fd >= 0 && close(fd) == 0;
}

int main(int argc, char **argv)
{
	struct command cmd = { .args = { .env = environ } };

	signals_hold();
	if (!open_standard_streams()) {
		fputs("coopd: /dev/null cannot be opened; is the machine out of file descriptors?\n", stderr);
		return 1;
	}
	service_begin();
	successor_begin(argv);
	clock_init();

	int status = parse(&cmd, argc, argv);

	if (status < 0)
		status = run(&cmd);
	for (size_t i = 0; i < cmd.args.set_count; i++)
		free(cmd.owned[i]);
	return status;
}

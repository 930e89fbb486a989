/* coopctl events: what happens, as it happens. */
#include "coopctl/event_line.h"
#include "coopctl/stream.h"
#include "coopctl/value.h"

#include "base/auto.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* For programs: one object in one line. */
static void print_object(const json_t *message)
{
	AUTO(auto_free) char *text = json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII);

	if (!text)
		abort();
	puts(text);
}

/* One message. CTL_OK: go on. */
static enum ctl_exit show(const struct ctl *c, const json_t *message)
{
	const char *op  = json_string_value(json_object_get(message, "op"));
	const char *why = json_string_value(json_object_get(message, "message"));

	if (strcmp(op, "error") == 0)
		return ctl_fail(c, CTL_REFUSED, "refused", "%s", why ? why : "the server does not say why");
	if (c->json)
		print_object(message);
	else
		event_print(c, stdout, message);
	return CTL_OK;
}

static enum ctl_exit take(const struct ctl *c, struct stream *s, bool *over)
{
	struct stream_item item;
	enum ctl_exit      e = CTL_OK;

	while (e == CTL_OK && stream_next(&item, s)) {
		switch (item.what) {
		case STREAM_MESSAGE:
			e = show(c, item.message);
			break;
		case STREAM_DOWN:
			if (!c->json)
				fprintf(stderr, "coopctl: %s; trying again\n", item.text);
			break;
		case STREAM_OVER:
			e = ctl_fail(c, item.exit, item.code, "%s", item.text);
			break;
		case STREAM_UP:
			break;
		}
		json_decref(item.message);
	}
	*over = e != CTL_OK;
	/* Whoever reads a pipe has each line at once, and its end is noticed. */
	if (fflush(stdout) != 0)
		*over = true;
	return e;
}

/* Until a signal comes. */
static enum ctl_exit watch(const struct ctl *c, struct stream *s, int signals)
{
	struct pollfd fds[] = { { .fd = stream_fd(s), .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	enum ctl_exit e     = CTL_OK;
	bool          over  = false;

	while (!over) {
		if (poll(fds, COUNT_OF(fds), -1) < 0)
			continue;
		e    = take(c, s, &over);
		over = over || fds[1].revents;
	}
	return e;
}

static enum ctl_exit run_events(struct ctl *c)
{
	const char         *kinds[CTL_VALUES_MAX];
	struct stream_wish  wish = { .kinds      = kinds,
		                     .kind_count = ctl_values(kinds, CTL_VALUES_MAX, c, "kind"),
		                     .figures    = ctl_given(c, "figures"),
		                     .has_since  = ctl_given(c, "since") };
	struct stream_place place;
	struct stream      *s;
	sigset_t            ends;
	enum ctl_exit       e = stream_find(&place, c, ctl_value(c, "events-socket"));

	if (e != CTL_OK)
		return e;
	value_of(&wish.since, c, "since");
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);

	int signals = signalfd(-1, &ends, SFD_CLOEXEC);

	s = stream_open(c, &place, &wish);
	e = watch(c, s, signals);
	stream_close(s);
	close(signals);
	return e;
}

static const struct ctl_option options[] = {
	{ .name  = "kind",
	  .value = "KIND",
	  .many  = true,
	  .help  = "only these: game.opened, or game.* for all of its kind; may be given more than once" },
	{ .name = "figures", .help = "also the server's figures, once a second" },
	{ .name  = "since",
	  .value = "SEQ",
	  .kind  = CTL_NUMBER,
	  .help  = "begin with what happened after the event of this number, as far as the server has it" },
	{ .name  = "events-socket",
	  .value = "PATH",
	  .help  = "unix socket of the events; else the one beside the API's" },
	{ 0 },
};

static const struct ctl_command commands[] = {
	{ "", "", "show what happens, as it happens, until Ctrl-C",
	  "One line for each event: when, what, and to whom; with --json one object in each line, as the server sends "
	  "it. When "
	  "the connection ends, it comes back by itself and asks for what it missed; a line \"lost\" says how many "
	  "events "
	  "are gone for good.\n\n"
	  "With --url the events are asked for at admin.events_listen of the server, at the URL's own host: a tunnel "
	  "has to "
	  "carry that port too. With https:// they are asked for at the same address.",
	  options,
	  "coopctl events\ncoopctl events --kind 'game.*' --kind 'friend.*'\ncoopctl events --json --kind admin.action "
	  "| jq "
	  ".action  # what operators do\nssh -L 10002:127.0.0.1:10002 -L 64191:127.0.0.1:64191 SERVER  # then: coopctl "
	  "events --url http://127.0.0.1:10002",
	  run_events },
	{ 0 },
};
const struct ctl_group ctl_events = { "events", "what happens, live", commands };

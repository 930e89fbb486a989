/* coopctl top: the server at work, on a screen that stays. */
#include "coopctl/client.h"
#include "coopctl/print.h"
#include "coopctl/stream.h"
#include "coopctl/top.h"

#include "base/auto.h"

#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define GAMES_EVERY_MS   2000
#define ONCE_PATIENCE_MS 5000
#define RECENT           50

struct watch {
	struct ctl        *c;
	struct stream     *stream;
	struct top         top;
	int64_t            games_at; /* when they are asked for again */
	bool               is_over;
	enum ctl_exit      exit;
	struct stream_item last; /* why it is over */
};

static int64_t now_ms(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- What comes --- */

static void ask_games(struct watch *w)
{
	const struct client_request rq = { .path = "/games?limit=1000", .hasty = true };
	struct client_answer        a;

	client_try(&a, w->c, &rq);
	if (a.exit == CTL_OK && json_is_array(json_object_get(a.json, "items")))
		top_games(&w->top, json_object_get(a.json, "items"));
	else if (strcmp(a.code, "part_off") != 0)
		top_note(&w->top, a.message);
	client_answer_free(&a);
	w->games_at = now_ms() + GAMES_EVERY_MS;
}

static void take(struct watch *w)
{
	struct stream_item item;

	while (!w->is_over && stream_next(&item, w->stream)) {
		switch (item.what) {
		case STREAM_UP:
			top_hello(&w->top, item.message);
			top_note(&w->top, "");
			break;
		case STREAM_MESSAGE:
			top_message(&w->top, item.message);
			break;
		case STREAM_DOWN:
			top_note(&w->top, item.text);
			break;
		case STREAM_OVER:
			w->is_over = true;
			w->last    = item;
			break;
		}
		json_decref(item.message);
	}
}

/* --- Once --- */

static enum ctl_exit show_once(struct watch *w)
{
	struct pollfd   fd    = { .fd = stream_fd(w->stream), .events = POLLIN };
	int64_t         until = now_ms() + ONCE_PATIENCE_MS;
	struct top_view view;

	while (!w->top.figures && !w->is_over && now_ms() < until) {
		poll(&fd, 1, (int)(until - now_ms()));
		take(w);
	}
	if (w->is_over)
		return CTL_OK;
	if (!w->top.figures)
		return ctl_fail(w->c, CTL_UNREACHABLE, "timeout", "the server sends no figures");
	ask_games(w);
	if (w->c->json) {
		json_t *j = top_json(&w->top);

		print_json(stdout, j);
		json_decref(j);
		return CTL_OK;
	}
	top_render(&view, &w->top, w->c->columns, 0);
	for (size_t i = 0; i < view.count; i++)
		puts(view.lines[i].text);
	top_view_fini(&view);
	return CTL_OK;
}

/* --- Live --- */

static void draw(struct watch *w)
{
	static const attr_t attributes[] = { [TOP_PLAIN] = A_NORMAL, [TOP_BOLD] = A_BOLD, [TOP_BAR] = A_REVERSE };
	struct top_view     view;

	top_render(&view, &w->top, (size_t)COLS, (size_t)LINES);
	erase();
	for (size_t i = 0; i < view.count; i++) {
		attrset((int)attributes[view.lines[i].style]);
		mvaddstr((int)i, 0, view.lines[i].text);
		for (size_t at = print_width(view.lines[i].text); view.lines[i].style == TOP_BAR && at < (size_t)COLS;
		     at++)
			addch(' ');
	}
	attrset(A_NORMAL);
	refresh();
	top_view_fini(&view);
}

static int key_of(int key)
{
	switch (key) {
	case KEY_UP:
		return TOP_KEY_UP;
	case KEY_DOWN:
		return TOP_KEY_DOWN;
	case KEY_PPAGE:
		return TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return TOP_KEY_PAGE_DOWN;
	case KEY_HOME:
		return TOP_KEY_HOME;
	default:
		return key;
	}
}

static bool take_keys(struct watch *w)
{
	for (int key; (key = getch()) != ERR;)
		if (key != KEY_RESIZE && !top_key(&w->top, key_of(key)))
			return false;
	return true;
}

static void live(struct watch *w, int signals)
{
	struct pollfd fds[] = { { .fd = stream_fd(w->stream), .events = POLLIN },
		                { .fd = STDIN_FILENO, .events = POLLIN },
		                { .fd = signals, .events = POLLIN } };

	while (!w->is_over) {
		int64_t left = w->games_at - now_ms();

		if (left <= 0)
			ask_games(w);
		draw(w);
		/* A new size of the terminal interrupts it. */
		poll(fds, COUNT_OF(fds), left > 0 ? (int)left : GAMES_EVERY_MS);
		take(w);
		if (!take_keys(w) || fds[2].revents || fds[1].revents & (POLLHUP | POLLERR))
			return;
	}
}

static enum ctl_exit show_live(struct watch *w, int signals)
{
	SCREEN *screen = newterm(NULL, stdout, stdin);

	if (!screen)
		return ctl_fail(w->c, CTL_USAGE, "usage",
		                "this terminal is not known (TERM); coopctl top --once needs none");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	live(w, signals);
	endwin();
	delscreen(screen);
	return CTL_OK;
}

static enum ctl_exit run_top(struct ctl *c)
{
	const struct stream_wish wish = { .figures = true, .recent = RECENT };
	bool                once = ctl_given(c, "once") || c->json || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO);
	struct watch        w    = { .c = c };
	struct stream_place place;
	sigset_t            ends;
	enum ctl_exit       e = stream_find(&place, c, ctl_value(c, "events-socket"));

	if (e != CTL_OK)
		return e;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	if (!once)
		sigprocmask(SIG_BLOCK, &ends, NULL);

	int signals = signalfd(-1, &ends, SFD_CLOEXEC);

	top_init(&w.top);
	w.stream = stream_open(c, &place, &wish);
	e        = once ? show_once(&w) : show_live(&w, signals);
	if (w.is_over)
		e = ctl_fail(c, w.last.exit, w.last.code, "%s", w.last.text);
	stream_close(w.stream);
	close(signals);
	top_fini(&w.top);
	return e;
}

static const struct ctl_option options[] = {
	{ .name = "once", .help = "print what there is to see and end; so it does without a terminal" },
	{ .name  = "events-socket",
	  .value = "PATH",
	  .help  = "unix socket of the events; else the one beside the API's" },
	{ 0 },
};

static const struct ctl_command commands[] = {
	{ "", "", "show figures, games and events in the terminal, live",
	  "Keys: q quits, p pauses, s and S choose the column by which games are sorted, r turns it round, the arrows "
	  "move "
	  "through the games, h helps. The figures are those of the last second. With --json everything is one object: "
	  "{\"version\",\"figures\",\"games\",\"events\"}.",
	  options, "coopctl top\ncoopctl top --once\ncoopctl top --json | jq .figures.loop_lag_ms", run_top },
	{ 0 },
};
const struct ctl_group ctl_top = { "top", "figures, games and events in the terminal, live", commands };

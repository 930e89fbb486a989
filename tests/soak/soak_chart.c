#include "soak_chart.h"

#include "soak_watch.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum {
	WIDTH   = 1080,
	MARGIN  = 24,
	GAP     = 28,
	HEAD    = 92,
	BIG_H   = 130,
	SMALL_H = 96,
	AXIS    = 52,
	ABOVE   = 26,
	BELOW   = 20,
	MIB     = 1 << 20
};

struct panel {
	double x, y, w, h; /* of what is drawn in, without axis and title */
	double top, bottom, end_s;
	bool   log;
};

/* One line of a panel: a value of the samples. */
struct line {
	const char *name; /* NULL: there is no other line */
	size_t      at;
	double      unit;
};

#define SAMPLE(member) offsetof(struct soak_sample, member)

static const struct {
	const char *title;
	struct line lines[3];
} panels[] = {
	{ "Memory, MiB resident", { { NULL, SAMPLE(rss), MIB } } },
	{ "Descriptors and threads", { { "descriptors", SAMPLE(fds), 1 }, { "threads", SAMPLE(threads), 1 } } },
	{ "Database, MiB", { { "coop.db", SAMPLE(database), MIB }, { "its log", SAMPLE(wal), MIB } } },
	{ "Checkpoints, MiB", { { NULL, SAMPLE(blobs), MIB } } },
	{ "Clients' connections", { { NULL, SAMPLE(clients), 1 } } },
	{ "Processors used", { { "server", SAMPLE(cpu), 1 }, { "clients", SAMPLE(own_cpu), 1 } } },
};
enum { PANELS = sizeof(panels) / sizeof(panels[0]), LINES = 3 };

static const char style[] =
	"<style>\n"
	"svg { --paper: #fcfcfb; --ink: #1c1c1a; --soft: #62625c; --grid: #e4e3df; --a: #2a78d6; --b: #d2571f; --end: "
	"#9a9890;\n"
	"  font: 12px system-ui, sans-serif }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"  svg { --paper: #1a1a19; --ink: #f2f1ec; --soft: #a9a89f; --grid: #34342f; --a: #5b9ef0; --b: #ee7f47; "
	"--end: #76756d }\n"
	"}\n"
	".paper { fill: var(--paper) } text { fill: var(--soft) } .title { fill: var(--ink); font-weight: 600 }\n"
	".head { fill: var(--ink); font-size: 18px; font-weight: 600 } .grid { stroke: var(--grid); stroke-width: 1 }\n"
	".end { stroke: var(--end); stroke-width: 1.2 } .kill { stroke-dasharray: 4 3 } .hand { stroke-dasharray: 1 2 "
	"}\n"
	".l0, .l1 { fill: none; stroke-width: 1.8; stroke-linejoin: round } .l0 { stroke: var(--a) } .l1 { stroke: "
	"var(--b) }\n"
	".n { text-anchor: end }\n"
	"</style>\n";

static const char *const end_classes[] = { [SOAK_STOPPED] = "", [SOAK_KILLED] = " kill", [SOAK_HANDED_OVER] = " hand" };

static double value(const struct soak_sample *s, const struct line *l)
{
	return *(const double *)(const void *)((const char *)s + l->at) / l->unit;
}

/* --- Places --- */

static double x_of(const struct panel *p, double at_s)
{
	return p->x + p->w * (p->end_s > 0 ? at_s / p->end_s : 0);
}

static double y_of(const struct panel *p, double v)
{
	double share =
		p->log ? (log10(v > p->bottom ? v : p->bottom) - log10(p->bottom)) / (log10(p->top) - log10(p->bottom))
		       : (v - p->bottom) / (p->top - p->bottom);

	return p->y + p->h * (1 - share);
}

/* 1, 2 or 5 times a power of ten, so that about three of them reach to most. */
static double step_for(double most)
{
	double power = pow(10, floor(log10(most > 0.003 ? most / 3 : 0.001)));
	double times = most / 3 / power;

	return power * (times > 5 ? 10 : times > 2 ? 5 : times > 1 ? 2 : 1);
}

/* --- Pieces --- */

static void grid_line(FILE *f, const struct panel *p, double v)
{
	fprintf(f, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text class=\"n\" x=\"%.1f\" y=\"%.1f\">%g</text>\n",
	        p->x, y_of(p, v), p->x + p->w, p->x - 6, y_of(p, v) + 4, v);
}

static void grid(FILE *f, const struct panel *p)
{
	if (p->log) {
		for (int i = 0; p->bottom * pow(10, i) <= p->top * 1.01; i++)
			grid_line(f, p, p->bottom * pow(10, i));
		return;
	}

	double step = step_for(p->top);

	for (int i = 0; i * step <= p->top * 1.001; i++)
		grid_line(f, p, i * step);
}

/* Minutes, or seconds of a short run. */
static void time_axis(FILE *f, const struct panel *p)
{
	double unit = p->end_s >= 120 ? 60 : 1;
	double step = step_for(p->end_s / unit * 0.6);

	for (int i = 0; i * step * unit <= p->end_s; i++)
		fprintf(f, "<text text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%g%s</text>\n", x_of(p, i * step * unit),
		        p->y + p->h + 15, i * step, i == 0 ? (unit > 1 ? " min" : " s") : "");
}

static void ends(FILE *f, const struct panel *p)
{
	for (uint32_t i = 0; i < soak.life && i < SOAK_LIVES_MAX; i++) {
		double at_s = -1;

		for (size_t k = 0; k < soak_series.sample_count; k++)
			if (soak_series.samples[k].life == i)
				at_s = soak_series.samples[k].at_s;
		/* The last end is that of the run. */
		if (at_s < 0 || at_s >= p->end_s - 1.5)
			continue;
		fprintf(f, "<path class=\"end%s\" d=\"M%.1f %.1fV%.1f\"/>\n", end_classes[soak.lives[i].end],
		        x_of(p, at_s), p->y, p->y + p->h);
	}
}

static void frame(FILE *f, const struct panel *p, const char *title)
{
	fprintf(f, "<text class=\"title\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", p->x, p->y - 9, title);
	grid(f, p);
	time_axis(f, p);
	ends(f, p);
}

/* Names of two lines, at the right above them. */
static void legend(FILE *f, const struct panel *p, const char *first, const char *second)
{
	const char *names[] = { first, second };

	for (int i = 0; i < 2; i++) {
		double x = p->x + p->w - 190 + i * 105;

		fprintf(f, "<path class=\"l%d\" d=\"M%.1f %.1fh14\"/><text x=\"%.1f\" y=\"%.1f\">%s</text>\n", i, x,
		        p->y - 13, x + 19, p->y - 9, names[i]);
	}
}

/* --- Panels of samples --- */

static void draw_line(FILE *f, const struct panel *p, const struct line *l, int number)
{
	bool pen_down = false;

	fprintf(f, "<path class=\"l%d\" d=\"", number);
	for (size_t i = 0; i < soak_series.sample_count; i++) {
		const struct soak_sample *s = &soak_series.samples[i];

		if (s->up)
			fprintf(f, "%c%.1f %.1f", pen_down ? 'L' : 'M', x_of(p, s->at_s), y_of(p, value(s, l)));
		pen_down = s->up;
	}
	fputs("\"/>\n", f);
}

static double most_of(const struct line lines[LINES])
{
	double most = 0;

	for (int k = 0; k < LINES && lines[k].unit > 0; k++)
		for (size_t i = 0; i < soak_series.sample_count; i++)
			if (soak_series.samples[i].up && value(&soak_series.samples[i], &lines[k]) > most)
				most = value(&soak_series.samples[i], &lines[k]);
	return most > 0 ? most : 1;
}

static void sample_panel(FILE *f, struct panel *p, int number)
{
	const struct line *lines = panels[number].lines;

	p->top = most_of(lines) * 1.05;
	frame(f, p, panels[number].title);
	if (lines[0].name)
		legend(f, p, lines[0].name, lines[1].name);
	for (int k = 0; k < LINES && lines[k].unit > 0; k++)
		draw_line(f, p, &lines[k], k);
}

/* --- Panels of latency --- */

static void latency_line(FILE *f, const struct panel *p, int surface, bool p99)
{
	bool pen_down = false;

	fprintf(f, "<path class=\"l%d\" d=\"", p99);
	for (size_t i = 0; i < soak_series.window_count; i++) {
		const struct soak_window *w = &soak_series.windows[i];

		if (w->of[surface].count == 0) {
			pen_down = false;
			continue;
		}
		fprintf(f, "%c%.1f %.1f", pen_down ? 'L' : 'M', x_of(p, w->at_s),
		        y_of(p, p99 ? w->of[surface].p99_ms : w->of[surface].p50_ms));
		pen_down = true;
	}
	fputs("\"/>\n", f);
}

static double highest_decade(void)
{
	double most = 10;

	for (size_t i = 0; i < soak_series.window_count; i++)
		for (int s = 0; s < SOAK_SURFACES; s++)
			while (soak_series.windows[i].of[s].p99_ms > most)
				most *= 10;
	return most;
}

static void latency_panel(FILE *f, struct panel *p, int surface)
{
	frame(f, p, soak_surface_names[surface]);
	latency_line(f, p, surface, true);
	latency_line(f, p, surface, false);
}

/* --- The whole --- */

static struct panel place(int number, int columns, double from_y, double height, double end_s)
{
	double w   = (WIDTH - 2 * MARGIN - (columns - 1) * GAP) / (double)columns;
	int    row = number / columns;

	return (struct panel){ .x     = MARGIN + (number % columns) * (w + GAP) + AXIS,
		               .y     = from_y + row * (height + ABOVE + BELOW + 14) + ABOVE,
		               .w     = w - AXIS,
		               .h     = height,
		               .end_s = end_s };
}

static void heading(FILE *f, const char *title, bool holds, int height)
{
	static const char *const names[] = { "told to stop", "killed", "handed over" };

	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n",
	        WIDTH, height, WIDTH, height);
	fprintf(f, "<title>%s</title>\n%s<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", title, style, WIDTH,
	        height);
	fprintf(f, "<text class=\"head\" x=\"%d\" y=\"36\">%s: %s</text>\n", MARGIN, title,
	        holds ? "all holds" : "something does not hold");
	for (int i = 0; i < 3; i++)
		fprintf(f, "<path class=\"end%s\" d=\"M%d 52v16\"/><text x=\"%d\" y=\"64\">%s</text>\n", end_classes[i],
		        MARGIN + 4 + 110 * i, MARGIN + 14 + 110 * i, names[i]);
}

bool soak_chart(const char *path, const char *title, bool holds)
{
	FILE  *f       = fopen(path, "we");
	double end_s   = soak_series.sample_count ? soak_series.samples[soak_series.sample_count - 1].at_s : 1;
	double lower_y = HEAD + PANELS / 2.0 * (BIG_H + ABOVE + BELOW + 14) + 34;
	int    rows    = (SOAK_SURFACES + 2) / 3;
	int    height  = (int)lower_y + rows * (SMALL_H + ABOVE + BELOW + 14) + MARGIN;

	if (!f)
		return false;
	heading(f, title, holds, height);
	for (int i = 0; i < (int)PANELS; i++) {
		struct panel p = place(i, 2, HEAD, BIG_H, end_s);

		sample_panel(f, &p, i);
	}

	struct panel whole = { .x = MARGIN, .y = lower_y - 4, .w = WIDTH - 2 * MARGIN };

	fprintf(f, "<text class=\"head\" x=\"%d\" y=\"%.1f\">Latency, ms (each step is ten times)</text>\n", MARGIN,
	        lower_y - 9);
	legend(f, &whole, "median", "99 of 100");
	for (int i = 0; i < SOAK_SURFACES; i++) {
		struct panel p = place(i, 3, lower_y, SMALL_H, end_s);

		p.log    = true;
		p.bottom = 0.01;
		p.top    = highest_decade();
		latency_panel(f, &p, i);
	}
	fputs("</svg>\n", f);
	return fclose(f) == 0;
}

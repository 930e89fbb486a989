/*
 * The figures, and the page read as a scraper reads it.
 */
#include "base/metric.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 128

static struct {
	char   name[NAME_BYTES]; /* of the last # HELP */
	char   type[NAME_BYTES]; /* of the # TYPE after it; empty before */
	char   names[METRIC_COUNT + HISTOGRAM_COUNT][NAME_BYTES];
	size_t names_len;
	char   samples[METRIC_COUNT][2 * NAME_BYTES + 8]; /* name and labels */
	size_t samples_len;
} page;

static void on_help(const char *line)
{
	char help[512];

	cr_assert_eq(sscanf(line, "# HELP %127[a-z0-9_] %511[^\n]", page.name, help), 2, "%s", line);
	for (size_t i = 0; i < page.names_len; i++)
		cr_expect_str_neq(page.names[i], page.name, "described twice");
	strcpy(page.names[page.names_len++], page.name);
	page.type[0] = '\0';
}

static bool is_histogram(void)
{
	return strcmp(page.type, "histogram") == 0;
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

static void on_type(const char *line)
{
	char name[NAME_BYTES];

	cr_assert_eq(sscanf(line, "# TYPE %127[a-z0-9_] %127s", name, page.type), 2, "%s", line);
	cr_expect_str_eq(name, page.name);
	cr_expect(strcmp(page.type, "counter") == 0 || strcmp(page.type, "gauge") == 0 || is_histogram(), "%s", line);
	cr_expect_eq(ends_in(name, "_total"), strcmp(page.type, "counter") == 0,
	             "counters, and they alone, end in _total: %s", line);
	cr_expect(!is_histogram() || ends_in(name, "_seconds"), "%s", line);
}

static const char *expected_seconds(int64_t us)
{
	static char text[40];

	snprintf(text, sizeof(text), " %" PRId64 ".%06" PRId64, us / 1000000, us % 1000000);
	return text;
}

static void on_sample(const char *line, int64_t expected)
{
	char    name[NAME_BYTES], labels[NAME_BYTES] = "", value_name[NAME_BYTES], value_text[NAME_BYTES];
	int64_t value;

	if (sscanf(line, "%127[a-z0-9_]{%127[^}]} %" SCNd64, name, labels, &value) != 3) {
		labels[0] = '\0';
		cr_assert_eq(sscanf(line, "%127[a-z0-9_] %" SCNd64, name, &value), 2, "%s", line);
	} else {
		cr_expect_eq(sscanf(labels, "%127[a-z_]=\"%127[^\"]\"", value_name, value_text), 2, "%s", line);
	}
	cr_expect_str_eq(name, page.name, "samples stand below their own description");
	cr_expect_neq(page.type[0], '\0');
	cr_expect(strncmp(name, "coopd_", 6) == 0 || strncmp(name, "process_", 8) == 0, "%s", line);
	/* That of microseconds is shown in seconds. */
	if (strcmp(name, "process_cpu_seconds_total") == 0)
		cr_expect(strstr(line, expected_seconds(expected)), "%s", line);
	else
		cr_expect_eq(value, expected, "%s", line);

	char *sample = page.samples[page.samples_len++];
	snprintf(sample, sizeof(page.samples[0]), "%s{%s}", name, labels);
	for (size_t i = 0; i + 1 < page.samples_len; i++)
		cr_expect_str_neq(page.samples[i], sample);
}

Test(metric, the_page_parses_and_shows_every_figure_once)
{
	size_t len;

	for (int m = 0; m < METRIC_COUNT; m++)
		metric_set((enum metric)m, 1000 + m);

	AUTO(auto_free) char *text = metric_text(&len);
	cr_assert_not_null(text);
	cr_expect_eq(strlen(text), len);
	cr_expect_eq(text[len - 1], '\n');

	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) && rest;) {
		if (strncmp(line, "# HELP ", 7) == 0)
			on_help(line);
		else if (strncmp(line, "# TYPE ", 7) == 0)
			on_type(line);
		else if (!is_histogram())
			on_sample(line, 1000 + (int64_t)page.samples_len);
	}
	cr_expect_eq(page.samples_len, METRIC_COUNT);
}

Test(metric, figures_start_at_zero_and_add_up)
{
	cr_expect_eq(metric_get(M_LOG_LOST), 0);
	metric_inc(M_LOG_LOST);
	metric_add(M_LOG_LOST, 5);
	metric_add(M_LOG_LOST, -2);
	cr_expect_eq(metric_get(M_LOG_LOST), 4);
	metric_set(M_LOG_LOST, INT64_MAX);
	cr_expect_eq(metric_get(M_LOG_LOST), INT64_MAX);
	cr_expect_eq(metric_get(M_UP), 0);
}

/* The page's line that begins like this; the rest of it. */
static const char *line_of(char *page_text, const char *begin)
{
	char *at = strstr(page_text, begin);

	cr_assert(at, "no %s", begin);
	at[strcspn(at, "\n")] = '\0';
	return at + strlen(begin);
}

Test(metric, histograms_count_upwards_to_all_and_add_up)
{
	static const int64_t us[] = { 0, -5, 100, 101, 1000000, 20000000 };
	size_t               len;

	for (size_t i = 0; i < COUNT_OF(us); i++)
		metric_observe(H_HTTP_REQUEST, us[i]);
	for (size_t i = 0; i < 5; i++) {
		static const char *const lines[][2] = {
			{ "coopd_http_request_seconds_bucket{le=\"0.0001\"} ", "3" },
			{ "coopd_http_request_seconds_bucket{le=\"0.00025\"} ", "4" },
			{ "coopd_http_request_seconds_bucket{le=\"10\"} ", "5" },
			{ "coopd_http_request_seconds_bucket{le=\"+Inf\"} ", "6" },
			{ "coopd_http_request_seconds_sum ", "21.000201" },
		};
		AUTO(auto_free) char *text = metric_text(&len);

		cr_expect_str_eq(line_of(text, lines[i][0]), lines[i][1]);
	}
	AUTO(auto_free) char *text = metric_text(&len);
	cr_expect_str_eq(line_of(text, "coopd_http_request_seconds_count "), "6");
}

Test(metric, quantiles_are_of_what_came_between)
{
	struct metric_histogram before, after;

	metric_observe(H_STORE_COMMIT, 9000000);
	metric_read(&before, H_STORE_COMMIT);
	cr_expect_eq(metric_quantile_ms(&before, &before, 0.5), 0, "none");
	for (int i = 0; i < 99; i++)
		metric_observe(H_STORE_COMMIT, 800);
	metric_observe(H_STORE_COMMIT, 90000);
	metric_read(&after, H_STORE_COMMIT);
	cr_expect_float_eq(metric_quantile_ms(&before, &after, 0.5), 0.75, 0.01, "in the middle of 0.5 to 1 ms");
	cr_expect_float_eq(metric_quantile_ms(&before, &after, 0.99), 1.0, 0.01);
	cr_expect_float_eq(metric_quantile_ms(&before, &after, 1), 100, 0.01);
	cr_expect_float_eq(metric_quantile_ms(NULL, &after, 1), 10000, 0.01);
}

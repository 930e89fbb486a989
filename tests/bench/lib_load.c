#include "lib_load.h"

#include <arpa/inet.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "lib_usage.h"

struct load load_run = { .begin_ns = INT64_MAX, .end_ns = INT64_MAX };

void load_done(int64_t sent_ns, double ops)
{
	int64_t now_ns = usage_now_ns();

	load_run.arrived++;
	if (now_ns < load_run.begin_ns || now_ns >= load_run.end_ns)
		return;
	load_run.counted += ops;
	hist_add(&load_run.times, now_ns - sent_ns);
}

static int64_t seconds_ns(double seconds)
{
	return (int64_t)(seconds * 1e9);
}

void load_measure(pid_t pid, double warmup, double seconds, void (*run_until)(int64_t until_ns))
{
	int64_t cpu_ns;

	run_until(usage_now_ns() + seconds_ns(warmup));
	cpu_ns            = pid ? usage_cpu_ns(pid) : 0;
	load_run.begin_ns = usage_now_ns();
	load_run.end_ns   = load_run.begin_ns + seconds_ns(seconds);
	run_until(load_run.end_ns);
	cpu_ns            = pid ? usage_cpu_ns(pid) - cpu_ns : 0;
	load_run.draining = true;
	run_until(usage_now_ns() + seconds_ns(0.5));
	printf("ops_s=%.1f lost=%" PRId64 " p50_us=%.0f p99_us=%.0f cpu_us=%.3f cpu_share=%.2f",
	       load_run.counted / seconds, (int64_t)(load_run.sent - load_run.arrived),
	       hist_percentile_us(&load_run.times, 0.5), hist_percentile_us(&load_run.times, 0.99),
	       load_run.counted > 0 ? (double)cpu_ns / load_run.counted / 1000 : 0.0, (double)cpu_ns / 1e9 / seconds);
}

int load_udp_socket(uint32_t ip, uint16_t port)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr = { htonl(ip) } };
	struct sockaddr_in to   = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int                fd   = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	to.sin_port = htons(port);
	if (fd < 0 || (ip && bind(fd, (struct sockaddr *)&from, sizeof(from))) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		err(1, "a UDP socket");
	return fd;
}

double load_number(const char *text, double min, double max)
{
	char  *end;
	double value = strtod(text, &end);

	if (end == text || *end || value < min || value > max)
		errx(2, "\"%s\" is no number from %g to %g", text, min, max);
	return value;
}

/* coopctl doctor: asks the server, tries it from outside, and says what is wrong and what to do. */
#include "coopctl/doctor_ask.h"
#include "coopctl/doctor_probe.h"
#include "coopctl/print.h"

#include "base/auto.h"
#include "base/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && strcmp(text + len - n, end) == 0;
}

static void try_listeners(struct doctor_facts *f)
{
	for (size_t i = 0; i < f->listener_count; i++) {
		struct doctor_listener *l = &f->listeners[i];

		if (l->is_udp)
			continue;
		l->answers = probe_connect(l->why, sizeof(l->why), l->address);
		if (l->answers && ends_with(l->part, "-tls"))
			probe_certificate(&l->cert, l->address);
	}
}

static void try_stun(struct doctor_facts *f)
{
	for (size_t i = 0; i < f->listener_count && f->stun_count < DOCTOR_STUN_MAX; i++)
		if (strcmp(f->listeners[i].part, "p2p") == 0 || strcmp(f->listeners[i].part, "p2p-alt") == 0)
			text_copy(f->stun[f->stun_count++].address, DOCTOR_ADDRESS_BYTES, f->listeners[i].address);
	if (!f->stun_off)
		probe_stun(f->stun, f->stun_count);
}

static void try_public(struct doctor_facts *f)
{
	struct doctor_cert again = { .look = LOOK_NONE };
	char               body[2048];
	json_t            *health;
	const char        *version;

	f->health_status = probe_https(&f->public_cert, body, sizeof(body), f->public_host, "/healthz", false);
	/* A proxy may cut the body into chunks; what lies between the braces is whole. */
	if (strchr(body, '{') && strrchr(body, '}')) {
		strrchr(body, '}')[1] = '\0';
		health                = json_loads(strchr(body, '{'), 0, NULL);
		version               = json_string_value(json_object_get(health, "version"));
		text_copy(f->health_version, sizeof(f->health_version), version ? version : "");
		json_decref(health);
	}
	if (f->public_cert.look == LOOK_OK)
		f->upgrade_status = probe_https(&again, body, sizeof(body), f->public_host, "/", true);
}

static enum print_color color_of(const char *state)
{
	static const enum print_color colors[] = { [DOCTOR_OK]      = PRINT_GREEN,
		                                   [DOCTOR_WARNING] = PRINT_YELLOW,
		                                   [DOCTOR_PROBLEM] = PRINT_RED,
		                                   [DOCTOR_SKIPPED] = PRINT_DIM };

	for (size_t i = 0; i < COUNT_OF(colors); i++)
		if (strcmp(doctor_words[i], state) == 0)
			return colors[i];
	return PRINT_PLAIN;
}

static void say(const struct ctl *c, const json_t *found)
{
	const json_t *item;
	size_t        i;

	json_array_foreach(json_object_get(found, "items"), i, item)
	{
		const char           *state  = json_string_value(json_object_get(item, "state"));
		const char           *advice = json_string_value(json_object_get(item, "advice"));
		AUTO(auto_free) char *name   = print_escape(json_string_value(json_object_get(item, "check")));
		AUTO(auto_free) char *text   = print_escape(json_string_value(json_object_get(item, "message")));
		AUTO(auto_free) char *safe   = print_escape(advice);

		printf("%s%-7s%s  %-18s  %s\n", print_color(c, color_of(state)), state, print_color(c, PRINT_PLAIN),
		       name, text);
		if (*safe)
			printf("%29s-> %s\n", "", safe);
	}
}

static enum ctl_exit run_doctor(struct ctl *c)
{
	const char          *outside = ctl_value(c, "outside");
	struct doctor_facts *f       = calloc(1, sizeof(*f));
	enum doctor_state    worst;
	json_t              *found;

	if (!f)
		abort();
	signal(SIGPIPE, SIG_IGN);
	f->now_s          = (int64_t)time(NULL);
	f->is_here        = c->where.socket != NULL;
	f->is_outside_off = outside && strcmp(outside, "off") == 0;
	doctor_ask(f, c);
	if (outside && !f->is_outside_off)
		text_copy(f->public_host, sizeof(f->public_host), outside);
	if (f->is_here) {
		doctor_ask_versions(f);
		try_listeners(f);
		try_stun(f);
	}
	if (f->public_host[0] && !f->is_outside_off)
		try_public(f);
	found = doctor_judge(&worst, f);
	if (c->json)
		print_json(stdout, found);
	else
		say(c, found);
	json_decref(found);
	free(f);
	return worst == DOCTOR_PROBLEM ? CTL_REFUSED : CTL_OK;
}

static const struct ctl_option options[] = {
	{ .name  = "outside",
	  .value = "HOST",
	  .help  = "the way in that is tried, HOST or HOST:PORT, else server.public_host; off: none" },
	{ 0 },
};

static const struct ctl_command commands[] = {
	{ "", "", "look for what is wrong, from inside and outside, and say what to do",
	  "Each line is ok, warning, problem, or skipped, with why. It asks the server, connects to its listeners, "
	  "reads "
	  "certificates' dates, asks STUN over UDP, and goes through the public name (server.public_host) as players "
	  "do: "
	  "HTTPS and WebSocket through whatever proxy is there. Nothing is changed. It ends with 1 when there is a "
	  "problem. "
	  "Run it on the server's machine as root or as the user coopd runs as; over --url it sees less.",
	  options,
	  "coopctl doctor\ncoopctl doctor --outside off\ncoopctl doctor --outside play.example.org:8443\ncoopctl "
	  "doctor --json | jq '.items[] | select(.state == "
	  "\"problem\")'",
	  run_doctor },
	{ 0 },
};
const struct ctl_group ctl_doctor = { "doctor", "find what is wrong, and what to do about it", commands };

#include "server_listen.h"

#include "net/listen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES 16 /* for a port that TCP and UDP both have free */

static bool is_full(const struct listeners *l, const char *setting)
{
	if (l->count < LISTENERS_MAX)
		return false;
	fprintf(stderr, "coopd: %s has more than %d addresses.\n", setting, LISTENERS_MAX);
	return true;
}

static bool refuse(const char *setting)
{
	fprintf(stderr, "coopd: that was %s; coopd does not start without it.\n", setting);
	return false;
}

static bool add(struct listeners *l, int fd, const struct addr *bound)
{
	l->fds[l->count]     = fd;
	l->bound[l->count++] = *bound;
	return true;
}

bool listeners_bind(struct listeners *out, const char *setting, const struct conf_list *words)
{
	for (size_t i = 0; i < words->count; i++) {
		struct addr bound;
		int         fd;

		if (is_full(out, setting))
			return false;
		if (listen_tcp(&fd, &bound, words->words[i], stderr) != ERR_OK)
			return refuse(setting);
		add(out, fd, &bound);
	}
	return true;
}

/* One try; what went wrong is in report. */
static enum err bind_pair(struct listeners *tcp, struct listeners *udp, const char *word, FILE *report)
{
	struct addr tcp_bound, udp_bound;
	int         tcp_fd, udp_fd;
	enum err    e = listen_tcp(&tcp_fd, &tcp_bound, word, report);

	if (e != ERR_OK)
		return e;
	if (tcp_bound.family == ADDR_IPV4) {
		e = listen_udp(&udp_fd, &udp_bound, word, tcp_bound.port, report);
		if (e != ERR_OK) {
			close(tcp_fd);
			return e;
		}
		add(udp, udp_fd, &udp_bound);
	}
	add(tcp, tcp_fd, &tcp_bound);
	return ERR_OK;
}

static bool is_any_port(const char *word)
{
	struct addr a;

	return addr_parse(&a, word, strlen(word), true) == ERR_OK && a.port == 0;
}

/* Any port: TCP's may be taken for UDP, and then another one will do. */
static enum err bind_word(struct listeners *tcp, struct listeners *udp, const char *word)
{
	for (int tries = is_any_port(word) ? TRIES : 1;; tries--) {
		char    *said   = NULL;
		size_t   len    = 0;
		FILE    *report = open_memstream(&said, &len);
		enum err e      = report ? bind_pair(tcp, udp, word, report) : ERR_NOMEM;

		if (report)
			fclose(report);
		if (said && e != ERR_OK && (e != ERR_HELD || tries == 1))
			fputs(said, stderr);
		free(said);
		if (e != ERR_HELD || tries == 1)
			return e;
	}
}

bool listeners_bind_both(struct listeners *tcp, struct listeners *udp, const char *setting,
                         const struct conf_list *words)
{
	for (size_t i = 0; i < words->count; i++) {
		if (is_full(tcp, setting))
			return false;
		if (bind_word(tcp, udp, words->words[i]) != ERR_OK)
			return refuse(setting);
	}
	return true;
}

void listeners_announce(const struct listeners *l, const char *part)
{
	char text[ADDR_TEXT_BYTES];

	for (size_t i = 0; i < l->count; i++) {
		addr_text_port(text, &l->bound[i]);
		listen_announce(part, text, "");
	}
}

bool listeners_take(struct listeners *l, int *fd, struct addr *bound)
{
	if (l->count == 0)
		return false;
	l->count--;
	*fd    = l->fds[l->count];
	*bound = l->bound[l->count];
	return true;
}

void listeners_close(struct listeners *l)
{
	while (l->count > 0)
		close(l->fds[--l->count]);
}

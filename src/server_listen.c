#include "server_listen.h"

#include "base/text.h"
#include "net/inherit.h"
#include "net/listen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRIES 16 /* for a port that TCP and UDP both have free */

static bool is_full(const struct listeners *l, const char *setting, FILE *report)
{
	if (l->count < LISTENERS_MAX)
		return false;
	fprintf(report, "coopd: %s has more than %d addresses.\n", setting, LISTENERS_MAX);
	return true;
}

static bool refuse(const char *setting, FILE *report)
{
	fprintf(report, "coopd: that was %s; coopd does not start without it.\n", setting);
	return false;
}

static void add(struct listeners *l, const char *setting, int fd, const struct addr *bound)
{
	l->fds[l->count]     = fd;
	l->bound[l->count++] = *bound;
	inherit_keep(setting, fd);
}

/* The sockets of one setting's words: -1 while a word has none. */
struct found {
	int         fds[LISTENERS_MAX];
	struct addr bound[LISTENERS_MAX];
};

/* One that came with the start. False: there is none, or the word is no address, of which listen_tcp speaks. */
static bool inherit_word(struct found *f, size_t at, const char *setting, const char *word, enum inherit_how how)
{
	struct addr want;

	return f->fds[at] < 0 && addr_parse(&want, word, strlen(word), true) == ERR_OK &&
	       inherit_inet(&f->fds[at], &f->bound[at], setting, SOCK_STREAM, &want, how);
}

/* Those that fit best come first, so that a word takes nothing that another has a better right to. */
static void inherit_words(struct found *f, const char *setting, const struct conf_list *words)
{
	for (size_t i = 0; i < words->count; i++)
		f->fds[i] = -1;
	for (size_t i = 0; i < words->count; i++)
		inherit_word(f, i, setting, words->words[i], INHERIT_EXACT);
	for (size_t i = 0; i < words->count; i++)
		inherit_word(f, i, setting, words->words[i], INHERIT_NAMED);
}

static bool is_covered(const char *word)
{
	struct addr want;

	return addr_parse(&want, word, strlen(word), true) == ERR_OK && inherit_covers(SOCK_STREAM, &want);
}

/* The manager has more for this setting than it has words. */
static bool add_rest(struct listeners *out, const char *setting, FILE *report)
{
	static const struct addr nowhere = { .family = ADDR_NONE };
	struct addr              bound;
	int                      fd;

	while (inherit_inet(&fd, &bound, setting, SOCK_STREAM, &nowhere, INHERIT_NAMED)) {
		if (is_full(out, setting, report)) {
			close(fd);
			return false;
		}
		add(out, setting, fd, &bound);
	}
	return true;
}

static void close_found(struct found *f, size_t from, size_t count)
{
	for (size_t i = from; i < count; i++) {
		if (f->fds[i] >= 0)
			close(f->fds[i]);
	}
}

bool listeners_bind(struct listeners *out, const char *setting, const struct conf_list *words, FILE *report)
{
	struct found f;

	if (words->count > LISTENERS_MAX - out->count) {
		fprintf(report, "coopd: %s has more than %d addresses.\n", setting, LISTENERS_MAX);
		return false;
	}
	inherit_words(&f, setting, words);
	for (size_t i = 0; i < words->count; i++) {
		if (f.fds[i] < 0 && is_covered(words->words[i]))
			continue;
		if (f.fds[i] < 0 && listen_tcp(&f.fds[i], &f.bound[i], words->words[i], report) != ERR_OK) {
			close_found(&f, i, words->count);
			return refuse(setting, report);
		}
		add(out, setting, f.fds[i], &f.bound[i]);
	}
	return add_rest(out, setting, report);
}

/* UDP beside TCP: on its port, whether that was inherited or not. */
static enum err bind_udp(int *fd, struct addr *bound, const char *setting, const struct addr *word, uint16_t port,
                         const char *text, FILE *report)
{
	struct addr want = *word;

	if (want.port == 0)
		want.port = port;
	if (inherit_inet(fd, bound, setting, SOCK_DGRAM, &want, INHERIT_EXACT) ||
	    inherit_inet(fd, bound, setting, SOCK_DGRAM, &want, INHERIT_NAMED)) {
		listen_tune_udp(*fd);
		return ERR_OK;
	}
	return listen_udp(fd, bound, text, port, report);
}

static enum err bind_tcp(int *fd, struct addr *bound, const char *setting, const char *text, FILE *report)
{
	struct found f = { .fds = { -1 } };

	if (inherit_word(&f, 0, setting, text, INHERIT_EXACT) || inherit_word(&f, 0, setting, text, INHERIT_NAMED)) {
		*fd    = f.fds[0];
		*bound = f.bound[0];
		return ERR_OK;
	}
	return listen_tcp(fd, bound, text, report);
}

/* One try; what went wrong is in report. */
static enum err bind_pair(struct listeners *tcp, struct listeners *udp, const char *setting, const char *text,
                          FILE *report)
{
	struct addr word = { .family = ADDR_NONE }, tcp_bound, udp_bound;
	int         tcp_fd, udp_fd;
	enum err    e = bind_tcp(&tcp_fd, &tcp_bound, setting, text, report);

	if (e != ERR_OK)
		return e;
	addr_parse(&word, text, strlen(text), true);
	if (word.family == ADDR_IPV4) {
		e = bind_udp(&udp_fd, &udp_bound, setting, &word, tcp_bound.port, text, report);
		if (e != ERR_OK) {
			close(tcp_fd);
			return e;
		}
		add(udp, setting, udp_fd, &udp_bound);
	}
	add(tcp, setting, tcp_fd, &tcp_bound);
	return ERR_OK;
}

static bool is_any_port(const char *word)
{
	struct addr a;

	return addr_parse(&a, word, strlen(word), true) == ERR_OK && a.port == 0;
}

/* Any port: TCP's may be taken for UDP, and then another one will do. */
static enum err bind_word(struct listeners *tcp, struct listeners *udp, const char *setting, const char *word,
                          FILE *out)
{
	for (int tries = is_any_port(word) ? TRIES : 1;; tries--) {
		char    *said   = NULL;
		size_t   len    = 0;
		FILE    *report = open_memstream(&said, &len);
		enum err e      = report ? bind_pair(tcp, udp, setting, word, report) : ERR_NOMEM;

		if (report)
			fclose(report);
		if (said && e != ERR_OK && (e != ERR_HELD || tries == 1))
			fputs(said, out);
		free(said);
		if (e != ERR_HELD || tries == 1)
			return e;
	}
}

bool listeners_bind_both(struct listeners *tcp, struct listeners *udp, const char *setting,
                         const struct conf_list *words, FILE *report)
{
	for (size_t i = 0; i < words->count; i++) {
		if (is_full(tcp, setting, report))
			return false;
		if (bind_word(tcp, udp, setting, words->words[i], report) != ERR_OK)
			return refuse(setting, report);
	}
	return true;
}

bool listeners_bind_unix(struct unix_listener *out, const char *setting, const char *path)
{
	out->fd = 0;
	if (!inherit_unix(&out->fd, out->path, &out->is_ours, setting, path)) {
		if (listen_unix(&out->fd, path, stderr) != ERR_OK)
			return false;
		out->is_ours = true;
		text_copy(out->path, sizeof(out->path), path);
	}
	inherit_keep(setting, out->fd);
	return true;
}

bool listeners_try_unix(const char *setting, const char *path, FILE *report)
{
	char place[INHERIT_PATH_BYTES];
	bool is_ours;
	int  fd;

	if (inherit_unix(&fd, place, &is_ours, setting, path)) {
		inherit_put_back(setting, fd);
		return true;
	}
	return listen_unix_try(path, report) == ERR_OK || refuse(setting, report);
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

void listeners_put_back(struct listeners *l, const char *setting)
{
	while (l->count > 0)
		inherit_put_back(setting, l->fds[--l->count]);
}

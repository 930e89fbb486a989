/*
 * Hosts for the measurements of the lobby master: wrk makes the load, this has the lobbies.
 *
 *	master announce PORT COUNT FILE		announces lobbies; a line "lobby session token" of each goes to FILE
 *	master beat PORT FILE			one heartbeat of each of them
 *	master sizes PORT FILE			prints how long each kind of answer is: "list=N join=N heartbeat=N healthz=N"
 *	master kept FOLDER SINCE COUNT		whether the database in FOLDER has COUNT lobbies, and for all of them a
 *						heartbeat since this Unix second; prints "rows=N fresh=N"
 *
 * Requests go out several at a time, each on a connection of its own.
 */
#include <err.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib_wire.h"

enum { AT_ONCE = 16, LOBBIES_MAX = 100000, ANSWER_BYTES_MAX = 8 << 20 };

struct lobby {
	char id[20], session[36], token[36];
};

static struct lobby *lobbies;
static size_t        count;
static uint16_t      port;
static atomic_size_t next_one;
static pthread_t     threads[AT_ONCE];

/* --- Requests --- */

/* The whole answer, with a NUL behind it; its body begins at the result. Anything but 200 ends the program. */
static char *ask(char *out, size_t cap, const char *method, const char *path, const char *body)
{
	char   request[1024];
	size_t len = 0, got;
	int    fd  = wire_connect(port);
	int    n   = snprintf(request, sizeof(request),
	                      "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
	                      method, path, strlen(body), body);

	if (strcmp(method, "GET") == 0)
		n = snprintf(request, sizeof(request),
		             "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path);
	wire_send(fd, request, (size_t)n);
	while (len < cap - 1 && (got = wire_read_some(fd, out + len, cap - 1 - len)) > 0)
		len += got;
	out[len] = '\0';
	close(fd);

	char *end = strstr(out, "\r\n\r\n");

	if (!end || strncmp(out, "HTTP/1.1 200 ", 13) != 0)
		errx(1, "%s is answered: %.200s", path, out);
	return end + 4;
}

/* The text of this name, which has no escapes in it. */
static void read_text(char *out, size_t cap, const char *json, const char *name)
{
	char        key[40];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":\"", name);
	at = strstr(json, key);
	if (!at)
		errx(1, "no %s in %.200s", name, json);
	at += strlen(key);
	snprintf(out, cap, "%.*s", (int)strcspn(at, "\""), at);
}

static void announce_one(size_t number)
{
	char answer[8192], body[512];

	snprintf(body, sizeof(body),
	         "{\"identity\":\"gen:%064zx\",\"name\":\"Lobby number %zu of many\",\"world\":\"Somewhere in the "
	         "hills\","
	         "\"game\":\"0.9.0a\",\"proto\":140,\"players_max\":4}",
	         number, number);
	const char *json = ask(answer, sizeof(answer), "POST", "/v1/host", body);

	read_text(lobbies[number].id, sizeof(lobbies[number].id), json, "lobbyId");
	read_text(lobbies[number].session, sizeof(lobbies[number].session), json, "sessionId");
	read_text(lobbies[number].token, sizeof(lobbies[number].token), json, "token");
}

static const char *beat_body(char out[200], const struct lobby *l)
{
	snprintf(out, 200, "{\"sessionId\":\"%s\",\"token\":\"%s\",\"players_cur\":1}", l->session, l->token);
	return out;
}

static void beat_one(size_t number)
{
	char answer[8192], body[200];

	ask(answer, sizeof(answer), "POST", "/v1/heartbeat", beat_body(body, &lobbies[number]));
}

static void *work(void *arg)
{
	void (*const *one)(size_t) = arg;
	size_t number;

	while ((number = atomic_fetch_add(&next_one, 1)) < count)
		(*one)(number);
	return NULL;
}

static void for_each(void (*one)(size_t number))
{
	for (size_t i = 0; i < AT_ONCE; i++)
		if (pthread_create(&threads[i], NULL, work, &one) != 0)
			errx(1, "no thread");
	for (size_t i = 0; i < AT_ONCE; i++)
		pthread_join(threads[i], NULL);
}

/* --- The file --- */

static void save(const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f)
		err(1, "%s", path);
	for (size_t i = 0; i < count; i++)
		fprintf(f, "%s %s %s\n", lobbies[i].id, lobbies[i].session, lobbies[i].token);
	if (fclose(f) != 0)
		err(1, "%s", path);
}

static void load(const char *path)
{
	FILE *f = fopen(path, "re");

	if (!f)
		err(1, "%s", path);
	while (count < LOBBIES_MAX &&
	       fscanf(f, "%19s %35s %35s", lobbies[count].id, lobbies[count].session, lobbies[count].token) == 3)
		count++;
	fclose(f);
	if (count == 0)
		errx(1, "no lobby in %s", path);
}

/* --- What it can do --- */

static void print_sizes(void)
{
	char *answer = malloc(ANSWER_BYTES_MAX);
	char  join[80], beat[200];

	if (!answer)
		err(1, "memory");
	snprintf(join, sizeof(join), "{\"lobbyId\":\"%s\"}", lobbies[0].id);
	printf("list=%zu", strlen(ask(answer, ANSWER_BYTES_MAX, "GET", "/v1/lobbies", "")));
	printf(" join=%zu", strlen(ask(answer, ANSWER_BYTES_MAX, "POST", "/v1/join", join)));
	printf(" heartbeat=%zu",
	       strlen(ask(answer, ANSWER_BYTES_MAX, "POST", "/v1/heartbeat", beat_body(beat, &lobbies[0]))));
	printf(" healthz=%zu\n", strlen(ask(answer, ANSWER_BYTES_MAX, "GET", "/healthz", "")));
	free(answer);
}

static int check_kept(const char *folder, int64_t since_s, int64_t expected)
{
	char          path[4096];
	sqlite3      *db = NULL;
	sqlite3_stmt *q  = NULL;

	snprintf(path, sizeof(path), "%s/coop.db", folder);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "SELECT count(*), coalesce(sum(beat_ms >= ?), 0) FROM lobbies", -1, &q, NULL) !=
	            SQLITE_OK ||
	    sqlite3_bind_int64(q, 1, since_s * 1000) != SQLITE_OK || sqlite3_step(q) != SQLITE_ROW)
		errx(1, "%s: %s", path, sqlite3_errmsg(db));

	int64_t rows = sqlite3_column_int64(q, 0), fresh = sqlite3_column_int64(q, 1);

	printf("rows=%lld fresh=%lld\n", (long long)rows, (long long)fresh);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return rows == expected && fresh == expected ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	lobbies = calloc(LOBBIES_MAX, sizeof(*lobbies));
	if (!lobbies)
		err(1, "memory");
	if (strcmp(what, "kept") == 0 && argc == 5)
		return check_kept(argv[2], atoll(argv[3]), atoll(argv[4]));
	if (argc < 4)
		errx(2, "usage: master announce PORT COUNT FILE | beat PORT FILE | sizes PORT FILE | kept FOLDER SINCE "
		        "COUNT");
	port = (uint16_t)atoi(argv[2]);
	if (strcmp(what, "announce") == 0 && argc == 5) {
		count = strtoul(argv[3], NULL, 10);
		if (count == 0 || count > LOBBIES_MAX)
			errx(2, "as many as 1 to %d", LOBBIES_MAX);
		for_each(announce_one);
		save(argv[4]);
	} else {
		load(argv[3]);
		if (strcmp(what, "beat") == 0)
			for_each(beat_one);
		else
			print_sizes();
	}
	free(lobbies);
	return 0;
}

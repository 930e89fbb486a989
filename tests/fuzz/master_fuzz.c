/*
 * Requests to the lobby master, over a real HTTP server in this process, with a real store.
 *
 * The input is requests with a line break between: the first character of each chooses what is asked, the rest is the body
 * (or the query of a list). In a body $S, $T and $L stand for the session, token and lobby of a host that is there.
 *
 * Whatever is sent, the answer has a status that the document knows and one object of JSON, an error its text.
 */
#include "conf/conf.h"
#include "crypt/hash.h"
#include "lobby/lobby_serve.h"
#include "net/http.h"
#include "net/listen.h"
#include "os/log.h"
#include "store/store.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_BYTES_MAX 8192
#define REQUESTS_MAX      8
#define ENTRIES           "20"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char                 folder[64];
static struct conf          conf;
static struct store        *store;
static struct lobby_master *master;
static struct http_server  *server;
static uint16_t             port;
static char                 session[40], token[40], lobby[40];

static void need(bool is)
{
	if (!is)
		abort();
}

/* --- The server --- */

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)kind, (void)ftw;
	return remove(path);
}

static void stop(void)
{
	http_stop(server);
	store_stop(store);
	lobby_master_free(master);
	conf_fini(&conf);
	nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void load_conf(void)
{
	char text[512];

	snprintf(text, sizeof(text),
	         "[server]\ndata = %s\n[turn]\nuri = turn:a:1\n[limits]\nlobby_entries = " ENTRIES
	         "\nlobby_list_ms = 0\n",
	         folder);
	need(conf_load_text(&conf, text, strlen(text), stderr) == ERR_OK);
	conf.limits.lobby_evict_ms = 1000; /* no operator may have that: hosts beat every 30 s */
}

static void start(void)
{
	struct http_config cfg = { .name            = "fuzz",
		                   .routes          = lobby_routes,
		                   .stray_post      = &lobby_stray_post,
		                   .errors          = lobby_errors,
		                   .connections_max = 256 };
	struct addr        bound;
	int                fd;

	/* In memory where there is such a folder: nobody loses anything, and a sync is worth no wait. */
	snprintf(folder, sizeof(folder), "%s/coopd-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	need(mkdtemp(folder) != NULL);
	load_conf();
	log_set_level(LOG_ERROR);
	need(crypt_init() == ERR_OK);
	need(store_open(&store, &conf, stderr) == ERR_OK);
	need(lobby_master_new(&master, NULL, store, &conf, 10000, stderr) == ERR_OK);
	need(store_start(store) == ERR_OK);
	need(listen_tcp(&fd, &bound, "127.0.0.1:0", stderr) == ERR_OK);
	cfg.part       = master;
	cfg.stray_part = master;
	port           = bound.port;
	need(http_start(&server, &cfg, &conf, &(struct http_listen){ .fd = fd }, 1, NULL) == ERR_OK);
	atexit(stop);
}

/* --- One request --- */

static size_t exchange(char *answer, size_t cap, const char *request, size_t len)
{
	struct sockaddr_in to  = { .sin_family = AF_INET, .sin_port = htons(port) };
	int                fd  = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t             got = 0;
	sigset_t           alarms, before;
	ssize_t            n;

	/* libFuzzer's clock would break off what waits. */
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, &before);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	while (len > 0 && (n = send(fd, request, len, MSG_NOSIGNAL)) > 0) {
		request += n;
		len -= (size_t)n;
	}
	while ((n = recv(fd, answer + got, cap - 1 - got, 0)) > 0)
		got += (size_t)n;
	answer[got] = '\0';
	close(fd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return got;
}

/* The object that was answered. For json_decref. */
static json_t *judge(int *status, const char *answer)
{
	static const int known[] = { 200, 400, 403, 404, 413, 429, 503 };
	const char      *body    = strstr(answer, "\r\n\r\n");
	json_t          *j;
	bool             is_known = false;

	need(body && sscanf(answer, "HTTP/1.1 %3d", status) == 1);
	j = json_loads(body + 4, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	need(json_is_object(j));
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		is_known |= known[i] == *status;
	need(is_known);
	need((*status >= 400) == json_is_string(json_object_get(j, "error")));
	return j;
}

static void remember(char out[40], const json_t *j, const char *key)
{
	snprintf(out, 40, "%s", json_string_value(json_object_get(j, key)));
}

static int send_request(const char *head, const char *body, size_t len, bool is_ours)
{
	static char request[REQUEST_BYTES_MAX + 512], answer[256 * 1024];
	int         head_len, status = 0;
	json_t     *j;

	head_len = snprintf(request, 512, "%s HTTP/1.1\r\nHost: fuzz.example:1\r\nConnection: close\r\n", head);
	if (strncmp(head, "POST", 4) == 0)
		head_len += snprintf(request + head_len, 100, "Content-Length: %zu\r\n", len);
	head_len += snprintf(request + head_len, 3, "\r\n");
	memcpy(request + head_len, body, len);
	exchange(answer, sizeof(answer), request, (size_t)head_len + len);
	j = judge(&status, answer);
	if (is_ours && status == 200) {
		remember(session, j, "sessionId");
		remember(token, j, "token");
		remember(lobby, j, "lobbyId");
	}
	json_decref(j);
	return status;
}

/* There is a host whom the others may mean; when there is no room for him, the one before has to do. */
static void need_host(void)
{
	static const char announce[] = "{\"identity\":\"gen:00112233445566778899aabbccddeeff"
				       "00112233445566778899aabbccddeeff\",\"game\":\"0.9.0a\",\"name\":\"ours\"}";
	char              beat[256];

	snprintf(beat, sizeof(beat), "{\"sessionId\":\"%s\",\"token\":\"%s\",\"listed\":true}", session, token);
	if (!*session || send_request("POST /v1/heartbeat", beat, strlen(beat), false) == 403)
		send_request("POST /v1/host", announce, strlen(announce), true);
}

/* --- Inputs --- */

static const char *value_of(char c)
{
	return c == 'S' ? session : c == 'T' ? token : c == 'L' ? lobby : NULL;
}

static size_t fill_in(char *out, const uint8_t *data, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 40 < REQUEST_BYTES_MAX; i++) {
		const char *value = data[i] == '$' && i + 1 < len ? value_of((char)data[i + 1]) : NULL;

		if (value) {
			n += (size_t)sprintf(out + n, "%s", value);
			i++;
		} else {
			out[n++] = (char)data[i];
		}
	}
	return n;
}

static void ask_list(const uint8_t *data, size_t len)
{
	char   head[300];
	size_t at = (size_t)snprintf(head, sizeof(head), "GET /v1/lobbies?");

	/* What cannot stand in a target is the library's affair. */
	for (size_t i = 0; i < len && at + 1 < sizeof(head); i++)
		head[at++] = (char)(data[i] > ' ' && data[i] != 0x7f ? data[i] : 'x');
	head[at] = '\0';
	need(send_request(head, "", 0, false) == 200);
}

static void run_one(const uint8_t *data, size_t len)
{
	static const char *const heads[] = {
		"POST /v1/host", "POST /v1/heartbeat", "POST /v1/leave",   "POST /v1/visibility",
		"POST /v1/join", "POST /v1/challenge", "POST /v1/nothing", "POST /v1/lobbies",
	};
	static char body[REQUEST_BYTES_MAX];
	unsigned    what = (unsigned)(data[0] - 'a') % (sizeof(heads) / sizeof(*heads) + 1);

	if (what == sizeof(heads) / sizeof(*heads))
		ask_list(data + 1, len - 1);
	else
		send_request(heads[what], body, fill_in(body, data + 1, len - 1), false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!server)
		start();
	if (len > REQUEST_BYTES_MAX / 4)
		return 0;
	need_host();
	for (int i = 0; i < REQUESTS_MAX && len > 0; i++) {
		const uint8_t *end  = memchr(data, '\n', len);
		size_t         take = end ? (size_t)(end - data) : len;

		if (take > 0)
			run_one(data, take);
		take += end != NULL;
		data += take;
		len -= take;
	}
	return 0;
}

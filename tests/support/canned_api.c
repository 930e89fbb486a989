#include "support/canned_api.h"

#include "base/auto.h"
#include "os/file.h"
#include "support/data_folder.h"
#include "support/vectors.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REQUEST_BYTES_MAX ((size_t)1024 * 1024)
#define FILE_BYTES_MAX    ((size_t)4 * 1024 * 1024)
#define ASKED_MAX         256
#define FIELD_BYTES       200

struct canned_api {
	char            socket[PATH_MAX];
	int             port;
	int             unix_fd, tcp_fd, stop_fds[2]; /* a pipe: its end ends the thread */
	pthread_t       thread;
	pthread_mutex_t lock;    /* what stands below */
	json_t         *answers; /* array, first that fits */
	char           *asked[ASKED_MAX];
	size_t          asked_count;
	char            authorization[FIELD_BYTES];
};

/* --- Answers --- */

static void load(json_t *answers, const char *path)
{
	json_error_t why;
	json_t      *file = json_load_file(path, 0, &why);

	cr_assert(json_is_array(file), "%s:%d: %s", path, why.line, why.text);
	json_array_extend(answers, file);
	json_decref(file);
}

static json_t *load_all(void)
{
	json_t *answers = json_array();
	char    pattern[PATH_MAX];
	glob_t  found;

	tests_path(pattern, sizeof(pattern), "vectors/coopctl/api/*.json");
	cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "there is no %s", pattern);
	for (size_t i = 0; i < found.gl_pathc; i++)
		load(answers, found.gl_pathv[i]);
	globfree(&found);
	return answers;
}

void canned_put(struct canned_api *api, const char *ask, int status, const char *answer)
{
	json_t *j = json_loads(answer, 0, NULL);

	if (!j)
		j = json_string(answer);
	pthread_mutex_lock(&api->lock);
	json_array_insert_new(api->answers, 0, json_pack("{s:s,s:i,s:o}", "ask", ask, "status", status, "answer", j));
	pthread_mutex_unlock(&api->lock);
}

/* The answer to "METHOD TARGET", for free(). */
static char *answer_to(struct canned_api *api, const char *ask, int *status)
{
	const json_t *row, *answer = NULL;
	size_t        i;
	char         *text = NULL;

	pthread_mutex_lock(&api->lock);
	json_array_foreach(api->answers, i, row)
	{
		const char *of = json_string_value(json_object_get(row, "ask"));

		if (!of || strcmp(of, ask) != 0)
			continue;
		answer  = json_object_get(row, "answer");
		*status = (int)json_integer_value(json_object_get(row, "status"));
		break;
	}
	if (answer)
		text = json_is_string(answer) ? strdup(json_string_value(answer)) : json_dumps(answer, JSON_COMPACT);
	pthread_mutex_unlock(&api->lock);
	if (text)
		return text;
	*status = 404;
	return strdup("{\"error\":{\"code\":\"not_found\",\"message\":\"there is nothing here by that name\"}}");
}

/* --- One request --- */

/* The value of this field of the head, in out. */
static void field(char out[FIELD_BYTES], const char *head, const char *name)
{
	const char *at = strcasestr(head, name);

	out[0] = '\0';
	if (at)
		snprintf(out, FIELD_BYTES, "%.*s", (int)strcspn(at + strlen(name), "\r"), at + strlen(name));
}

/* Reads all of a request; NULL when the other side went away before. For free(). */
static char *read_request(int fd)
{
	char  *text = calloc(1, REQUEST_BYTES_MAX + 1);
	size_t len  = 0;

	while (text && len < REQUEST_BYTES_MAX) {
		ssize_t     n    = read(fd, text + len, REQUEST_BYTES_MAX - len);
		const char *body = NULL;
		char        length[FIELD_BYTES];

		if (n <= 0)
			break;
		len += (size_t)n;
		body = strstr(text, "\r\n\r\n");
		if (!body)
			continue;
		field(length, text, "\r\nContent-Length: ");
		if (strlen(body + 4) >= strtoul(length, NULL, 10))
			return text;
	}
	free(text);
	return NULL;
}

static void note(struct canned_api *api, const char *ask, const char *request)
{
	const char *body = strstr(request, "\r\n\r\n") + 4;

	pthread_mutex_lock(&api->lock);
	cr_assert_lt(api->asked_count, ASKED_MAX);
	if (asprintf(&api->asked[api->asked_count], "%s%s%s", ask, *body ? " " : "", body) >= 0)
		api->asked_count++;
	field(api->authorization, request, "\r\nAuthorization: ");
	pthread_mutex_unlock(&api->lock);
}

static void serve(struct canned_api *api, int fd)
{
	AUTO(auto_free) char *request = read_request(fd);
	AUTO(auto_free) char *answer  = NULL;
	char                  ask[4096];
	int                   status = 0;

	if (!request)
		return;
	/* Up to the second blank: "GET /path". */
	snprintf(ask, sizeof(ask), "%.*s", (int)(strcspn(strchr(request, ' ') + 1, " ") + strcspn(request, " ") + 1),
	         request);
	note(api, ask, request);
	answer = answer_to(api, ask, &status);
	dprintf(fd, "HTTP/1.1 %d Canned\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status, strlen(answer),
	        answer);
}

static void *serve_all(void *arg)
{
	struct canned_api *api = arg;
	sigset_t           pipe;

	/* Who asked may have gone already. */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	for (;;) {
		struct pollfd fds[] = { { .fd = api->stop_fds[0], .events = POLLIN },
			                { .fd = api->unix_fd, .events = POLLIN },
			                { .fd = api->tcp_fd, .events = POLLIN } };

		if (poll(fds, COUNT_OF(fds), -1) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		for (size_t i = 1; i < COUNT_OF(fds); i++) {
			int fd = fds[i].revents ? accept4(fds[i].fd, NULL, NULL, SOCK_CLOEXEC) : -1;

			if (fd < 0)
				continue;
			serve(api, fd);
			close(fd);
		}
	}
}

/* --- Start and end --- */

static void listen_both(struct canned_api *api)
{
	struct sockaddr_un at_path = { .sun_family = AF_UNIX };
	struct sockaddr_in at_port = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t          len     = sizeof(at_port);

	snprintf(api->socket, sizeof(api->socket), "%s", data_path("canned.sock"));
	cr_assert_lt(strlen(api->socket), sizeof(at_path.sun_path));
	strcpy(at_path.sun_path, api->socket);
	unlink(api->socket);
	api->unix_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	api->tcp_fd  = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(bind(api->unix_fd, (const struct sockaddr *)&at_path, sizeof(at_path)) == 0 &&
	          listen(api->unix_fd, 16) == 0);
	cr_assert(bind(api->tcp_fd, (const struct sockaddr *)&at_port, sizeof(at_port)) == 0 &&
	          listen(api->tcp_fd, 16) == 0 && getsockname(api->tcp_fd, (struct sockaddr *)&at_port, &len) == 0);
	api->port = ntohs(at_port.sin_port);
}

struct canned_api *canned_start(void)
{
	struct canned_api *api = calloc(1, sizeof(*api));

	cr_assert_not_null(api);
	api->answers = load_all();
	pthread_mutex_init(&api->lock, NULL);
	listen_both(api);
	cr_assert(pipe2(api->stop_fds, O_CLOEXEC) == 0 && pthread_create(&api->thread, NULL, serve_all, api) == 0);
	return api;
}

void canned_stop(struct canned_api *api)
{
	close(api->stop_fds[1]);
	pthread_join(api->thread, NULL);
	close(api->stop_fds[0]);
	close(api->unix_fd);
	close(api->tcp_fd);
	for (size_t i = 0; i < api->asked_count; i++)
		free(api->asked[i]);
	pthread_mutex_destroy(&api->lock);
	json_decref(api->answers);
	free(api);
}

const char *canned_socket(const struct canned_api *api)
{
	return api->socket;
}

int canned_port(const struct canned_api *api)
{
	return api->port;
}

size_t canned_count(struct canned_api *api)
{
	pthread_mutex_lock(&api->lock);
	size_t count = api->asked_count;

	pthread_mutex_unlock(&api->lock);
	return count;
}

const char *canned_asked(struct canned_api *api, size_t at)
{
	return at < canned_count(api) ? api->asked[at] : "";
}

const char *canned_authorization(struct canned_api *api)
{
	return api->authorization;
}

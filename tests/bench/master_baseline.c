/*
 * The reference of the lobby master: the HTTP library alone, saying the same thing every time.
 *
 *	master_baseline		127.0.0.1, any free port
 *
 * Whatever is asked for at /N gets N bytes that are made once; a body is read and thrown away, and its answer closes the
 * connection, as coopd's does. A thread per connection with a small stack, as coopd has. The first line says the port, in
 * the words coopd uses; SIGTERM ends it.
 */
#include <err.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES_MAX = 16, BYTES_MAX = 16 << 20, STACK_BYTES = 256 * 1024 };

/* One answer per size and way to end, made when it is first asked for. */
static struct answer {
	size_t               bytes;
	bool                 closes;
	struct MHD_Response *response;
} answers[SIZES_MAX];
static pthread_mutex_t answers_lock = PTHREAD_MUTEX_INITIALIZER;

static void make_answer(struct answer *a, size_t bytes, bool closes)
{
	char *text = malloc(bytes + 1);

	if (!text)
		err(1, "memory for an answer");
	memset(text, 'x', bytes);
	*a          = (struct answer){ .bytes = bytes, .closes = closes };
	a->response = MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);
	if (!a->response)
		errx(1, "the HTTP library makes no answer");
	MHD_add_response_header(a->response, "Content-Type", "application/json");
	MHD_add_response_header(a->response, "Cache-Control", "no-store");
	if (closes)
		MHD_add_response_header(a->response, "Connection", "close");
}

static struct MHD_Response *find_answer(size_t bytes, bool closes)
{
	struct answer *a = answers;

	pthread_mutex_lock(&answers_lock);
	while (a < answers + SIZES_MAX && a->response && (a->bytes != bytes || a->closes != closes))
		a++;
	if (a == answers + SIZES_MAX)
		errx(1, "more than %d kinds of answers", SIZES_MAX);
	if (!a->response)
		make_answer(a, bytes, closes);
	pthread_mutex_unlock(&answers_lock);
	return a->response;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char *data, size_t *len, void **state)
{
	size_t bytes = strtoul(path + 1, NULL, 10);

	(void)arg, (void)version, (void)data;
	if (!*state) { /* the head alone */
		*state = on_request;
		return MHD_YES;
	}
	if (*len > 0) {
		*len = 0;
		return MHD_YES;
	}
	if (bytes > BYTES_MAX)
		return MHD_NO;
	return MHD_queue_response(c, MHD_HTTP_OK, find_answer(bytes, strcmp(method, MHD_HTTP_METHOD_POST) == 0));
}

int main(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	/* coopd's mode: without MHD_USE_ITC what has ended is cleared away at the next accept only. */
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC |
	                 MHD_USE_ERROR_LOG;
	sigset_t end;
	int      got;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);

	struct MHD_Daemon *d = MHD_start_daemon(flags, 0, NULL, NULL, on_request, NULL, MHD_OPTION_SOCK_ADDR, &addr,
	                                        MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_END);

	if (!d)
		errx(1, "the HTTP library does not start");
	printf("http listens on 127.0.0.1:%u\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
	fflush(stdout);
	sigwait(&end, &got);
	MHD_stop_daemon(d);
	for (struct answer *a = answers; a < answers + SIZES_MAX && a->response; a++)
		MHD_destroy_response(a->response);
	return 0;
}

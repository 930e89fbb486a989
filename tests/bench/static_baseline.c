/*
 * The physical reference of downloads: the HTTP library alone, sending files.
 *
 *	static_baseline [--files N] [--bytes B]		in the current folder; 127.0.0.1, any free port
 *
 * It makes N files and sends number K for GET /K: a thread per connection, as coopd has, the file opened for each
 * request and handed to the library as a descriptor, which sends it without copying it (sendfile). No rights, no
 * database, no hash. The first line says the port, in the words coopd uses; SIGTERM ends it.
 */
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { FILES_MAX = 64, STACK_BYTES = 256 * 1024 };

static uint32_t files = 8;
static size_t   bytes = 1500000;

static void make_file(uint32_t number)
{
	char     name[16];
	uint8_t *data = malloc(bytes);

	snprintf(name, sizeof(name), "%u", number);
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (!data || getrandom(data, bytes, 0) != (ssize_t)bytes || fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		err(1, "file %s", name);
	close(fd);
	free(data);
}

static enum MHD_Result send_file(struct MHD_Connection *c, const char *name)
{
	int fd = name[0] >= '0' && name[0] <= '9' ? open(name, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return MHD_NO;
	struct MHD_Response *r = MHD_create_response_from_fd64(bytes, fd); /* which owns fd */

	if (!r)
		return MHD_NO;
	enum MHD_Result queued = MHD_queue_response(c, MHD_HTTP_OK, r);

	MHD_destroy_response(r);
	return queued;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char *data, size_t *len, void **state)
{
	(void)arg, (void)version, (void)data, (void)len;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return MHD_NO;
	if (!*state) { /* the head alone */
		*state = on_request;
		return MHD_YES;
	}
	*state = NULL;
	return send_file(c, path + 1);
}

static void read_options(int argc, char **argv)
{
	static const struct option names[] = { { "files", required_argument, NULL, 'f' },
		                               { "bytes", required_argument, NULL, 'b' },
		                               { 0 } };
	int                        c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 'f')
			files = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'b')
			bytes = strtoul(optarg, NULL, 10);
		else
			errx(2, "usage: static_baseline [--files N] [--bytes B]");
	}
	if (optind != argc || files == 0 || files > FILES_MAX || bytes == 0 || bytes > 16 << 20)
		errx(2, "usage: static_baseline [--files N] [--bytes B]");
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	unsigned           flags =
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ERROR_LOG;
	sigset_t end;
	int      got;

	read_options(argc, argv);
	for (uint32_t i = 0; i < files; i++)
		make_file(i);
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
	return 0;
}

/*
 * The physical reference of uploads: what the disk takes when the bytes are simply copied to it and made safe.
 *
 *	copy_baseline --folder DIR [--writers N] [--bytes B] [--seconds S] [--warmup S]
 *
 * N writers each copy a file of their own, as cp does (read and write by 128 KiB), to a new name, sync the copy, close
 * it and sync the folder; then the next.  Nothing is hashed, parsed, named in a database or sent to anybody.
 * The line printed is that of lib_repeat.h.
 */
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_repeat.h"

enum { WRITERS_MAX = 64, PIECE_BYTES = 128 * 1024 };

struct writer {
	int      source;
	uint64_t copies;
	uint8_t  piece[PIECE_BYTES];
};

static struct writer writers[WRITERS_MAX];
static const char   *folder;
static int           folder_fd;
static size_t        bytes = 1500000;

static void write_all(int fd, const uint8_t *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n <= 0)
			err(1, "write below %s", folder);
		p += n;
		len -= (size_t)n;
	}
}

static int make_file(uint32_t thread, const char *what, uint64_t number, int flags)
{
	char name[64];

	snprintf(name, sizeof(name), "%s-%u-%llu", what, thread, (unsigned long long)number);
	int fd = openat(folder_fd, name, flags | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		err(1, "%s/%s", folder, name);
	return fd;
}

static void make_source(uint32_t thread)
{
	struct writer *w = &writers[thread];

	w->source = make_file(thread, "source", 0, O_RDWR);
	for (size_t left = bytes; left > 0;) {
		size_t len = left < PIECE_BYTES ? left : PIECE_BYTES;

		/* At most 256 bytes at once are sure to come whole; the rest of the piece may repeat. */
		if (getrandom(w->piece, 256, 0) != 256)
			err(1, "getrandom");
		write_all(w->source, w->piece, len);
		left -= len;
	}
}

static void copy(uint32_t thread)
{
	struct writer *w  = &writers[thread];
	int            fd = make_file(thread, "copy", w->copies++, O_WRONLY);
	ssize_t        n;

	if (lseek(w->source, 0, SEEK_SET) != 0)
		err(1, "lseek");
	while ((n = read(w->source, w->piece, PIECE_BYTES)) > 0)
		write_all(fd, w->piece, (size_t)n);
	if (n < 0 || fsync(fd) || close(fd) || fsync(folder_fd))
		err(1, "a copy below %s", folder);
}

static void read_options(struct repeat *r, int argc, char **argv)
{
	static const struct option names[] = {
		{ "folder", required_argument, NULL, 'f' }, { "writers", required_argument, NULL, 'w' },
		{ "bytes", required_argument, NULL, 'b' },  { "seconds", required_argument, NULL, 't' },
		{ "warmup", required_argument, NULL, 'u' }, { 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 'f')
			folder = optarg;
		else if (c == 'w')
			r->threads = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'b')
			bytes = strtoul(optarg, NULL, 10);
		else if (c == 't')
			r->seconds = strtod(optarg, NULL);
		else if (c == 'u')
			r->warmup = strtod(optarg, NULL);
		else
			errx(2, "the options are explained at the top of tests/bench/copy_baseline.c");
	}
	if (optind != argc || !folder || r->threads > WRITERS_MAX || bytes == 0)
		errx(2, "--folder is needed");
}

int main(int argc, char **argv)
{
	struct repeat r = { .threads = 8, .warmup = 1, .seconds = 5, .begin = make_source, .once = copy };

	read_options(&r, argc, argv);
	mkdir(folder, 0700);
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder_fd < 0)
		err(1, "%s", folder);
	repeat_run(&r);
	return 0;
}

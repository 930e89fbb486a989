/*
 * Files in a folder of the test's own.
 */
#include "os/file.h"

#include "base/auto.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/coopd-file-XXXXXX";

/* The path of a name in the folder, valid until the next call but three. */
static const char *in_dir(const char *name)
{
	static _Thread_local char   paths[4][PATH_MAX];
	static _Thread_local size_t turn;
	char                       *path = paths[turn++ % COUNT_OF(paths)];

	cr_assert(text_format(path, PATH_MAX, "%s/%s", dir, name));
	return path;
}

static void make_dir(void)
{
	umask(022);
	cr_assert_not_null(mkdtemp(dir));
}

static void remove_dir(void)
{
	char command[PATH_MAX + 16];

	text_format(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

static size_t count_files(void)
{
	DIR   *d = opendir(dir);
	size_t n = 0;

	cr_assert_not_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2; /* . and .. */
}

static void expect_content(const char *name, const char *expected)
{
	AUTO(auto_free) char *text = NULL;
	size_t                len  = 0;

	cr_assert_eq(file_read(&text, &len, in_dir(name), 1 << 20), ERR_OK);
	cr_expect_eq(len, strlen(expected));
	cr_expect_str_eq(text, expected);
}

TestSuite(file, .init = make_dir, .fini = remove_dir);

Test(file, folders_are_made_with_those_above_them)
{
	struct stat st;

	cr_expect_eq(file_make_dirs(in_dir("a/b/c"), 0750), ERR_OK);
	cr_assert_eq(stat(in_dir("a/b"), &st), 0);
	cr_expect(S_ISDIR(st.st_mode));
	cr_expect_eq(st.st_mode & 0777, 0750);
	cr_expect_eq(file_make_dirs(in_dir("a/b/c"), 0750), ERR_OK, "they may be there already");
	cr_expect_eq(file_make_dirs(in_dir("a//d/"), 0750), ERR_OK);
	cr_expect_eq(stat(in_dir("a/d"), &st), 0);
	cr_expect_eq(file_make_dirs("/", 0750), ERR_OK);
}

Test(file, a_file_in_the_way_of_a_folder_is_an_error)
{
	cr_assert_eq(file_write(in_dir("a"), "x", 1, 0600), ERR_OK);
	errno = 0;
	cr_expect_eq(file_make_dirs(in_dir("a"), 0750), ERR_IO);
	cr_expect_eq(errno, ENOTDIR);
	cr_expect_eq(file_make_dirs(in_dir("a/b"), 0750), ERR_IO);
	cr_expect_eq(errno, ENOTDIR);
	cr_expect_eq(file_make_dirs("", 0750), ERR_IO);
}

Test(file, a_path_too_long_is_an_error_and_not_cut)
{
	char path[PATH_MAX + 2];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	cr_expect_eq(file_make_dirs(path, 0750), ERR_IO);
	cr_expect_eq(errno, ENAMETOOLONG);
	cr_expect_eq(file_write(path, "", 0, 0600), ERR_IO);
	cr_expect_eq(errno, ENAMETOOLONG);
}

Test(file, reading_ends_at_the_maximum)
{
	AUTO(auto_free) char *text = NULL;
	size_t                len  = 99;

	cr_assert_eq(file_write(in_dir("f"), "12345", 5, 0600), ERR_OK);
	cr_expect_eq(file_read(&text, &len, in_dir("f"), 4), ERR_TOO_BIG);
	cr_expect_null(text);
	cr_expect_eq(len, 99);
	cr_assert_eq(file_read(&text, &len, in_dir("f"), 5), ERR_OK);
	cr_expect_eq(len, 5);
	cr_expect_str_eq(text, "12345");
}

Test(file, empty_and_missing_are_two_things)
{
	AUTO(auto_free) char *text = NULL;
	size_t                len;

	cr_expect_eq(file_read(&text, &len, in_dir("f"), 10), ERR_NOT_FOUND);
	cr_assert_eq(file_write(in_dir("f"), "", 0, 0600), ERR_OK);
	expect_content("f", "");
	cr_expect_eq(file_read(&text, &len, dir, 10), ERR_IO, "a folder is no file to read");
}

Test(file, what_has_no_size_is_read_to_its_end)
{
	AUTO(auto_free) char *text = NULL;
	AUTO(auto_free) char *cut  = NULL;
	size_t                len;

	cr_assert_eq(file_read(&text, &len, "/proc/self/status", 1 << 20), ERR_OK);
	cr_expect_eq(strncmp(text, "Name:", 5), 0);
	cr_expect_eq(file_read(&cut, &len, "/dev/zero", 1000), ERR_TOO_BIG);
}

Test(file, bytes_of_any_value_come_back)
{
	AUTO(auto_free) char *text = NULL;
	size_t                len;
	char                  all[256];

	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	cr_assert_eq(file_write(in_dir("f"), all, sizeof(all), 0600), ERR_OK);
	cr_assert_eq(file_read(&text, &len, in_dir("f"), 256), ERR_OK);
	cr_expect_eq(len, 256);
	cr_expect_arr_eq(text, all, 256);
	cr_expect_eq(text[256], '\0');
}

Test(file, writing_replaces_whole_and_leaves_nothing_beside)
{
	struct stat st;
	char        before[16] = "";

	cr_assert_eq(file_write(in_dir("f"), "the old one", 11, 0644), ERR_OK);
	int fd = open(in_dir("f"), O_RDONLY);
	cr_assert_eq(file_write(in_dir("f"), "new", 3, 0600), ERR_OK);
	expect_content("f", "new");
	cr_expect_eq(read(fd, before, 15), 11, "who has the old one open still reads it, whole");
	cr_expect_str_eq(before, "the old one");
	close(fd);
	cr_assert_eq(stat(in_dir("f"), &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
	cr_expect_eq(count_files(), 1);
}

/* Ends by itself when it meets anything but one of the two contents, whole. */
static void *look(void *arg)
{
	atomic_bool *stop  = arg;
	size_t       looks = 0;

	while (!atomic_load(stop)) {
		AUTO(auto_free) char *text = NULL;
		size_t                len;

		if (file_read(&text, &len, in_dir("f"), 100000) != ERR_OK || len != (text[0] == 'a' ? 50000 : 3))
			return NULL;
		looks++;
	}
	return looks > 0 ? arg : NULL;
}

Test(file, who_looks_meanwhile_sees_the_old_or_the_new)
{
	static char long_one[50000];
	atomic_bool stop = false;
	pthread_t   looker;
	void       *saw;

	memset(long_one, 'a', sizeof(long_one));
	cr_assert_eq(file_write(in_dir("f"), "new", 3, 0600), ERR_OK);
	cr_assert_eq(pthread_create(&looker, NULL, look, &stop), 0);
	for (int i = 0; i < 50; i++) {
		cr_assert_eq(file_write(in_dir("f"), long_one, sizeof(long_one), 0600), ERR_OK);
		cr_assert_eq(file_write(in_dir("f"), "new", 3, 0600), ERR_OK);
	}
	atomic_store(&stop, true);
	pthread_join(looker, &saw);
	cr_expect_not_null(saw);
}

Test(file, the_mode_is_the_one_asked_for_whatever_the_umask)
{
	struct stat st;

	umask(0777);
	cr_assert_eq(file_write(in_dir("f"), "x", 1, 0640), ERR_OK);
	cr_assert_eq(stat(in_dir("f"), &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0640);
}

Test(file, a_failed_write_leaves_the_old_content_and_nothing_beside)
{
	cr_assert_eq(file_make_dirs(in_dir("taken/inner"), 0700), ERR_OK);
	errno = 0;
	cr_expect_eq(file_write(in_dir("taken"), "x", 1, 0600), ERR_IO, "no file takes the place of a folder");
	cr_expect_eq(errno, EISDIR);
	cr_expect_eq(count_files(), 1);
	cr_expect_eq(file_write(in_dir("missing/f"), "x", 1, 0600), ERR_IO);
	cr_expect_eq(errno, ENOENT);
	cr_expect_eq(count_files(), 1);
}

Test(file, a_name_without_a_folder_is_written_where_we_are)
{
	cr_assert_eq(chdir(dir), 0);
	cr_expect_eq(file_write("f", "here", 4, 0600), ERR_OK);
	expect_content("f", "here");
	cr_assert_eq(chdir("/"), 0);
}

Test(file, a_folder_is_synced_and_its_absence_noticed)
{
	cr_expect_eq(file_sync_dir(dir), ERR_OK);
	cr_expect_eq(file_sync_dir(in_dir("missing")), ERR_IO);
	cr_expect_eq(errno, ENOENT);
}

Test(file, free_space_is_some)
{
	uint64_t bytes = 0;

	cr_expect_eq(file_free_bytes(&bytes, dir), ERR_OK);
	cr_expect_gt(bytes, 0);
	bytes = 99;
	cr_expect_eq(file_free_bytes(&bytes, in_dir("missing")), ERR_IO);
	cr_expect_eq(bytes, 99);
}

Test(file, a_lock_can_be_had_again_after_it_was_given_back)
{
	int   fd     = -1;
	pid_t holder = 99;

	cr_assert_eq(file_lock(&fd, dir, &holder), ERR_OK);
	cr_expect_geq(fd, 0);
	file_unlock(fd);
	cr_assert_eq(file_lock(&fd, dir, &holder), ERR_OK);

	char text[32];
	text_format(text, sizeof(text), "%d\n", (int)getpid());
	expect_content("lock", text);
	file_unlock(fd);
}

/* A process that takes the lock, says so, and holds it until it is killed. Its id. */
static pid_t start_holder(void)
{
	int   ready[2];
	char  byte = 0;
	pid_t pid;

	cr_assert_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		int   fd;
		pid_t holder;

		if (file_lock(&fd, dir, &holder) == ERR_OK && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

Test(file, a_lock_of_another_process_names_it_and_ends_with_it)
{
	pid_t other = start_holder(), holder = 0;
	int   fd = -7;

	cr_expect_eq(file_lock(&fd, dir, &holder), ERR_HELD);
	cr_expect_eq(holder, other);
	cr_expect_eq(fd, -7);
	cr_assert_eq(kill(other, SIGKILL), 0);
	cr_assert_eq(waitpid(other, NULL, 0), other);
	cr_expect_eq(file_lock(&fd, dir, &holder), ERR_OK);
	cr_expect_eq(holder, 0);
	file_unlock(fd);
}

Test(file, a_holder_that_cannot_be_read_is_nobody)
{
	pid_t other = start_holder(), holder = 99;
	int   fd;

	/* In place: file_write would put another file there, with a lock of its own. */
	int lock = open(in_dir("lock"), O_WRONLY | O_TRUNC);
	cr_assert_eq(write(lock, "someone\n", 8), 8);
	close(lock);
	cr_expect_eq(file_lock(&fd, dir, &holder), ERR_HELD);
	cr_expect_eq(holder, 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

Test(file, no_lock_without_a_folder_and_none_through_a_link)
{
	pid_t holder;
	int   fd;

	cr_expect_eq(file_lock(&fd, in_dir("missing"), &holder), ERR_IO);
	cr_expect_eq(errno, ENOENT);
	cr_assert_eq(symlink(in_dir("elsewhere"), in_dir("lock")), 0);
	cr_expect_eq(file_lock(&fd, dir, &holder), ERR_IO);
	cr_expect_eq(errno, ELOOP);
}

Test(file, a_pipe_is_no_file_and_nobody_waits_for_its_writer)
{
	char   path[] = "/tmp/coopd-file-XXXXXX";
	char  *text   = NULL;
	size_t len;

	cr_assert_geq(close(mkstemp(path)), 0);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_expect_eq(file_read(&text, &len, path, 100), ERR_IO);
	cr_expect_null(text);
	unlink(path);
}

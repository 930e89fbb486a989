/* What coopctl doctor finds on this machine's disk: update files, and coopd itself. */
#include "coopctl/doctor_ask.h"

#include "base/auto.h"
#include "base/text.h"
#include "crypt/verify.h"
#include "os/file.h"
#include "update/manifest_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY_BYTES_MAX 16384
#define PATIENCE_MS   3000

/* --- The update --- */

static void fail(struct doctor_facts *f, const char *why)
{
	f->manifest = LOOK_FAILED;
	text_copy(f->manifest_why, sizeof(f->manifest_why), why);
}

static bool is_signed(const char *key, const struct manifest *m, const char *text)
{
	AUTO(auto_free) char *pem = NULL;
	struct p256_key      *k   = NULL;
	size_t                len;
	bool good = file_read(&pem, &len, key, KEY_BYTES_MAX) == ERR_OK && p256_key_new(&k, pem, len) == ERR_OK &&
	            verify_p256(k, m->signature, text, m->signed_len);

	p256_key_free(k);
	return good;
}

void doctor_look_at_update(struct doctor_facts *f, const char *dir, const char *key)
{
	AUTO(auto_free) char *text = NULL;
	struct manifest       m;
	struct stat           st;
	const char           *why = "";
	char                  path[PATH_MAX];
	size_t                len;

	f->manifest       = LOOK_OK;
	f->has_update_key = *key != '\0';
	if (!text_format(path, sizeof(path), "%s/" MANIFEST_NAME, dir) ||
	    file_read(&text, &len, path, MANIFEST_BYTES_MAX) != ERR_OK) {
		fail(f, "there is no " MANIFEST_NAME " in update.dir that can be read");
		return;
	}
	if (manifest_parse(&m, &why, text, len) != ERR_OK) {
		fail(f, why);
		return;
	}
	if (*key && !is_signed(key, &m, text)) {
		fail(f, "the manifest's signature does not fit update.key");
		return;
	}
	if (!text_format(path, sizeof(path), "%s/%s", dir, m.package) || stat(path, &st) != 0 || st.st_size != m.size)
		fail(f, "the package that the manifest names is not there, or has another size");
}

/* --- Versions --- */

/* The coopd beside this program; false: there is none. */
static bool find_beside(char path[PATH_MAX])
{
	char    self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char   *slash;

	if (n <= 0)
		return false;
	self[n] = '\0';
	slash   = strrchr(self, '/');
	*slash  = '\0';
	return text_format(path, PATH_MAX, "%s/coopd", self) && access(path, X_OK) == 0;
}

/* Reads up to the end, or as long as there is patience. */
static size_t read_some(int fd, char *out, size_t cap)
{
	struct pollfd in  = { .fd = fd, .events = POLLIN };
	size_t        len = 0;

	while (len + 1 < cap && poll(&in, 1, PATIENCE_MS) > 0) {
		ssize_t n = read(fd, out + len, cap - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
	}
	out[len] = '\0';
	return len;
}

static void take_versions(struct doctor_facts *f, char *text)
{
	for (char *line; (line = strsep(&text, "\n")) && f->version_count < DOCTOR_VERSIONS_MAX;) {
		struct doctor_version *v = &f->versions[f->version_count];

		if (sscanf(line, "%39s %39s", v->name, v->version) == 2)
			f->version_count++;
	}
}

void doctor_ask_versions(struct doctor_facts *f)
{
	char                       path[PATH_MAX] = "coopd", text[4096], word[] = "--version";
	char                      *argv[] = { path, word, NULL };
	posix_spawn_file_actions_t actions;
	int                        out[2], rc;
	pid_t                      pid;

	find_beside(path);
	if (pipe2(out, O_CLOEXEC) != 0)
		return;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawnp(&pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(out[1]);
	if (rc == 0) {
		read_some(out[0], text, sizeof(text));
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		take_versions(f, text);
	}
	close(out[0]);
}

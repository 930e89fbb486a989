#include "coopctl/publish.h"

#include "base/auto.h"
#include "base/text.h"
#include "crypt/hash_stream.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES 65536
#define MARK        "Crysis Coop update"

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static void free_hash(struct hash_stream **h)
{
	hash_stream_free(*h);
}

void publish_fini(struct publish *p)
{
	for (size_t i = 0; i < p->old_count; i++)
		free(p->old[i]);
	p256_key_free(p->key);
	free(p->dir);
	free(p->key_path);
	free(p->url);
	free(p->text);
}

/* --- Versions --- */

int publish_compare(const char *a, const char *b)
{
	while (*a || *b) {
		unsigned long x = strtoul(a, NULL, 10), y = strtoul(b, NULL, 10);

		if (x != y)
			return x < y ? -1 : 1;
		a += strcspn(a, ".");
		b += strcspn(b, ".");
		a += *a == '.';
		b += *b == '.';
	}
	return 0;
}

bool publish_version_of(char out[MANIFEST_TEXT_BYTES], const char *name, const struct manifest *m)
{
	const char *at  = strstr(m->package, m->version);
	size_t      len = strlen(name), head, tail;

	if (!at)
		return false;
	head = (size_t)(at - m->package);
	tail = strlen(at + strlen(m->version));
	if (len <= head + tail || strncmp(name, m->package, head) != 0 ||
	    strcmp(name + len - tail, at + strlen(m->version)) != 0 || len - head - tail >= MANIFEST_TEXT_BYTES)
		return false;
	memcpy(out, name + head, len - head - tail);
	out[len - head - tail] = '\0';
	return strspn(out, "0123456789.") == strlen(out);
}

/* --- Reading --- */

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whichever of the files begins like a manifest. */
static enum ctl_exit find_manifest(struct publish *p, const struct ctl *c)
{
	for (size_t i = 0; i < c->arg_count; i++) {
		char   begin[sizeof(MARK)] = "";
		FILE  *in                  = fopen(c->args[i], "re");
		size_t got                 = in ? fread(begin, 1, sizeof(MARK) - 1, in) : 0;

		if (!in)
			return ctl_fail(c, CTL_REFUSED, "file", "%s cannot be opened: %s", c->args[i], strerror(errno));
		fclose(in);
		if (got != sizeof(MARK) - 1 || memcmp(begin, MARK, got) != 0)
			continue;
		if (p->text)
			return ctl_fail(c, CTL_USAGE, "usage", "more than one of these files is a manifest");
		if (file_read(&p->text, &p->text_len, c->args[i], MANIFEST_BYTES_MAX) != ERR_OK)
			return ctl_fail(c, CTL_REFUSED, "file", "%s cannot be read, or is longer than %d bytes",
			                c->args[i], MANIFEST_BYTES_MAX);
	}
	return p->text ? CTL_OK
	               : ctl_fail(c, CTL_USAGE, "usage",
	                          "none of these files is a manifest, which begins with \"" MARK "\"");
}

static enum ctl_exit check_manifest(struct publish *p, const struct ctl *c)
{
	const char *why = "";

	if (manifest_parse(&p->manifest, &why, p->text, p->text_len) != ERR_OK)
		return ctl_fail(c, CTL_REFUSED, "manifest", "the manifest is none that launchers take: %s", why);
	if (!verify_p256(p->key, p->manifest.signature, p->text, p->manifest.signed_len))
		return ctl_fail(c, CTL_REFUSED, "signature",
		                "the manifest's signature does not fit the key %s: sign it with the private half of it",
		                p->key_path);
	return CTL_OK;
}

static enum ctl_exit check_bytes(const struct publish *p, const struct ctl *c, const char *path)
{
	AUTO(free_hash) struct hash_stream *h  = hash_stream_new();
	AUTO(close_fd) int                  fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat                         st;
	uint8_t                             buf[BLOCK_BYTES], hash[HASH_SHA256_BYTES];
	ssize_t                             got = 0;

	if (fd < 0 || fstat(fd, &st) != 0 || !h)
		return ctl_fail(c, CTL_REFUSED, "file",
		                "the package %s cannot be opened: %s; name it behind the manifest", path,
		                strerror(errno));
	while ((got = read(fd, buf, sizeof(buf))) > 0)
		hash_stream_add(h, buf, (size_t)got);
	hash_stream_end(hash, h);
	if (got < 0 || !S_ISREG(st.st_mode))
		return ctl_fail(c, CTL_REFUSED, "file", "the package %s cannot be read", path);
	if (st.st_size != p->manifest.size || memcmp(hash, p->manifest.sha256, sizeof(hash)) != 0)
		return ctl_fail(c, CTL_REFUSED, "package",
		                "%s is not the package that the manifest names: its size or SHA-256 is another", path);
	return CTL_OK;
}

static enum ctl_exit check_package(struct publish *p, const struct ctl *c)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < c->arg_count; i++) {
		if (strcmp(name_of(c->args[i]), p->manifest.package) == 0)
			p->package = c->args[i];
	}
	if (p->package)
		return check_bytes(p, c, p->package);
	if (!text_format(path, sizeof(path), "%s/%s", p->dir, p->manifest.package))
		return ctl_fail(c, CTL_USAGE, "usage", "the folder's name is too long");
	return check_bytes(p, c, path);
}

/* A manifest there that cannot be read is no reason not to publish a good one. */
static void look_at_published(struct publish *p)
{
	AUTO(auto_free) char *text = NULL;
	struct manifest       now;
	const char           *why;
	char                  path[PATH_MAX];
	size_t                len;

	if (!text_format(path, sizeof(path), "%s/" MANIFEST_NAME, p->dir) ||
	    file_read(&text, &len, path, MANIFEST_BYTES_MAX) != ERR_OK ||
	    manifest_parse(&now, &why, text, len) != ERR_OK)
		return;
	text_copy(p->published, sizeof(p->published), now.version);
	p->is_older = publish_compare(p->manifest.version, now.version) < 0;
}

enum ctl_exit publish_read(struct publish *p, const struct ctl *c)
{
	enum ctl_exit e = find_manifest(p, c);

	if (e == CTL_OK)
		e = check_manifest(p, c);
	if (e == CTL_OK)
		e = check_package(p, c);
	if (e == CTL_OK)
		look_at_published(p);
	return e;
}

/* --- Writing --- */

/* Under a name with a dot, synced, renamed. NULL, or why not. */
static const char *put_file(const char *dir, const char *name, const char *from)
{
	AUTO(close_fd) int in  = -1;
	AUTO(close_fd) int out = -1;
	char               hidden[PATH_MAX], path[PATH_MAX];
	uint8_t            buf[BLOCK_BYTES];
	ssize_t            got;

	if (!text_format(hidden, sizeof(hidden), "%s/.%s", dir, name) ||
	    !text_format(path, sizeof(path), "%s/%s", dir, name))
		return "its name is too long";
	in  = open(from, O_RDONLY | O_CLOEXEC);
	out = open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (in < 0 || out < 0)
		return strerror(errno);
	while ((got = read(in, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < got;) {
			ssize_t put = write(out, buf + at, (size_t)(got - at));

			if (put <= 0) {
				unlink(hidden);
				return strerror(errno);
			}
			at += put;
		}
	}
	if (got == 0 && fchmod(out, 0644) == 0 && fsync(out) == 0 && rename(hidden, path) == 0 &&
	    file_sync_dir(dir) == ERR_OK)
		return NULL;
	got = errno;
	unlink(hidden);
	return strerror((int)got);
}

enum ctl_exit publish_write(struct publish *p, const struct ctl *c)
{
	const char *why = NULL;
	char        path[PATH_MAX];

	if (p->package)
		why = put_file(p->dir, p->manifest.package, p->package);
	if (why)
		return ctl_fail(c, CTL_REFUSED, "file", "the package cannot be put into %s: %s", p->dir, why);
	if (!text_format(path, sizeof(path), "%s/" MANIFEST_NAME, p->dir) ||
	    file_write(path, p->text, p->text_len, 0644) != ERR_OK)
		return ctl_fail(c, CTL_REFUSED, "file", "the manifest cannot be put into %s: %s", p->dir,
		                strerror(errno));
	return CTL_OK;
}

/* --- Old packages --- */

static int newest_first(const struct dirent **a, const struct dirent **b, const struct manifest *m)
{
	char x[MANIFEST_TEXT_BYTES] = "", y[MANIFEST_TEXT_BYTES] = "";

	publish_version_of(x, (*a)->d_name, m);
	publish_version_of(y, (*b)->d_name, m);
	return publish_compare(y, x);
}

/* A short list, sorted by insertion, as qsort hands nothing to its comparison. */
static void sort(struct dirent **list, size_t count, const struct manifest *m)
{
	for (size_t i = 1; i < count; i++) {
		for (size_t at = i; at > 0; at--) {
			const struct dirent *before = list[at - 1], *after = list[at];
			struct dirent       *kept = list[at];

			if (newest_first(&before, &after, m) <= 0)
				break;
			list[at]     = list[at - 1];
			list[at - 1] = kept;
		}
	}
}

enum ctl_exit publish_prune(struct publish *p, const struct ctl *c)
{
	struct dirent **all   = NULL;
	int             found = scandir(p->dir, &all, NULL, NULL);
	size_t          count = 0;

	if (found < 0)
		return ctl_fail(c, CTL_REFUSED, "file", "the folder %s cannot be read: %s", p->dir, strerror(errno));
	for (int i = 0; i < found; i++) {
		char version[MANIFEST_TEXT_BYTES];

		/* The one that was just published stays, however old it is. */
		if (strcmp(all[i]->d_name, p->manifest.package) != 0 &&
		    publish_version_of(version, all[i]->d_name, &p->manifest))
			all[count++] = all[i];
		else
			free(all[i]);
	}
	sort(all, count, &p->manifest);
	for (size_t i = 0; i < count; i++) {
		char path[PATH_MAX];

		if (i + 1 >= PUBLISH_KEPT && p->old_count < PUBLISH_OLD_MAX &&
		    text_format(path, sizeof(path), "%s/%s", p->dir, all[i]->d_name) &&
		    (c->dry_run || unlink(path) == 0))
			p->old[p->old_count++] = strdup(all[i]->d_name);
		free(all[i]);
	}
	free(all);
	return CTL_OK;
}

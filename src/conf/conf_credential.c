#include "conf/conf_credential.h"

#include "base/auto.h"
#include "base/text.h"
#include "os/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLE "CREDENTIALS_DIRECTORY="

const char *conf_credential_folder(char **env)
{
	for (; env && *env; env++) {
		if (strncmp(*env, VARIABLE, strlen(VARIABLE)) == 0 && (*env)[strlen(VARIABLE)])
			return *env + strlen(VARIABLE);
	}
	return NULL;
}

static bool is_path(const struct conf_row *row)
{
	return row == &conf_rows[CONF_ROW_tls_cert] || row == &conf_rows[CONF_ROW_tls_key];
}

static enum err refuse(struct conf_why *why, enum err e, const char *path, const char *what)
{
	char shown[200];

	text_escape(shown, sizeof(shown), path, strlen(path));
	(void)text_format(why->text, sizeof(why->text), "%s %s", shown, what);
	return e;
}

static enum err refuse_unreadable(struct conf_why *why, enum err e, const char *path, int error)
{
	struct stat st;
	char        what[120];

	if (error == EINVAL && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return refuse(why, e, path, "is no file; a credential is a file with the secret in it");
	(void)text_format(what, sizeof(what), "cannot be read: %s", strerror(error));
	return refuse(why, e, path, what);
}

/* Editors and `openssl rand` end the line. */
static void cut_line_end(char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
}

static enum err read_secret(char **out, const char *path, struct conf_why *why)
{
	AUTO(auto_free) char *text = NULL;
	char                  too_long[60];
	size_t                len = 0;
	enum err              e   = file_read(&text, &len, path, CONF_VALUE_BYTES_MAX);

	if (e == ERR_NOT_FOUND)
		return e;
	if (e == ERR_TOO_BIG) {
		(void)text_format(too_long, sizeof(too_long), "is longer than %d bytes", CONF_VALUE_BYTES_MAX);
		return refuse(why, e, path, too_long);
	}
	if (e != ERR_OK)
		return refuse_unreadable(why, e, path, e == ERR_IO ? errno : ENOMEM);
	if (strlen(text) != len)
		return refuse(why, ERR_MALFORMED, path, "has a zero byte; a secret is a text");
	cut_line_end(text, len);
	*out = TAKE(text);
	return ERR_OK;
}

enum err conf_credential_read(char **out, const char *folder, const struct conf_row *row, struct conf_why *why)
{
	AUTO(auto_free) char *path = NULL;

	if (!(row->flags & SECRET) && !is_path(row))
		return ERR_NOT_FOUND;
	if (asprintf(&path, "%s/%s.%s", folder, row->section, row->name) < 0) {
		path = NULL;
		return refuse(why, ERR_NOMEM, row->name, "cannot be kept: out of memory");
	}
	if (!is_path(row))
		return read_secret(out, path, why);
	if (access(path, F_OK) != 0)
		return ERR_NOT_FOUND;
	*out = TAKE(path);
	return ERR_OK;
}

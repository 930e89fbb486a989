/*
 * Settings that a service manager hands over as files, so that they stand neither in a configuration nor in an
 * environment: systemd's LoadCredential=, secrets of a container. For conf/ only.
 *
 *	$CREDENTIALS_DIRECTORY/turn.secret	the value of a SECRET setting, perhaps with a line end behind it
 *	$CREDENTIALS_DIRECTORY/tls.cert		the setting is the path of this file; tls.key likewise
 *
 * They are weaker than everything else but the defaults: who writes a setting down means it.
 */
#ifndef CONF_CONF_CREDENTIAL_H
#define CONF_CONF_CREDENTIAL_H

#include "conf/conf_table.h"
#include "conf/conf_value.h"

/* The folder that this environment names; NULL: none. */
const char *conf_credential_folder(char **env);

/*
 * The text of this setting, for free(). ERR_NOT_FOUND: there is no such file, or the setting is none that can come this
 * way; else *why says what is wrong.
 */
enum err conf_credential_read(char **out, const char *folder, const struct conf_row *row, struct conf_why *why);

#endif

/* The table of names beside the table of settings. */
#include "conf/conf_env.h"

#include "base/auto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct conf_promise promises[] = {
	{ "COOP_SIGNALING_TOKEN", CONF_ROW_signal_token, .empty = "" },
	{ "COOP_SIGNALING_URL", CONF_ROW_signal_url, .empty = "" },
	{ "COOP_SIGNALING_PORT", CONF_ROW_signal_listen, .is_port = true },
	{ "COOP_SIGNALING_TLS_PORT", CONF_ROW_signal_tls_listen, .is_port = true },
	{ "COOP_SIGNALING_NONCE_DELAY_MS", CONF_ROW_limits_signal_nonce_delay_ms, .empty = "0" },
	{ "COOP_REQUIRE_TLS", CONF_ROW_tls_require, .empty = "no" },
	{ "COOP_MASTER_PORT", CONF_ROW_http_listen, .is_port = true },
	{ "COOP_MASTER_TLS_PORT", CONF_ROW_http_tls_listen, .is_port = true },
	/* They would gate players by the build of their mod, which this server does not. */
	{ "COOP_MAX_BUILD", CONF_ROWS, .is_idle = true },
	{ "COOP_ALLOWED_BUILDS", CONF_ROWS, .is_idle = true },
};

const struct conf_promise *conf_promise_find(const char *variable, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(promises); i++)
		if (strlen(promises[i].variable) == len && memcmp(promises[i].variable, variable, len) == 0)
			return &promises[i];
	return NULL;
}

char *conf_promise_listen(const char *addresses, const char *port)
{
	char  *text = NULL;
	size_t len  = 0;
	FILE  *out  = open_memstream(&text, &len);

	if (!out)
		return NULL;
	for (const char *at = addresses, *end; *at; at = end + strspn(end, " ")) {
		end               = at + strcspn(at, " ");
		const char *colon = memrchr(at, ':', (size_t)(end - at));

		fprintf(out, "%s%.*s:%s", at == addresses ? "" : " ", (int)((colon ? colon : end) - at), at, port);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

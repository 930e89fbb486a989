/*
 * The tunnel and the cloud, brought together.
 */
#include "server_cloud.h"

#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

/* One question for a new code, on its way. */
struct code_ask {
	struct tunnel_new_code question;
	cloud_code_done        done;
	void                  *done_arg;
};

static void on_answer(struct tunnel_new_code *n, enum err result)
{
	struct code_ask *ask = CONTAINER(n, struct code_ask, question);

	ask->done(ask->done_arg, result, n->code);
	free(ask);
}

static void ask_for_code(void *arg, const uint8_t digest[32], cloud_code_done done, void *done_arg)
{
	struct code_ask *ask = calloc(1, sizeof(*ask));

	if (!ask) {
		done(done_arg, ERR_NOMEM, 0);
		return;
	}
	ask->question.done = on_answer;
	memcpy(ask->question.digest, digest, sizeof(ask->question.digest));
	ask->done     = done;
	ask->done_arg = done_arg;
	tunnel_new_code(arg, &ask->question);
}

void server_join(struct tunnel *tunnel, struct cloud *cloud)
{
	tunnel_set_vault(tunnel, cloud_open_vault, cloud);
	cloud_set_new_code(cloud, ask_for_code, tunnel);
}

/*
 * Inside the cloud: what its files share. cloud.c makes it.
 */
#ifndef CLOUD_CLOUD_INSIDE_H
#define CLOUD_CLOUD_INSIDE_H

#include "cloud/cloud.h"
#include "cloud/cloud_get.h"
#include "cloud/cloud_live.h"

struct vault;

struct cloud {
	struct loop           *loop;
	struct store          *store;
	const struct conf     *conf;
	struct cloud_verified *verified;
	struct vault          *vault;
	struct live_all        live; /* transfers over HTTP */

	struct timer    sweep;
	bool            is_sweeping; /* a sweep is under way in the store */
	bool            is_stopped;
	struct job_port port; /* of sweeps */

	cloud_code_ask new_code; /* NULL: nobody gives codes */
	void          *new_code_arg;
};

#endif

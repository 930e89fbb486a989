/*
 * An operator's API that answers from files, for tests of coopctl: what it would be told by a real server of whatever state,
 * broken ones included.
 *
 *	struct canned_api *api = canned_start();
 *	...
 *	cr_expect_str_eq(canned_asked(api, 0), "GET /admin/v1/status");
 *	canned_stop(api);
 *
 * Its answers are in tests/vectors/coopctl/api/NAME.json, arrays of {"ask":"GET /admin/v1/...","status":200,"answer":...}: an
 * answer that is a text is sent as it is, anything else as JSON. What has none is answered 404 not_found.
 */
#ifndef TESTS_CANNED_API_H
#define TESTS_CANNED_API_H

#include <stddef.h>

struct canned_api;

/* Listens on a unix socket in the test's data folder, and on a loopback port. */
struct canned_api *canned_start(void);
void               canned_stop(struct canned_api *api);

const char *canned_socket(const struct canned_api *api);
int         canned_port(const struct canned_api *api);

/* One more answer, before those of the files. answer: JSON or any text. */
void canned_put(struct canned_api *api, const char *ask, int status, const char *answer);

/* The at-th request as "METHOD TARGET BODY" (a blank before a body only); "" when there were fewer. Valid until canned_stop. */
const char *canned_asked(struct canned_api *api, size_t at);
size_t      canned_count(struct canned_api *api);

/* The field Authorization of the last request; "" when it had none. Valid until the next request. */
const char *canned_authorization(struct canned_api *api);

#endif

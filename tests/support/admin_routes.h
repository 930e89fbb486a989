/*
 * The operator's routes of all parts, as a test meets them: with something in the place of each {name}.
 */
#ifndef TESTS_ADMIN_ROUTES_H
#define TESTS_ADMIN_ROUTES_H

#include "api/api.h"

#include <stddef.h>

#define ADMIN_PATH_BYTES 400

/* An api with all routes of all parts that are switched off, for api_route_at; api_free frees it. */
struct api *admin_routes(void);

/* The route's path with values in the place of names: "id" becomes one, "host" another, and so on. */
void admin_route_path(char out[ADMIN_PATH_BYTES], const struct api_route *r);

#endif

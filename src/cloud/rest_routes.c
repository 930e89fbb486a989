/*
 * The REST API's routes. openapi.json, which lies beside this file and is served as it is, describes each; a test holds
 * the two together.
 */
#include "cloud/rest.h"
#include "gen/embed.h"

#include <stdint.h>

static enum err on_openapi(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)rq;
	(void)part;
	a->body      = (char *)(uintptr_t)embed_openapi_json;
	a->body_len  = embed_openapi_json_len;
	a->is_static = true;
	a->status    = 200;
	a->type      = "application/json";
	return ERR_OK;
}

#define CAMPAIGN "/v1/campaigns/{id}"

const struct http_route rest_routes[] = {
	{ "GET", "/v1/openapi.json", on_openapi, NULL, rest_error },
	{ "GET", "/v1/campaigns", rest_list, NULL, rest_error },
	{ "GET", CAMPAIGN, rest_campaign, NULL, rest_error },
	{ "DELETE", CAMPAIGN, rest_forget, NULL, rest_error },
	{ "GET", CAMPAIGN "/checkpoint", rest_download, NULL, rest_error },
	{ "PUT", CAMPAIGN "/checkpoint", NULL, &rest_upload, rest_error },
	{ "POST", CAMPAIGN "/restore", rest_restore, NULL, rest_error },
	{ "PUT", CAMPAIGN "/members/{player}", rest_member_add, NULL, rest_error },
	{ "DELETE", CAMPAIGN "/members/{player}", rest_member_remove, NULL, rest_error },
	{ "POST", "/v1/me/code", rest_code, NULL, rest_error },
	{ 0 },
};

#include "support/api_request.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void api_request_init(struct api_request *r, const char *query, const char *part, const char *body)
{
	memset(r, 0, sizeof(*r));
	r->rq.query = query ? strdup(query) : NULL;
	if (part) {
		r->rq.part_count = 1;
		text_copy(r->rq.parts[0], sizeof(r->rq.parts[0]), part);
	}
	if (body && json_parse(&r->body, body, strlen(body)) != ERR_OK)
		abort();
	r->call = (struct api_call){ .rq = &r->rq, .answer = &r->answer, .who = &r->who, .body = r->body };
}

void api_request_fini(struct api_request *r)
{
	free(r->rq.query);
	free(r->answer.body);
	json_free(r->body);
}

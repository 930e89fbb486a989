#include "cloud/vault_state.h"

#include "base/auto.h"

#include <assert.h>

void vault_init(struct vault_state *s, int64_t idle_ms, int64_t now_ms)
{
	*s = (struct vault_state){ .idle_ms = idle_ms, .active_ms = now_ms };
}

static enum vault_what on_put(struct vault_state *s, const struct vault_msg *msg)
{
	(void)msg;
	return s->upload == VAULT_UPLOAD_NONE ? VAULT_DO_BEGIN : VAULT_DO_NOTHING;
}

static enum vault_what fail(struct vault_state *s)
{
	s->upload = VAULT_UPLOAD_NONE;
	return VAULT_DO_FAIL;
}

static enum vault_what on_part(struct vault_state *s, const struct vault_msg *msg)
{
	if (s->upload != VAULT_UPLOAD_OPEN)
		return VAULT_DO_NOTHING;
	s->come += msg->rest_len;
	return s->come > s->declared ? fail(s) : VAULT_DO_TAKE;
}

static enum vault_what on_end(struct vault_state *s, const struct vault_msg *msg)
{
	(void)msg;
	if (s->upload != VAULT_UPLOAD_OPEN)
		return VAULT_DO_NOTHING;
	if (s->come < s->declared)
		return fail(s);
	s->upload = VAULT_UPLOAD_ENDING;
	return VAULT_DO_END;
}

/* What is the same whatever the state: the row's verdict; else its function's. */
static const struct {
	enum vault_what what;
	bool            is_request;
	enum vault_what (*decide)(struct vault_state *s, const struct vault_msg *msg);
} ops[] = {
	[VAULT_ECHO]   = { .what = VAULT_DO_ECHO },
	[VAULT_PUT]    = { .decide = on_put, .is_request = true },
	[VAULT_PART]   = { .decide = on_part },
	[VAULT_END]    = { .decide = on_end, .is_request = true },
	[VAULT_LIST]   = { .what = VAULT_DO_LIST, .is_request = true },
	[VAULT_GET]    = { .what = VAULT_DO_GET, .is_request = true },
	[VAULT_FORGET] = { .what = VAULT_DO_FORGET, .is_request = true },
};

enum vault_what vault_on_message(struct vault_state *s, const struct vault_msg *msg, int64_t now_ms)
{
	enum vault_what what = VAULT_DO_NOTHING;

	assert(!s->busy);
	if ((size_t)msg->op < COUNT_OF(ops))
		what = ops[msg->op].decide ? ops[msg->op].decide(s, msg) : ops[msg->op].what;
	if (what == VAULT_DO_NOTHING)
		return what;
	s->active_ms = now_ms;
	s->busy      = ops[msg->op].is_request && what != VAULT_DO_FAIL;
	return what;
}

void vault_on_granted(struct vault_state *s, uint32_t declared)
{
	assert(s->busy && s->upload == VAULT_UPLOAD_NONE);
	s->upload   = VAULT_UPLOAD_OPEN;
	s->declared = declared;
	s->come     = 0;
}

bool vault_on_lost(struct vault_state *s)
{
	bool was_open = s->upload == VAULT_UPLOAD_OPEN;

	if (was_open)
		s->upload = VAULT_UPLOAD_NONE;
	return was_open;
}

void vault_on_answered(struct vault_state *s, int64_t now_ms)
{
	assert(s->busy);
	s->busy      = false;
	s->active_ms = now_ms;
	if (s->upload == VAULT_UPLOAD_ENDING)
		s->upload = VAULT_UPLOAD_NONE;
}

void vault_on_progress(struct vault_state *s, int64_t now_ms)
{
	s->active_ms = now_ms;
}

int64_t vault_idle_at(const struct vault_state *s)
{
	return s->active_ms + s->idle_ms;
}

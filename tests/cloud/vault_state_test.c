/*
 * One vault connection's decisions, without a connection.
 */
#include "cloud/vault_state.h"

#include <criterion/criterion.h>

static struct vault_state s;

static enum vault_what on(enum vault_op op)
{
	return vault_on_message(&s, &(struct vault_msg){ .op = op }, 1000);
}

static enum vault_what part(size_t len)
{
	return vault_on_message(&s, &(struct vault_msg){ .op = VAULT_PART, .rest_len = len }, 1000);
}

static void start(void)
{
	vault_init(&s, 300000, 0);
}

/* PUT was granted. */
static void upload(uint32_t declared)
{
	cr_assert_eq(on(VAULT_PUT), VAULT_DO_BEGIN);
	vault_on_granted(&s, declared);
	vault_on_answered(&s, 1000);
}

TestSuite(vault_state, .init = start);

Test(vault_state, a_request_is_busy_until_it_is_answered)
{
	static const enum vault_op   ops[]  = { VAULT_LIST, VAULT_GET, VAULT_FORGET, VAULT_PUT };
	static const enum vault_what want[] = { VAULT_DO_LIST, VAULT_DO_GET, VAULT_DO_FORGET, VAULT_DO_BEGIN };

	for (size_t i = 0; i < 4; i++) {
		cr_expect_eq(on(ops[i]), want[i]);
		cr_expect(s.busy);
		vault_on_answered(&s, 1000);
		cr_expect_not(s.busy);
	}
	cr_expect_eq(on(VAULT_ECHO), VAULT_DO_ECHO);
	cr_expect_not(s.busy);
}

Test(vault_state, parts_and_end_without_an_upload_are_ignored)
{
	cr_expect_eq(part(10), VAULT_DO_NOTHING);
	cr_expect_eq(on(VAULT_END), VAULT_DO_NOTHING);
	on(VAULT_PUT);
	vault_on_answered(&s, 1000); /* refused */
	cr_expect_eq(part(10), VAULT_DO_NOTHING);
	cr_expect_eq(on(VAULT_END), VAULT_DO_NOTHING);
}

Test(vault_state, messages_of_the_server_and_a_second_open_mean_nothing)
{
	static const enum vault_op ops[] = { VAULT_OPEN,    VAULT_OPENED,   VAULT_PUT_GO,    VAULT_PUT_DONE,
		                             VAULT_LISTING, VAULT_GET_SIZE, VAULT_FORGOTTEN, VAULT_FAULT };

	for (size_t i = 0; i < 8; i++)
		cr_expect_eq(on(ops[i]), VAULT_DO_NOTHING, "%d", ops[i]);
	cr_expect_not(s.busy);
}

Test(vault_state, an_upload_takes_exactly_what_was_declared)
{
	upload(100);
	cr_expect_eq(part(0), VAULT_DO_TAKE);
	cr_expect_eq(part(99), VAULT_DO_TAKE);
	cr_expect_eq(part(1), VAULT_DO_TAKE);
	cr_expect_eq(on(VAULT_END), VAULT_DO_END);
	cr_expect(s.busy);
	vault_on_answered(&s, 1000);
	cr_expect_eq(s.upload, VAULT_UPLOAD_NONE);
}

Test(vault_state, one_byte_too_many_fails_at_once_and_the_rest_is_ignored)
{
	upload(100);
	cr_expect_eq(part(100), VAULT_DO_TAKE);
	cr_expect_eq(part(1), VAULT_DO_FAIL);
	cr_expect_not(s.busy);
	cr_expect_eq(part(1), VAULT_DO_NOTHING);
	cr_expect_eq(on(VAULT_END), VAULT_DO_NOTHING);
	upload(1);
}

Test(vault_state, one_byte_too_few_fails_at_the_end)
{
	upload(100);
	part(99);
	cr_expect_eq(on(VAULT_END), VAULT_DO_FAIL);
	cr_expect_not(s.busy);
	cr_expect_eq(s.upload, VAULT_UPLOAD_NONE);
}

Test(vault_state, other_requests_come_between_parts_but_no_second_PUT)
{
	upload(100);
	cr_expect_eq(on(VAULT_PUT), VAULT_DO_NOTHING);
	cr_expect_eq(on(VAULT_LIST), VAULT_DO_LIST);
	vault_on_answered(&s, 1000);
	cr_expect_eq(on(VAULT_GET), VAULT_DO_GET);
	vault_on_answered(&s, 1000);
	cr_expect_eq(on(VAULT_FORGET), VAULT_DO_FORGET);
	vault_on_answered(&s, 1000);
	cr_expect_eq(part(100), VAULT_DO_TAKE);
	cr_expect_eq(on(VAULT_END), VAULT_DO_END);
}

Test(vault_state, requests_answers_and_progress_keep_it_open_and_what_is_ignored_does_not)
{
	cr_expect_eq(vault_idle_at(&s), 300000);
	vault_on_message(&s, &(struct vault_msg){ .op = VAULT_END }, 500);
	cr_expect_eq(vault_idle_at(&s), 300000);
	vault_on_message(&s, &(struct vault_msg){ .op = VAULT_LIST }, 1000);
	cr_expect_eq(vault_idle_at(&s), 301000);
	vault_on_answered(&s, 2000);
	cr_expect_eq(vault_idle_at(&s), 302000);
	vault_on_progress(&s, 3000);
	cr_expect_eq(vault_idle_at(&s), 303000);
}

#include "signal/signal_account_state.h"

#include <assert.h>
#include <string.h>

#define IDLE_MAX       4096 /* kept for their lines alone */
#define SLOT_MS        1000
#define SLOTS_PER_SPAN (SIGNAL_SPAN_MS / SLOT_MS)

static_assert(SLOTS_PER_SPAN + 1 == SIGNAL_SPAN_SLOTS, "a span touches one second more than it lasts");

void signal_accounts_init(struct signal_accounts *a, size_t key_bytes, size_t held_max, uint64_t seed)
{
	map_init(&a->by_key, key_bytes, seed);
	pool_init(&a->pool, sizeof(struct signal_account), held_max + IDLE_MAX);
	list_init(&a->idle);
	a->idle_count = 0;
	a->idle_max   = IDLE_MAX;
}

void signal_accounts_fini(struct signal_accounts *a)
{
	map_fini(&a->by_key);
	pool_fini(&a->pool);
}

/* What is in it, those forgotten that are too old by now. */
static uint32_t span_sum(struct signal_span *span, int64_t now_ms)
{
	int64_t second = now_ms / SLOT_MS, passed = second - span->second;

	if (passed <= 0)
		return span->sum;
	if (passed > SIGNAL_SPAN_SLOTS)
		passed = SIGNAL_SPAN_SLOTS;
	for (int64_t i = 0; i < passed; i++) {
		uint32_t *slot = &span->slots[(second - i) % SIGNAL_SPAN_SLOTS];

		span->sum -= *slot;
		*slot = 0;
	}
	span->second = second;
	return span->sum;
}

static void span_count(struct signal_span *span)
{
	span->slots[span->second % SIGNAL_SPAN_SLOTS]++;
	span->sum++;
}

uint32_t signal_account_lines(struct signal_account *account, int64_t now_ms)
{
	return span_sum(&account->lines, now_ms);
}

void signal_account_count(struct signal_account *account)
{
	span_count(&account->lines);
}

uint32_t signal_account_junk(struct signal_account *account, int64_t now_ms)
{
	span_sum(&account->junk, now_ms);
	span_count(&account->junk);
	return account->junk.sum;
}

/* Whether it would get a fresh budget by being forgotten. */
static bool is_in_use(struct signal_account *account, int64_t now_ms)
{
	return span_sum(&account->lines, now_ms) > 0 || span_sum(&account->junk, now_ms) > 0;
}

static void forget(struct signal_accounts *a, struct signal_account *account)
{
	map_remove(&a->by_key, account->key);
	pool_give(&a->pool, account);
}

/* Those whose lines are forgotten, and the oldest of too many. */
static void forget_idle(struct signal_accounts *a, int64_t now_ms)
{
	while (!list_is_empty(&a->idle)) {
		struct signal_account *first = CONTAINER(a->idle.next, struct signal_account, idle);

		if (a->idle_count <= a->idle_max && is_in_use(first, now_ms))
			return;
		list_remove(&first->idle);
		a->idle_count--;
		forget(a, first);
	}
}

static struct signal_account *make(struct signal_accounts *a, const void *key)
{
	struct signal_account *account = pool_take(&a->pool);

	if (!account)
		return NULL;
	if (map_put(&a->by_key, key, account) != ERR_OK) {
		pool_give(&a->pool, account);
		return NULL;
	}
	memcpy(account->key, key, a->by_key.key_bytes);
	list_init(&account->idle);
	return account;
}

struct signal_account *signal_account_hold(struct signal_accounts *a, const void *key, int64_t now_ms)
{
	forget_idle(a, now_ms);

	struct signal_account *account = signal_account_find(a, key);

	if (!account)
		account = make(a, key);
	if (!account)
		return NULL;
	if (!list_is_empty(&account->idle)) {
		list_remove(&account->idle);
		a->idle_count--;
	}
	account->holds++;
	return account;
}

void signal_account_let(struct signal_accounts *a, struct signal_account *account, int64_t now_ms)
{
	assert(account->holds > 0);
	if (--account->holds > 0)
		return;
	if (!is_in_use(account, now_ms)) {
		forget(a, account);
		return;
	}
	list_append(&a->idle, &account->idle);
	a->idle_count++;
	forget_idle(a, now_ms);
}

struct signal_account *signal_account_find(const struct signal_accounts *a, const void *key)
{
	return map_get(&a->by_key, key);
}

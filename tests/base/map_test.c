/*
 * The hash table: many entries, keys of every length, and removal while it is walked.
 */
#include "base/map.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

#define MANY 100000

struct item {
	uint32_t key;
	bool     seen;
};

static struct item items[MANY];

static void fill(struct map *m)
{
	map_init(m, sizeof(uint32_t), 42);
	for (uint32_t i = 0; i < MANY; i++) {
		items[i] = (struct item){ .key = i * 7919 };
		cr_assert_eq(map_put(m, &items[i].key, &items[i]), ERR_OK);
	}
}

Test(map, an_empty_one_finds_nothing)
{
	struct map m;

	map_init(&m, 4, 1);
	cr_expect_null(map_get(&m, "abcd"));
	cr_expect_null(map_remove(&m, "abcd"));
	cr_expect_eq(map_count(&m), 0);
	map_fini(&m);
}

Test(map, a_key_is_there_until_it_is_removed)
{
	struct map m;
	int        a, b;

	map_init(&m, 4, 1);
	cr_expect_eq(map_put(&m, "aaaa", &a), ERR_OK);
	cr_expect_eq(map_put(&m, "bbbb", &b), ERR_OK);
	cr_expect_eq(map_get(&m, "aaaa"), &a);
	cr_expect_eq(map_get(&m, "bbbb"), &b);
	cr_expect_null(map_get(&m, "cccc"));
	cr_expect_eq(map_remove(&m, "aaaa"), &a);
	cr_expect_null(map_get(&m, "aaaa"));
	cr_expect_eq(map_count(&m), 1);
	cr_expect_eq(map_put(&m, "aaaa", &b), ERR_OK);
	cr_expect_eq(map_get(&m, "aaaa"), &b);
	map_fini(&m);
}

Test(map, a_key_that_is_there_is_not_replaced)
{
	struct map m;
	int        a, b;

	map_init(&m, 4, 1);
	cr_expect_eq(map_put(&m, "aaaa", &a), ERR_OK);
	cr_expect_eq(map_put(&m, "aaaa", &b), ERR_EXISTS);
	cr_expect_eq(map_get(&m, "aaaa"), &a);
	cr_expect_eq(map_count(&m), 1);
	map_fini(&m);
}

Test(map, the_key_is_copied)
{
	struct map m;
	char       key[4] = "aaaa";
	int        a;

	map_init(&m, sizeof(key), 1);
	cr_expect_eq(map_put(&m, key, &a), ERR_OK);
	memset(key, 'x', sizeof(key));
	cr_expect_eq(map_get(&m, "aaaa"), &a);
	cr_expect_null(map_get(&m, key));
	map_fini(&m);
}

Test(map, each_byte_of_a_key_of_any_length_counts)
{
	for (size_t bytes = 1; bytes <= MAP_KEY_BYTES_MAX; bytes++) {
		struct map m;
		uint8_t    key[MAP_KEY_BYTES_MAX] = { 0 };
		int        values[MAP_KEY_BYTES_MAX];

		map_init(&m, bytes, 7);
		for (size_t i = 0; i < bytes; i++) {
			key[i] = 1;
			cr_expect_eq(map_put(&m, key, &values[i]), ERR_OK);
			key[i] = 0;
		}
		cr_expect_null(map_get(&m, key), "all zeros are another key");
		for (size_t i = 0; i < bytes; i++) {
			key[i] = 1;
			cr_expect_eq(map_get(&m, key), &values[i]);
			key[i] = 0;
		}
		map_fini(&m);
	}
}

Test(map, a_hundred_thousand_entries_are_all_found)
{
	struct map m;

	fill(&m);
	cr_expect_eq(map_count(&m), MANY);
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_eq(map_get(&m, &items[i].key), &items[i]);
	for (uint32_t i = 0; i < MANY; i += 2)
		cr_assert_eq(map_remove(&m, &items[i].key), &items[i]);
	cr_expect_eq(map_count(&m), MANY / 2);
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_eq(map_get(&m, &items[i].key), i % 2 ? &items[i] : NULL);
	map_fini(&m);
}

static void see_and_remove_odd(void *value, void *arg)
{
	struct item *item = value;

	cr_assert_not(item->seen);
	item->seen = true;
	if (item->key % 2)
		cr_assert_eq(map_remove(arg, &item->key), item);
}

static void see_and_remove(void *value, void *arg)
{
	struct item *item = value;

	cr_assert_eq(map_remove(arg, &item->key), item);
}

Test(map, walking_sees_each_once_while_entries_are_removed)
{
	struct map m;

	fill(&m);
	map_each(&m, see_and_remove_odd, &m);
	for (uint32_t i = 0; i < MANY; i++) {
		cr_assert(items[i].seen);
		cr_assert_eq(map_get(&m, &items[i].key), items[i].key % 2 ? NULL : &items[i]);
	}
	map_each(&m, see_and_remove, &m);
	cr_expect_eq(map_count(&m), 0);
	cr_expect_eq(map_put(&m, &items[0].key, &items[0]), ERR_OK, "an emptied table takes entries again");
	map_fini(&m);
}

static void note_key(void *value, void *arg)
{
	uint32_t **at = arg;

	*(*at)++ = ((struct item *)value)->key;
}

Test(map, walking_goes_by_insertion_whatever_the_seed)
{
	static const uint64_t seeds[] = { 0, 1, UINT64_MAX };

	for (size_t s = 0; s < COUNT_OF(seeds); s++) {
		struct map m;
		uint32_t   keys[100], *at = keys;

		map_init(&m, sizeof(uint32_t), seeds[s]);
		for (uint32_t i = 0; i < COUNT_OF(keys); i++) {
			items[i].key = i;
			cr_assert_eq(map_put(&m, &i, &items[i]), ERR_OK);
		}
		map_each(&m, note_key, &at);
		for (uint32_t i = 0; i < COUNT_OF(keys); i++)
			cr_expect_eq(keys[i], i);
		map_fini(&m);
	}
}

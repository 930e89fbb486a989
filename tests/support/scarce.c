#include "support/scarce.h"

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pool.h"

static bool armed, refused;
static int  left;

void scarce_after(int pieces)
{
	armed   = true;
	refused = false;
	left    = pieces;
}

bool scarce_end(void)
{
	armed = false;
	return refused;
}

static bool is_refused(void)
{
	if (!armed || left-- > 0)
		return false;
	armed   = false;
	refused = true;
	return true;
}

/* The linker's names: __wrap_x is called for x, and __real_x is the one that was meant. NOLINTBEGIN */

void        *__real_mem_new(size_t bytes);
void        *__real_pool_take(struct pool *p);
enum err     __real_map_put(struct map *m, const void *key, void *value);
struct json *__real_json_object_new(void);

void        *__wrap_mem_new(size_t bytes);
void        *__wrap_pool_take(struct pool *p);
enum err     __wrap_map_put(struct map *m, const void *key, void *value);
struct json *__wrap_json_object_new(void);

void *__wrap_mem_new(size_t bytes)
{
	return is_refused() ? NULL : __real_mem_new(bytes);
}

void *__wrap_pool_take(struct pool *p)
{
	return is_refused() ? NULL : __real_pool_take(p);
}

enum err __wrap_map_put(struct map *m, const void *key, void *value)
{
	return is_refused() ? ERR_NOMEM : __real_map_put(m, key, value);
}

struct json *__wrap_json_object_new(void)
{
	return is_refused() ? NULL : __real_json_object_new();
}

/* NOLINTEND */

/*
 * Names and titles: who has one, and how long it is remembered without.
 *
 * A name is remembered for a while after a take-over, so that two machines behind one router do not push each other out for
 * ever.  A title is remembered while somebody is in it or it has a board.  Without a list of titles there is place for so many,
 * which are taken for good once they have boards: each counts for the address that brought it.
 */
#include "rooms/rooms_state_inside.h"

#include "base/auto.h"
#include "base/mem.h"

#include <string.h>

/* Names */

struct rooms_name *rooms_name_find(const struct rooms_state *s, const uint8_t folded[ROOMS_NAME_BYTES])
{
	return map_get(&s->by_name, folded);
}

struct rooms_name *rooms_name_get(struct rooms_state *s, const uint8_t folded[ROOMS_NAME_BYTES])
{
	struct rooms_name *name = rooms_name_find(s, folded);

	if (name)
		return name;
	name = pool_take(&s->name_pool);
	if (!name)
		return NULL;
	if (map_put(&s->by_name, folded, name) != ERR_OK) {
		pool_give(&s->name_pool, name);
		return NULL;
	}
	memcpy(name->folded, folded, sizeof(name->folded));
	list_init(&name->in_taken);
	return name;
}

static void forget_unused(struct rooms_state *s, struct rooms_name *name)
{
	if (name->holder || !list_is_empty(&name->in_taken))
		return;
	map_remove(&s->by_name, name->folded);
	pool_give(&s->name_pool, name);
}

void rooms_name_hold(struct rooms_name *name, struct rooms_player *p)
{
	name->holder = p;
	p->has_name  = name;
}

void rooms_name_let(struct rooms_state *s, struct rooms_player *p)
{
	struct rooms_name *name = p->has_name;

	if (!name)
		return;
	p->has_name = NULL;
	if (name->holder == p)
		name->holder = NULL;
	forget_unused(s, name);
}

static void forget_taking(struct rooms_state *s, struct rooms_name *name)
{
	list_remove(&name->in_taken);
	s->taken_count--;
	forget_unused(s, name);
}

void rooms_name_note_taken(struct rooms_state *s, struct rooms_name *name, int64_t now_ms)
{
	if (list_is_empty(&name->in_taken))
		s->taken_count++;
	list_remove(&name->in_taken);
	list_append(&s->taken, &name->in_taken);
	name->taken_ms = now_ms;
}

bool rooms_name_is_taken(const struct rooms_state *s, const struct rooms_name *name, int64_t now_ms)
{
	return !list_is_empty(&name->in_taken) && now_ms - name->taken_ms < s->limits->rooms_takeover_ms;
}

/* Those whose time is up, and the oldest of too many. */
void rooms_names_forget(struct rooms_state *s, int64_t now_ms)
{
	while (!list_is_empty(&s->taken)) {
		struct rooms_name *first = CONTAINER(s->taken.next, struct rooms_name, in_taken);

		if (s->taken_count <= (size_t)s->limits->rooms_connections && rooms_name_is_taken(s, first, now_ms))
			return;
		forget_taking(s, first);
	}
}

/* Titles */

bool rooms_title_is_allowed(const struct rooms_state *s, const uint8_t title[ROOMS_TITLE_BYTES])
{
	if (!s->titles)
		return true;
	for (size_t i = 0; i < s->title_count; i++)
		if (memcmp(s->titles[i], title, ROOMS_TITLE_BYTES) == 0)
			return true;
	return false;
}

/* Titles that have a board and that nobody has played since the start. */
struct boarded {
	const struct rooms_state *s;
	const struct rooms_board *last;
	size_t                    count;
};

static void count_boarded(void *arg, const struct rooms_board *board, const struct rooms_row *leader)
{
	struct boarded *b     = arg;
	const uint8_t  *title = rooms_board_title(board);

	(void)leader;
	if (b->last && memcmp(rooms_board_title(b->last), title, ROOMS_TITLE_BYTES) == 0)
		return;
	b->last = board;
	b->count += !map_get(&b->s->by_title, title);
}

/* Those of one who is exempt do not count. */
static size_t brought_by(const struct rooms_state *s, const uint8_t addr[ROOMS_ADDR_BYTES])
{
	size_t count = 0;

	for (struct list *at = s->titles_known.next; at != &s->titles_known; at = at->next) {
		const struct rooms_title *t = CONTAINER(at, struct rooms_title, in_titles);

		count += t->is_counted && memcmp(t->bringer, addr, ROOMS_ADDR_BYTES) == 0;
	}
	return count;
}

static bool may_bring(const struct rooms_state *s, const struct rooms_player *p)
{
	struct boarded b = { .s = s };

	if (brought_by(s, p->from.addr) >= (size_t)s->limits->rooms_titles_per_address)
		return false;
	rooms_boards_each(s->boards, count_boarded, &b);
	return map_count(&s->by_title) + b.count < (size_t)s->limits->rooms_titles;
}

static struct rooms_title *make_title(struct rooms_state *s, const uint8_t title[ROOMS_TITLE_BYTES])
{
	struct rooms_title *t = pool_take(&s->title_pool);

	if (!t)
		return NULL;
	if (map_put(&s->by_title, title, t) != ERR_OK) {
		pool_give(&s->title_pool, t);
		return NULL;
	}
	memcpy(t->title, title, sizeof(t->title));
	list_append(&s->titles_known, &t->in_titles);
	return t;
}

struct rooms_title *rooms_title_get(struct rooms_state *s, const struct rooms_player *p,
                                    const uint8_t title[ROOMS_TITLE_BYTES])
{
	struct rooms_title *t = map_get(&s->by_title, title);

	if (t)
		return t;

	/* Those of a list are no news to the operator. */
	bool is_new = !s->titles && !rooms_boards_have_title(s->boards, title);

	if (is_new && !may_bring(s, p))
		return NULL;
	t = make_title(s, title);
	if (t && is_new && !p->from.is_exempt) {
		memcpy(t->bringer, p->from.addr, sizeof(t->bringer));
		t->is_counted = true;
	}
	return t;
}

void rooms_title_drop_unused(struct rooms_state *s, struct rooms_title *title)
{
	if (title->players > 0 || rooms_boards_have_title(s->boards, title->title))
		return;
	list_remove(&title->in_titles);
	map_remove(&s->by_title, title->title);
	mem_free(title->open);
	pool_give(&s->title_pool, title);
}

void rooms_title_enter(struct rooms_player *p, struct rooms_title *title)
{
	title->players++;
	p->in_title = title;
}

void rooms_title_leave(struct rooms_state *s, struct rooms_player *p)
{
	struct rooms_title *title = p->in_title;

	if (!title)
		return;
	p->in_title = NULL;
	title->players--;
	rooms_title_drop_unused(s, title);
}

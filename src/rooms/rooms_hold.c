/*
 * Players who ask faster than they read. While much waits for one, nothing more of what he asks is handled: the rest of what
 * was read is kept, and what comes behind it waits in the kernel, as TCP does it. So an honest client may ask as much as it
 * likes before it reads, and what waits for it stays small.
 *
 *	handled --more than HOLD waits--> held --less than GO_ON waits--> in rooms.going_on --next turn--> handled
 *
 * That less waits is learnt from tcp in the middle of a write, which may itself be in the middle of what another player asked:
 * therefore nothing is handled before the next turn. The clock of silence goes on: for one who never reads it runs out.
 */
#include "rooms/rooms_inside.h"

#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

/* Of limits.rooms_output. An answer is far smaller than what is left, which is for that and for what others cause. */
#define HOLD_PART  4
#define GO_ON_PART 8

bool rooms_hold_is_due(const struct rooms_peer *p)
{
	return p->out.bytes > (size_t)p->rooms->conf->limits.rooms_output / HOLD_PART;
}

void rooms_hold(struct rooms_peer *p, const uint8_t *rest, size_t len)
{
	p->is_held = true;
	tcp_pause(p->tcp);
	if (p->reader.handed_out) /* it was handled */
		rooms_reader_fini(&p->reader);
	if (len == 0)
		return;
	p->rest = malloc(len);
	if (!p->rest) {
		rooms_give_up(p, ROOMS_END_MEMORY);
		return;
	}
	memcpy(p->rest, rest, len);
	p->rest_len = len;
}

void rooms_hold_sent(struct rooms_peer *p)
{
	struct rooms *r = p->rooms;

	if (!p->is_held || p->is_leaving || !list_is_empty(&p->in_going_on) ||
	    p->out.bytes >= (size_t)r->conf->limits.rooms_output / GO_ON_PART)
		return;
	list_append(&r->going_on, &p->in_going_on);
	if (!r->is_go_on_posted)
		loop_post(r->loop, &r->go_on_post);
	r->is_go_on_posted = true;
}

static void go_on(struct rooms_peer *p, int64_t now_ms)
{
	AUTO(auto_free) uint8_t *rest = TAKE(p->rest);
	size_t                   len  = p->rest_len;

	p->rest_len = 0;
	p->is_held  = false;
	if (len > 0)
		rooms_peer_take(p, rest, len, now_ms);
	if (!p->is_held && !p->is_leaving)
		tcp_resume(p->tcp);
}

static void on_go_on(struct loop_post *post)
{
	struct rooms *r = CONTAINER(post, struct rooms, go_on_post);
	struct list  *first;

	/* Who is added meanwhile is held with the rest of one read: this ends. */
	while ((first = list_take_first(&r->going_on))) {
		struct rooms_peer *p = CONTAINER(first, struct rooms_peer, in_going_on);

		if (!p->is_leaving)
			go_on(p, loop_now_ms(r->loop));
	}
	r->is_go_on_posted = false;
}

void rooms_hold_init(struct rooms *r)
{
	list_init(&r->going_on);
	r->go_on_post.run = on_go_on;
}

/*
 * Rooms come in the order of their ids, so that the next helping goes on behind the last one that was copied, whatever became of
 * that one meanwhile.
 */
#include "rooms/rooms_snapshot.h"

#include "base/auto.h"
#include "base/metric.h"

#include <assert.h>
#include <string.h>

#define HELPING_NAMES 1024 /* about a millisecond */

static struct rooms_room *room_at(struct list *at)
{
	return CONTAINER(at, struct rooms_room, in_rooms);
}

static int64_t sum_of(const enum metric *which, size_t count)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += metric_get(which[i]);
	return sum;
}

static int64_t tcp_refused(void)
{
	static const enum metric which[] = { M_ROOMS_REFUSED_TOTAL, M_ROOMS_REFUSED_ADDRESS, M_ROOMS_REFUSED_RATE,
		                             M_ROOMS_REFUSED_MEMORY };

	return sum_of(which, COUNT_OF(which));
}

static int64_t udp_dropped(void)
{
	static const enum metric which[] = { M_ROOMS_UDP_SHAPE,  M_ROOMS_UDP_USER, M_ROOMS_UDP_TOKEN,
		                             M_ROOMS_UDP_SOURCE, M_ROOMS_UDP_OFF,  M_ROOMS_UDP_TARGET,
		                             M_ROOMS_UDP_RATE };

	return sum_of(which, COUNT_OF(which));
}

/* Room for so many more of them. False: out of memory. */
static bool grow(void **array, size_t *cap, size_t count, size_t more, size_t each)
{
	size_t want = *cap ? *cap * 2 : 64;
	void  *larger;

	if (count + more <= *cap)
		return true;
	if (want < count + more)
		want = count + more;
	larger = realloc(*array, want * each);
	if (!larger)
		return false;
	*array = larger;
	*cap   = want;
	return true;
}

static bool make_place(struct rooms_snapshot *s, const struct rooms_room *room)
{
	void *rooms = s->rooms, *names = s->names;
	bool  is_fine = grow(&rooms, &s->room_cap, s->room_count, 1, sizeof(*s->rooms)) &&
	               grow(&names, &s->name_cap, s->name_count, room->member_count, sizeof(*s->names));

	s->rooms = rooms;
	s->names = names;
	return is_fine;
}

static void copy_room(struct rooms_snapshot *s, struct rooms_room *room, int64_t now_ms)
{
	struct rooms_shown_room *to = &s->rooms[s->room_count++];

	to->id     = room->id;
	to->max    = room->max;
	to->age_ms = now_ms - room->made_ms;
	to->first  = s->name_count;
	to->count  = room->member_count;
	memcpy(to->title, room->title, sizeof(to->title));
	for (struct list *at = room->members.next; at != &room->members; at = at->next)
		memcpy(s->names[s->name_count++], CONTAINER(at, struct rooms_member, in_room)->player->name,
		       ROOMS_NAME_BYTES);
	assert(s->name_count == to->first + to->count);
}

static enum rooms_snapshot_says copy_rooms(struct rooms_snapshot *s, const struct rooms_state *state, int64_t now_ms)
{
	uint64_t done = s->room_count ? s->rooms[s->room_count - 1].id : 0;
	size_t   most = s->name_count + HELPING_NAMES;

	for (struct list *at = state->rooms.next; at != &state->rooms; at = at->next) {
		struct rooms_room *room = room_at(at);

		if (room->id <= done)
			continue;
		if (s->name_count >= most)
			return ROOMS_SNAPSHOT_MORE;
		if (!make_place(s, room))
			return ROOMS_SNAPSHOT_NOMEM;
		copy_room(s, room, now_ms);
	}
	return ROOMS_SNAPSHOT_WHOLE;
}

static void copy_board(void *arg, const struct rooms_board *board, const struct rooms_row *leader)
{
	struct rooms_snapshot    *out = arg;
	struct rooms_shown_board *to  = &out->boards[out->board_count++];

	memcpy(to->title, rooms_board_title(board), sizeof(to->title));
	to->number = rooms_board_number(board);
	to->rows   = rooms_board_rows(board);
	if (to->rows == 0)
		return;
	memcpy(to->leader, leader->name, sizeof(to->leader));
	to->best = leader->score;
}

static enum rooms_snapshot_says copy_boards(struct rooms_snapshot *s, const struct rooms_state *state)
{
	size_t count = rooms_boards_count(state->boards);

	s->boards = calloc(count ? count : 1, sizeof(*s->boards));
	if (!s->boards)
		return ROOMS_SNAPSHOT_NOMEM;
	rooms_boards_each(state->boards, copy_board, s);
	return ROOMS_SNAPSHOT_WHOLE;
}

static void copy_figures(struct rooms_snapshot *s, const struct rooms_state *state)
{
	s->limits        = state->limits;
	s->relays        = state->relays;
	s->clients       = state->player_count;
	s->connections   = metric_get(M_ROOMS_ACCEPTED);
	s->tcp_refused   = tcp_refused();
	s->udp_dropped   = udp_dropped();
	s->relayed_bytes = metric_get(M_ROOMS_RELAYED_BYTES) + metric_get(M_ROOMS_STREAM_BYTES);
	s->streams       = metric_get(M_ROOMS_STREAMS);
}

enum rooms_snapshot_says rooms_snapshot_copy(struct rooms_snapshot *s, const struct rooms_state *state, int64_t now_ms)
{
	enum rooms_snapshot_says says = copy_rooms(s, state, now_ms);

	if (says != ROOMS_SNAPSHOT_WHOLE)
		return says;
	copy_figures(s, state);
	return copy_boards(s, state);
}

void rooms_snapshot_fini(struct rooms_snapshot *s)
{
	free(s->rooms);
	free(s->names);
	free(s->boards);
}

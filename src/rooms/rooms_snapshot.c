/*
 * Two walks over the rooms: the first says how much there is, the second copies it.
 */
#include "rooms/rooms_snapshot.h"

#include "base/auto.h"
#include "base/metric.h"

#include <assert.h>
#include <string.h>

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

/* At least one, so that no memory is never NULL. */
static void *memory_for(size_t count, size_t each)
{
	return calloc(count ? count : 1, each);
}

static bool make_room_for(struct rooms_snapshot *out, const struct rooms_state *s)
{
	size_t names = 0;

	for (struct list *at = s->rooms.next; at != &s->rooms; at = at->next)
		names += room_at(at)->member_count;
	out->rooms  = memory_for(s->room_count, sizeof(*out->rooms));
	out->names  = memory_for(names, sizeof(*out->names));
	out->boards = memory_for(rooms_boards_count(s->boards), sizeof(*out->boards));
	return out->rooms && out->names && out->boards;
}

static void copy_room(struct rooms_snapshot *out, struct rooms_room *room, int64_t now_ms)
{
	struct rooms_shown_room *to = &out->rooms[out->room_count++];

	to->id     = room->id;
	to->max    = room->max;
	to->age_ms = now_ms - room->made_ms;
	to->first  = out->name_count;
	to->count  = room->member_count;
	memcpy(to->title, room->title, sizeof(to->title));
	for (struct list *at = room->members.next; at != &room->members; at = at->next)
		memcpy(out->names[out->name_count++], CONTAINER(at, struct rooms_member, in_room)->player->name,
		       ROOMS_NAME_BYTES);
	assert(out->name_count == to->first + to->count);
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

struct rooms_snapshot *rooms_snapshot_new(const struct rooms_state *s, int64_t now_ms)
{
	struct rooms_snapshot *out = calloc(1, sizeof(*out));

	if (!out || !make_room_for(out, s)) {
		rooms_snapshot_free(out);
		return NULL;
	}
	out->limits        = s->limits;
	out->relays        = s->relays;
	out->clients       = s->player_count;
	out->connections   = metric_get(M_ROOMS_ACCEPTED);
	out->tcp_refused   = tcp_refused();
	out->udp_dropped   = udp_dropped();
	out->relayed_bytes = metric_get(M_ROOMS_RELAYED_BYTES) + metric_get(M_ROOMS_STREAM_BYTES);
	out->streams       = metric_get(M_ROOMS_STREAMS);
	for (struct list *at = s->rooms.next; at != &s->rooms; at = at->next)
		copy_room(out, room_at(at), now_ms);
	rooms_boards_each(s->boards, copy_board, out);
	return out;
}

void rooms_snapshot_free(struct rooms_snapshot *s)
{
	if (!s)
		return;
	free(s->rooms);
	free(s->names);
	free(s->boards);
	free(s);
}

void rooms_snapshot_freep(struct rooms_snapshot **s)
{
	rooms_snapshot_free(*s);
}

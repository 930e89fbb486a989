#include "support/world.h"

#include "base/auto.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	cr_assert_not_null(w);
	limits_default(&w->limits);
	tunnel_state_init(&w->state, &w->limits, 1);
	w->now_ms = 1000000;
	w->addr   = 1;
	return w;
}

void world_free(struct world *w)
{
	tunnel_state_fini(&w->state);
	free(w);
}

struct tunnel_conn *world_conn(struct world *w, const char *name)
{
	uint8_t addr[TUNNEL_ADDR_BYTES] = { w->addr };

	cr_assert_lt(w->conn_count, WORLD_CONNS_MAX);
	struct tunnel_conn *c = &w->conns[w->conn_count];

	w->names[w->conn_count++] = name;
	tunnel_conn_init(c, addr, false, w->now_ms);
	return c;
}

struct tunnel_conn *world_find(struct world *w, const char *name)
{
	for (size_t i = w->conn_count; i > 0; i--)
		if (strcmp(w->names[i - 1], name) == 0)
			return &w->conns[i - 1];
	cr_assert_fail("no connection %s", name);
	return NULL;
}

static void say(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct world *w, const char *format, ...)
{
	size_t  len = strlen(w->said);
	va_list args;

	if (len > 0)
		text_copy(w->said + len, sizeof(w->said) - len, "; ");
	len = strlen(w->said);
	va_start(args, format);
	cr_assert(text_formatv(w->said + len, sizeof(w->said) - len, format, args));
	va_end(args);
}

static const char *name_of(struct world *w, const struct tunnel_conn *c)
{
	return w->names[c - w->conns];
}

static void say_msg(struct world *w, const struct tunnel_act *a)
{
	const char              *to = name_of(w, a->conn);
	const struct tunnel_msg *m  = &a->msg;

	switch (m->op) {
	case TUNNEL_HOST_OPENED:
		say(w, "%s: OPENED %u", to, m->code);
		break;
	case TUNNEL_FAULT:
		say(w, "%s: FAULT %u", to, m->fault);
		break;
	case TUNNEL_JOINED:
		say(w, "%s: JOINED %u", to, m->state);
		break;
	case TUNNEL_GAME_STATE:
		say(w, "%s: STATE %u", to, m->state);
		break;
	case TUNNEL_FRIEND_IS:
		say(w, "%s: FRIEND_IS %u player %u", to, m->number, m->id[0]);
		break;
	case TUNNEL_FRIEND_GONE:
		say(w, "%s: FRIEND_GONE %u", to, m->number);
		break;
	case TUNNEL_PATHS_TO_HOST:
		say(w, "%s: PATHS %u of %zu", to, m->number, m->rest_len);
		break;
	case TUNNEL_PATHS_TO_FRIEND:
		say(w, "%s: PATHS of %zu", to, m->rest_len);
		break;
	default:
		cr_assert_fail("opcode %d is not the server's", (int)m->op);
	}
}

static void run_acts(struct world *w);

static void run_act(struct world *w, const struct tunnel_act *a)
{
	switch (a->what) {
	case TUNNEL_ACT_SEND:
		say_msg(w, a);
		break;
	case TUNNEL_ACT_CLOSE:
		say(w, "close %s", name_of(w, a->conn));
		break;
	case TUNNEL_ACT_DROP_TAG:
		say(w, "%s: drop %u", name_of(w, a->conn), a->number);
		break;
	case TUNNEL_ACT_KEEP_PLAYER:
		say(w, "keep player %u", a->entry->digest[0]);
		break;
	case TUNNEL_ACT_TOUCH_PLAYER:
		say(w, "touch %u", a->entry->digest[0]);
		break;
	case TUNNEL_ACT_KEEP_GAME:
		say(w, "keep game %u", a->game->code);
		break;
	case TUNNEL_ACT_KEEP_FRIEND:
		say(w, "keep friend %u/%u", a->code, a->number);
		break;
	case TUNNEL_ACT_FORGET_FRIEND:
		say(w, "forget friend %u/%u", a->code, a->number);
		break;
	case TUNNEL_ACT_FORGET_GAME:
		say(w, "forget game %u", a->code);
		break;
	}
}

/* Says what was asked for, then lets the store answer. */
static void run_acts(struct world *w)
{
	struct tunnel_acts *copy = malloc(sizeof(*copy));

	cr_assert_not_null(copy);
	*copy         = w->acts;
	w->acts.count = 0;
	for (size_t i = 0; i < copy->count; i++)
		run_act(w, &copy->list[i]);
	for (size_t i = 0; i < copy->count && !w->sick; i++) {
		const struct tunnel_act *a = &copy->list[i];

		if (a->what == TUNNEL_ACT_KEEP_PLAYER)
			world_kept_player(w, a->entry->digest[0], ERR_OK);
		else if (a->what == TUNNEL_ACT_KEEP_FRIEND)
			world_kept_friend(w, a->code, a->number);
	}
	free(copy);
}

void world_do(struct world *w)
{
	run_acts(w);
}

void world_kept_player(struct world *w, uint8_t player, enum err result)
{
	uint8_t id[TUNNEL_ID_BYTES] = { player };

	tunnel_on_player_kept(&w->state, id, result, w->now_ms, w->now_ms, &w->acts);
	run_acts(w);
}

uint32_t world_new_code(struct world *w, uint8_t player)
{
	uint8_t  digest[CODE_DIGEST_BYTES] = { player, [30] = 9 };
	uint32_t from, to = 0;

	return tunnel_on_new_code(&w->state, digest, 0, &from, &to) == ERR_OK ? to : 0;
}

enum err world_kept_new_code(struct world *w, uint8_t player, uint32_t to, enum err result)
{
	uint8_t  digest[CODE_DIGEST_BYTES] = { player, [30] = 9 };
	enum err e                         = tunnel_on_new_code_kept(&w->state, digest, to, result, &w->acts);

	run_acts(w);
	return e;
}

void world_kept_friend(struct world *w, uint32_t code, uint16_t number)
{
	const struct tunnel_game *g = tunnel_find_game(&w->state, code);

	tunnel_on_friend_kept(&w->state, code, g ? g->made_ms : 0, number, w->now_ms, &w->acts);
	run_acts(w);
}

void world_open(struct world *w, const char *name, uint8_t player)
{
	uint8_t            digest[CODE_DIGEST_BYTES] = { player, [30] = 9 };
	struct tunnel_open open                      = {
				     .digest = digest, .may_be_new = !w->new_full, .now_ms = w->now_ms, .wall_ms = w->now_ms
	};

	tunnel_on_open(&w->state, world_conn(w, name), &open, &w->acts);
	run_acts(w);
}

void world_open_v1(struct world *w, const char *name, uint32_t old_code, bool matches)
{
	static const uint8_t  secret[TUNNEL_SECRET_BYTES], digest[CODE_DIGEST_BYTES];
	struct tunnel_open_v1 open = { .old_code   = old_code,
		                       .matches    = matches,
		                       .old_secret = secret,
		                       .new_secret = secret,
		                       .new_digest = digest,
		                       .now_ms     = w->now_ms,
		                       .wall_ms    = w->now_ms };

	tunnel_on_open_v1(&w->state, world_conn(w, name), &open, &w->acts);
	run_acts(w);
}

static void join(struct world *w, const char *name, uint8_t version, uint32_t code, uint8_t player, uint8_t token)
{
	uint8_t            id[TUNNEL_ID_BYTES]               = { player };
	uint8_t            digest[TUNNEL_TOKEN_DIGEST_BYTES] = { token };
	struct tunnel_join join                              = { .version = version,
		                                                 .code    = code,
		                                                 .token   = token ? digest : NULL,
		                                                 .id      = version == 2 ? id : NULL,
		                                                 .now_ms  = w->now_ms,
		                                                 .wall_ms = w->now_ms };

	tunnel_on_join(&w->state, world_conn(w, name), &join, &w->acts);
	run_acts(w);
}

void world_join(struct world *w, const char *name, uint32_t code, uint8_t player, uint8_t token)
{
	join(w, name, 2, code, player, token);
}

void world_join_v1(struct world *w, const char *name, uint32_t code, uint8_t token)
{
	join(w, name, 1, code, 0, token);
}

void world_state(struct world *w, const char *name, uint8_t state)
{
	tunnel_on_game_state(&w->state, world_find(w, name), state, w->now_ms, &w->acts);
	run_acts(w);
}

void world_close(struct world *w, const char *name)
{
	tunnel_on_closed(&w->state, world_find(w, name), w->now_ms, &w->acts);
	run_acts(w);
}

static bool is_in(const char *const *list, const char *name)
{
	for (; list && *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

void world_pass(struct world *w, int64_t ms, const char *const *silent)
{
	bool more;

	w->now_ms += ms;
	for (size_t i = 0; i < w->conn_count; i++)
		if (!is_in(silent, w->names[i]))
			tunnel_on_sign_of_life(&w->conns[i], w->now_ms);
	do {
		more = tunnel_on_tick(&w->state, w->now_ms, &w->acts);
		run_acts(w);
	} while (more);
}

const char *said(struct world *w)
{
	static char last[WORLD_SAID_MAX];

	memcpy(last, w->said, sizeof(last));
	w->said[0] = '\0';
	return last;
}

#include "soak.h"

#include "bench/lib_usage.h"
#include "crypt/hash.h"
#include "soak_watch.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ACTORS_MAX = 2000, SLICE_MS = 50, BETWEEN_VISITS_MS = 400, RETURN_WITHIN_MS = 1500, LAZY_MS = 2500 };

struct soak soak;

const char *const soak_surface_names[SOAK_SURFACES] = {
	[SOAK_TUNNEL] = "tunnel", [SOAK_ROLE] = "open, join",  [SOAK_VAULT] = "vault",    [SOAK_REST] = "REST",
	[SOAK_LOBBY] = "lobbies", [SOAK_SIGNAL] = "signaling", [SOAK_ROOMS] = "rooms",    [SOAK_UDP] = "rooms UDP",
	[SOAK_P2P] = "p2p",       [SOAK_STUN] = "STUN",        [SOAK_ADMIN] = "operator",
};

static const struct soak_part *const parts[] = {
	&soak_part_games,  &soak_part_old_games, &soak_part_hosts,   &soak_part_cloud,  &soak_part_lobby,
	&soak_part_signal, &soak_part_rooms,     &soak_part_p2p,     &soak_part_scrape, &soak_part_operator,
	&soak_part_viewer, &soak_part_backup,    &soak_part_hostile, &soak_part_plant,
};

static struct soak_actor actors[ACTORS_MAX];
static size_t            actor_count;

static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static char            told[SOAK_TOLD_MAX][SOAK_TOLD_BYTES];
static size_t          told_count;

int64_t soak_now_ns(void)
{
	return usage_now_ns();
}

int64_t soak_now_ms(void)
{
	return usage_now_ns() / 1000000;
}

/* xorshift64*, as in support/dice, but each actor has his own. */
uint32_t soak_dice(struct soak_actor *a, uint32_t below)
{
	a->dice ^= a->dice >> 12;
	a->dice ^= a->dice << 25;
	a->dice ^= a->dice >> 27;
	return (uint32_t)((a->dice * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % below;
}

void soak_random(struct soak_actor *a, void *out, size_t len)
{
	uint8_t *bytes = out;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)soak_dice(a, 256);
}

bool soak_goes_on(const struct soak_actor *a)
{
	return soak.up && !soak.ending && soak.life == a->life;
}

static void sleep_ms(int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

void soak_pause(const struct soak_actor *a, int ms)
{
	for (; ms > 0 && soak_goes_on(a); ms -= SLICE_MS)
		sleep_ms(ms < SLICE_MS ? ms : SLICE_MS);
}

/* --- What went wrong --- */

__attribute__((format(printf, 3, 0))) static void tell(const struct soak_actor *a, const char *what, const char *format,
                                                       va_list args)
{
	char text[SOAK_TOLD_BYTES];
	int len = snprintf(text, sizeof(text), "%s, %s %u, life %u at %ld s: ", what, a->part->name, a->number, a->life,
	                   (long)((soak_now_ms() - soak.lives[0].begin_ms) / 1000));

	vsnprintf(text + len, sizeof(text) - (size_t)len, format, args);
	pthread_mutex_lock(&told_lock);
	if (told_count < SOAK_TOLD_MAX) {
		memcpy(told[told_count++], text, sizeof(text));
		fprintf(stderr, "soak: %s\n", text);
	}
	pthread_mutex_unlock(&told_lock);
}

bool soak_fault(const struct soak_actor *a, const char *format, ...)
{
	va_list args;

	if (!soak.up || soak.life != a->life) {
		soak.excused++;
		return false;
	}
	soak.faults++;
	va_start(args, format);
	tell(a, "fault", format, args);
	va_end(args);
	return false;
}

bool soak_promise(const struct soak_actor *a, bool held, const char *format, ...)
{
	va_list args;

	soak.promises++;
	if (held)
		return true;
	soak.lost++;
	va_start(args, format);
	tell(a, "lost", format, args);
	va_end(args);
	return false;
}

size_t soak_told(char out[SOAK_TOLD_MAX][SOAK_TOLD_BYTES])
{
	pthread_mutex_lock(&told_lock);
	memcpy(out, told, sizeof(told));
	size_t count = told_count;

	pthread_mutex_unlock(&told_lock);
	return count;
}

/* An answer may be read a moment after the kill; nothing is answered between two lives. */
bool soak_must_be_kept(int64_t acknowledged_ms)
{
	for (uint32_t i = 0; i < soak.life; i++) {
		const struct soak_life *l       = &soak.lives[i];
		int64_t                 next_ms = soak.lives[i + 1].begin_ms;

		if (l->end == SOAK_KILLED && acknowledged_ms > l->end_ms - LAZY_MS &&
		    (!next_ms || acknowledged_ms < next_ms))
			return false;
	}
	return true;
}

void soak_took(enum soak_surface s, int64_t from_ns)
{
	soak_watch_time(s, usage_now_ns() - from_ns);
}

/* --- Names --- */

void soak_key(uint8_t out[16], const char *format, ...)
{
	char    name[80];
	uint8_t hash[HASH_SHA256_BYTES];
	va_list args;

	va_start(args, format);
	int len = vsnprintf(name, sizeof(name), format, args);

	va_end(args);
	hash_sha256(hash, name, (size_t)len);
	memcpy(out, hash, 16);
}

static unsigned part_number(const struct soak_actor *a)
{
	unsigned part = 0;

	while (part < sizeof(parts) / sizeof(parts[0]) && parts[part] != a->part)
		part++;
	return part + 1;
}

void soak_address(char out[16], const struct soak_actor *a, unsigned number)
{
	snprintf(out, 16, "10.%u.%u.%u", part_number(a) % 256, a->number % 256, number % 250 + 1);
}

void soak_loopback(char out[16], const struct soak_actor *a, unsigned number)
{
	snprintf(out, 16, "127.%u.%u.%u", part_number(a) % 256, a->number % 256, number % 250 + 1);
}

/* --- Threads --- */

static bool await_server(const struct soak_actor *a)
{
	(void)a;
	while (!soak.ending && !soak.up)
		sleep_ms(SLICE_MS);
	return !soak.ending;
}

/* Everybody is back within moments, as after every restart. */
static void look_again(struct soak_actor *a)
{
	a->life = soak.life;
	soak_pause(a, (int)soak_dice(a, RETURN_WITHIN_MS));
	if (a->part->check && soak_goes_on(a))
		a->part->check(a);
	if (soak_goes_on(a))
		a->checked = a->life;
}

static void *act(void *arg)
{
	struct soak_actor *a = arg;

	while (await_server(a)) {
		if (a->checked != soak.life) {
			look_again(a);
			continue;
		}
		a->life = soak.life;
		a->part->visit(a);
		soak.visits++;
		soak_pause(a, (int)soak_dice(a, BETWEEN_VISITS_MS));
	}
	a->life = soak.life;
	if (a->part->check)
		a->part->check(a);
	free(a->own);
	return NULL;
}

static void start_actor(const struct soak_part *part, unsigned number)
{
	struct soak_actor *a = &actors[actor_count];

	if (actor_count == ACTORS_MAX)
		errx(2, "LOAD is too high: more than %d actors", ACTORS_MAX);
	*a = (struct soak_actor){ .part    = part,
		                  .number  = number,
		                  .checked = UINT32_MAX,
		                  .dice    = UINT64_C(0x9e3779b97f4a7c15) * (soak.seed + UINT64_C(1)) + actor_count };
	a->dice |= 1;
	a->own = calloc(1, part->own_bytes ? part->own_bytes : 1);
	if (!a->own || pthread_create(&a->thread, NULL, act, a) != 0)
		err(1, "an actor");
	actor_count++;
}

void soak_actors_start(void)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double wanted = parts[i]->actors > 1 ? parts[i]->actors * soak.load : parts[i]->actors;

		for (unsigned n = 0; n == 0 ? parts[i]->actors > 0 : n < wanted; n++)
			start_actor(parts[i], n);
	}
}

void soak_actors_join(void)
{
	for (size_t i = 0; i < actor_count; i++)
		pthread_join(actors[i].thread, NULL);
}

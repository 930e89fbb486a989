/*
 * Where parts listen, for people.
 */
#include "base/text.h"
#include "net/listen.h"
#include "os/log.h"

#include <pthread.h>
#include <string.h>

static struct {
	pthread_mutex_t     lock;
	struct listen_place places[LISTEN_PLACES_MAX];
	size_t              count;
} announced = { .lock = PTHREAD_MUTEX_INITIALIZER };

void listen_announce(const char *part, const char *address, const char *more)
{
	log_info("server", 0, "listens", "part=%s address=%s%s", part, address, more);
	pthread_mutex_lock(&announced.lock);
	if (announced.count < LISTEN_PLACES_MAX) {
		struct listen_place *p = &announced.places[announced.count++];

		text_copy(p->part, sizeof(p->part), part);
		text_copy(p->address, sizeof(p->address), address);
	}
	pthread_mutex_unlock(&announced.lock);
}

size_t listen_places(struct listen_place out[LISTEN_PLACES_MAX])
{
	size_t count;

	pthread_mutex_lock(&announced.lock);
	count = announced.count;
	memcpy(out, announced.places, count * sizeof(*out));
	pthread_mutex_unlock(&announced.lock);
	return count;
}

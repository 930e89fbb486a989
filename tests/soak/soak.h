/*
 * What the files of the soak test share: the run, its actors, and what they report.
 *
 *	main thread	starts and ends the server, looks at it once a second, judges
 *	actors		a thread each: a player, a table of players, an operator, somebody who means harm
 *
 *	   server comes up --> check: is all that I was promised still there? --> visit, visit, ... --> server goes down
 *	         ^                                                                                          |
 *	         +------------------------------------------------------------------------------------------+
 *
 * An actor remembers by himself what the server acknowledged to him, so nobody waits for anybody. Whatever goes wrong while the
 * server goes down, or in a visit that began in an earlier life of it, is excused; everything else is a fault and fails the run.
 */
#ifndef SOAK_H
#define SOAK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#define SOAK_PATH_BYTES 100
#define SOAK_LIVES_MAX  64

/* Whose times are measured, each for itself. The order is that of report and chart. */
enum soak_surface {
	SOAK_TUNNEL, /* a datagram from friend to host and back */
	SOAK_ROLE,   /* HOST_OPEN or JOIN, with the upgrade */
	SOAK_VAULT,  /* a checkpoint stored or loaded over WebSocket */
	SOAK_REST,   /* the same over HTTP */
	SOAK_LOBBY,  /* a request to the list of lobbies */
	SOAK_SIGNAL, /* a line from peer to peer */
	SOAK_ROOMS,  /* a request of the rooms */
	SOAK_UDP,    /* a probe, or a datagram relayed */
	SOAK_P2P,    /* a request or a link message at /p2p */
	SOAK_STUN,   /* STUN and HELLO */
	SOAK_ADMIN,  /* a request of the operator, scrapes included */
	SOAK_SURFACES
};
extern const char *const soak_surface_names[SOAK_SURFACES];

struct soak_ports {
	uint16_t tunnel, http, signal, rooms, p2p, p2p_alt, admin, events;
};

enum soak_end { SOAK_STOPPED, SOAK_KILLED, SOAK_HANDED_OVER };

/* One run of the server's process. */
struct soak_life {
	int64_t       begin_ms, end_ms; /* ready; told to end. end_ms 0: it still runs */
	enum soak_end end;
};

/* Something that is to go wrong, so that the check for it is seen to work: SOAK_PLANT names it. */
enum soak_plant { SOAK_PLANT_NONE, SOAK_PLANT_LOST, SOAK_PLANT_MEMORY, SOAK_PLANT_DESCRIPTORS };

struct soak {
	double            seconds, load;
	uint32_t          seed;
	enum soak_plant   plant;
	struct soak_ports ports; /* the same in all lives */
	char              root[SOAK_PATH_BYTES], data[SOAK_PATH_BYTES], backup[SOAK_PATH_BYTES];
	char              admin_socket[SOAK_PATH_BYTES], events_socket[SOAK_PATH_BYTES];
	struct soak_life  lives[SOAK_LIVES_MAX + 1];

	_Atomic uint32_t life; /* the current one; the next begins when this one is told to end */
	_Atomic bool     up, ending;
	_Atomic int      clients; /* connections that actors have open */
	_Atomic uint64_t visits, promises, lost, faults, excused;
	_Atomic uint64_t datagrams_sent, datagrams_back;
	_Atomic uint64_t bytes_stored, bytes_loaded, refusals, backups;
};
extern struct soak soak;

struct soak_actor;

struct soak_part {
	const char *name;
	unsigned    actors; /* with LOAD=1 */
	size_t      own_bytes;
	void (*visit)(struct soak_actor *a); /* comes, does something, and goes */
	void (*check)(struct soak_actor *a); /* what was acknowledged is still there; NULL: nothing ever is */
};

struct soak_actor {
	const struct soak_part *part;
	unsigned                number; /* within his part, from 0 */
	uint64_t                dice;
	uint32_t                life, checked;
	void                   *own; /* own_bytes, zeroed at first */
	pthread_t               thread;
};

extern const struct soak_part soak_part_games, soak_part_old_games, soak_part_hosts, soak_part_cloud, soak_part_lobby,
	soak_part_signal, soak_part_rooms, soak_part_p2p, soak_part_scrape, soak_part_operator, soak_part_viewer,
	soak_part_backup, soak_part_hostile, soak_part_plant;

/* --- Of the main thread --- */

/* Their threads; soak_ending, set before, makes them check a last time and end, which is waited for. */
void soak_actors_start(void);
void soak_actors_join(void);

/* --- Of the actors --- */

int64_t soak_now_ms(void);
int64_t soak_now_ns(void);

/* 0 .. below - 1, the actor's own. */
uint32_t soak_dice(struct soak_actor *a, uint32_t below);
void     soak_random(struct soak_actor *a, void *out, size_t len);

/* The visit may go on: the server is up, still in the same life, and the end has not come. */
bool soak_goes_on(const struct soak_actor *a);

/* Waits so long, or less when the visit may not go on. */
void soak_pause(const struct soak_actor *a, int ms);

/* Something that must not happen did, unless it is excused. Returns false. */
bool soak_fault(const struct soak_actor *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Something that was acknowledged is looked at again. Returns held. */
bool soak_promise(const struct soak_actor *a, bool held, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * What was acknowledged then and is written lazily must be there still: only what came in the last seconds before a kill
 * may be missing.
 */
bool soak_must_be_kept(int64_t acknowledged_ms);

/* It took from from_ns until now. */
void soak_took(enum soak_surface s, int64_t from_ns);

/* Of a name: a player's key or the like, the same in every life. Of an actor and one of his numbers: an address. */
void soak_key(uint8_t out[16], const char *format, ...) __attribute__((format(printf, 2, 3)));
void soak_address(char out[16], const struct soak_actor *a, unsigned number);
/* The same, but one of this machine's own, to connect from. */
void soak_loopback(char out[16], const struct soak_actor *a, unsigned number);

/* --- What is told of faults --- */

#define SOAK_TOLD_MAX   40
#define SOAK_TOLD_BYTES 200

/* The first sentences, at most SOAK_TOLD_MAX. */
size_t soak_told(char out[SOAK_TOLD_MAX][SOAK_TOLD_BYTES]);

#endif

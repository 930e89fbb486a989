/*
 * Many WebSocket connections at once, driven by one epoll in the test's process: for storms, floods and traffic, where
 * one blocking client after the other would be too slow.
 *
 *	struct crowd      crowd;
 *	struct crowd_peer peer;
 *
 *	crowd_init(&crowd, on_news);
 *	crowd_dial(&crowd, &peer, port, "203.0.113.1");
 *	crowd_run(&crowd, is_done, &peer, 5000);
 *
 * With crowd_use_tls they go through TLS, each from an address of its own, as players come to a proxy.
 *
 * What happens to a peer is told to on_news, from inside crowd_run. Peers are usually the first member of a struct of
 * the test's own. Pings are answered by themselves. One crowd belongs to one thread.
 */
#ifndef TESTS_CROWD_H
#define TESTS_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CROWD_OUT_BYTES_MAX (256 * 1024) /* more is not taken for a peer whose server does not read */

struct crowd_peer;

enum crowd_news {
	CROWD_OPENED,  /* the upgrade is done */
	CROWD_MESSAGE, /* data, len */
	CROWD_ENDED,   /* by the server, or refused; crowd_drop tells nobody */
};

typedef void (*crowd_fn)(struct crowd_peer *p, enum crowd_news news, const uint8_t *data, size_t len);

struct crowd {
	int                epoll_fd;
	crowd_fn           on_news;
	size_t             connected; /* peers with a socket */
	struct ssl_ctx_st *tls;       /* NULL: without */
	char               tls_name[256];
};

enum crowd_phase { CROWD_DOWN, CROWD_DIALING, CROWD_UPGRADING, CROWD_OPEN };

struct crowd_peer {
	struct crowd    *crowd;
	enum crowd_phase phase;
	int              fd;
	bool             deaf;      /* reads nothing: set it when OPEN, with crowd_listen */
	bool             got_close; /* the server's close frame has come */
	int              status;    /* of the last upgrade; 0: none was answered */
	uint32_t         watched;
	char             from[48];
	struct ssl_st   *ssl;
	uint8_t         *in, *out;
	size_t           in_len, in_cap, out_at, out_len, out_cap;
};

void crowd_init(struct crowd *c, crowd_fn on_news);
void crowd_fini(struct crowd *c); /* after its peers were dropped */

/*
 * All who are dialed from now on speak TLS, trust this certificate alone, and say this name. Their `from`, which is needed then, is
 * the loopback address that they come from, and stands in no header.
 */
void crowd_use_tls(struct crowd *c, const char *cert_path, const char *name);

/*
 * Starts to connect; CROWD_OPENED or CROWD_ENDED follows. The peer must be zeroed before its first dial, and down.
 * from: the client address that a proxy would name; NULL: none.
 */
void crowd_dial(struct crowd *c, struct crowd_peer *p, int port, const char *from);

/* Ends TCP at once, with a reset or, if not, its usual end. Frees what the peer held. Nothing when it is down. */
void crowd_drop(struct crowd_peer *p, bool reset);

/* Sends one message. False when it was not taken: not open, or too much is waiting. */
bool crowd_send(struct crowd_peer *p, const void *data, size_t len);

/* Raw bytes, also before the upgrade. */
bool crowd_send_raw(struct crowd_peer *p, const void *data, size_t len);

/* Stops and starts reading. */
void crowd_listen(struct crowd_peer *p, bool listens);

/* Bytes that still wait in this process to be sent. */
size_t crowd_waiting(const struct crowd_peer *p);

/*
 * Lets things happen until done says so (true) or patience_ms are over (false). done may be NULL. One turn is made in
 * any case, so that with 0 ms only what is ready is looked at.
 */
bool crowd_run(struct crowd *c, bool (*done)(void *arg), void *arg, int patience_ms);

#endif

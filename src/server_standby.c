/*
 * Binding in the order of the real start, so that both take the same sockets.
 */
#include "server_standby.h"

#include "net/inherit.h"
#include "net/tls.h"
#include "os/file.h"
#include "os/successor.h"
#include "p2p/p2p_serve.h"
#include "server_listen.h"

#include <stdlib.h>

/* The one that it takes over from holds it, and no other. */
static bool is_same_data(const struct conf *conf, FILE *report)
{
	pid_t holder = file_lock_holder(conf->server_data);

	if (holder > 0 && holder == successor_of())
		return true;
	fprintf(report,
	        "server.data: %s is not the data folder of the server that runs, and a hand-over stays with that one; "
	        "stop the server and start it again for another\n",
	        conf->server_data);
	return false;
}

/* One for each setting. */
struct tried {
	struct listeners tunnel, tunnel_tls, http, http_tls, signal, signal_tls, rooms, rooms_udp, status, admin,
		events;
};

static bool try_relays(struct tried *t, const struct conf *c, bool has_tls, FILE *report)
{
	if (c->signal_enable &&
	    (!listeners_bind(&t->signal, "signal.listen", &c->signal_listen, report) ||
	     (has_tls && !listeners_bind(&t->signal_tls, "signal.tls_listen", &c->signal_tls_listen, report))))
		return false;
	if (c->rooms_enable &&
	    (!listeners_bind_both(&t->rooms, &t->rooms_udp, "rooms.listen", &c->rooms_listen, report) ||
	     !listeners_bind(&t->status, "rooms.status_listen", &c->rooms_status_listen, report)))
		return false;
	return !c->p2p_enable || p2p_try_listen(c, report) == ERR_OK;
}

static bool try_games(struct tried *t, const struct conf *c, bool has_tls, FILE *report)
{
	if (c->tunnel_enable && (!listeners_bind(&t->tunnel, "tunnel.listen", &c->tunnel_listen, report) ||
	                         !listeners_bind(&t->tunnel_tls, "tunnel.tls_listen", &c->tunnel_tls_listen, report)))
		return false;
	return !c->http_enable ||
	       (listeners_bind(&t->http, "http.listen", &c->http_listen, report) &&
	        (!has_tls || listeners_bind(&t->http_tls, "http.tls_listen", &c->http_tls_listen, report)));
}

static bool try_admin(struct tried *t, const struct conf *c, FILE *report)
{
	return !c->admin_enable || (listeners_try_unix("admin.socket", c->admin_socket, report) &&
	                            listeners_bind(&t->admin, "admin.listen", &c->admin_listen, report) &&
	                            listeners_try_unix("admin.events_socket", c->admin_events_socket, report) &&
	                            listeners_bind(&t->events, "admin.events_listen", &c->admin_events_listen, report));
}

static void put_back(struct tried *t)
{
	listeners_put_back(&t->signal, "signal.listen");
	listeners_put_back(&t->signal_tls, "signal.tls_listen");
	listeners_put_back(&t->rooms, "rooms.listen");
	listeners_put_back(&t->rooms_udp, "rooms.listen");
	listeners_put_back(&t->status, "rooms.status_listen");
	listeners_put_back(&t->tunnel, "tunnel.listen");
	listeners_put_back(&t->tunnel_tls, "tunnel.tls_listen");
	listeners_put_back(&t->http, "http.listen");
	listeners_put_back(&t->http_tls, "http.tls_listen");
	listeners_put_back(&t->admin, "admin.listen");
	listeners_put_back(&t->events, "admin.events_listen");
}

/* When one cannot be had, the process ends, and its sockets with it. */
static bool try_listening(const struct conf *conf, bool has_tls, FILE *report)
{
	struct tried *t = calloc(1, sizeof(*t));
	bool          is_good;

	if (!t) {
		fputs("there is no memory for its sockets\n", report);
		return false;
	}
	is_good = try_relays(t, conf, has_tls, report) && try_games(t, conf, has_tls, report) &&
	          try_admin(t, conf, report);
	if (is_good)
		put_back(t);
	free(t);
	return is_good;
}

bool server_stand_by(const struct conf *conf, FILE *report)
{
	struct tls_cert *cert    = NULL;
	bool             is_good = is_same_data(conf, report) && tls_cert_load(&cert, conf, report) == ERR_OK &&
	               try_listening(conf, cert != NULL, report);

	tls_cert_free(cert);
	return is_good;
}

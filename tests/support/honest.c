#include "support/honest.h"

#include <criterion/criterion.h>

#define GONE_WITHIN_MS 10000

void honest_begin(struct honest *h, const char *const *sets)
{
	h->s      = server_start(sets);
	h->host   = host_open(h->s->tunnel_port, "A", &h->code);
	h->friend = friend_join(h->s->tunnel_port, h->code, "visit", "B");
	host_expect_friend(h->host, 1, "B");
}

void honest_play(struct honest *h)
{
	friend_send(h->friend, "hi", 2);
	host_expect_datagram(h->host, 1, "hi", 2);
	host_send(h->host, 1, "ho", 2);
	friend_expect_datagram(h->friend, "ho", 2);
}

void honest_finish(struct honest *h)
{
	honest_play(h);
	server_await_metric(h->s, "coopd_ws_connections", NULL, 2, GONE_WITHIN_MS);
	cr_expect_eq(server_metric(h->s, "coopd_ws_queued_bytes", NULL), 0);
	cr_expect_eq(server_metric(h->s, "coopd_ws_partial_bytes", NULL), 0);
	ws_client_free(h->friend);
	ws_client_free(h->host);
	server_finish(h->s);
}

/*
 * The value of a forwarding field, as a trusted proxy hands it on.
 *
 * What is found in it is an address of the internet: it prints, and what was printed reads back as the same.
 */
#include "net/addr.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct addr *a)
{
	char        text[ADDR_TEXT_BYTES];
	struct addr again;

	assert(a->family == ADDR_IPV4 || a->family == ADDR_IPV6);
	assert(a->port == 0);
	addr_text(text, a);
	assert(addr_parse(&again, text, strlen(text), false) == ERR_OK);
	assert(again.family == a->family && memcmp(again.ip, a->ip, sizeof(a->ip)) == 0);
	addr_text_port(text, a);
	assert(addr_parse(&again, text, strlen(text), true) == ERR_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char      word[]  = "10.0.0.0/8";
	static char     *words[] = { word };
	struct addr      peer    = { .family = ADDR_IPV4, .ip = { 10, 0, 0, 1 }, .port = 9 };
	struct addr      client;
	struct addr_nets trusted;
	bool             forwarded;

	if (addr_nets_parse(&trusted, words, 1) != ERR_OK)
		abort();
	enum err e = addr_client(&client, &forwarded, &peer, &trusted, (const char *)data, len);
	assert(e == ERR_OK || e == ERR_MALFORMED);
	if (forwarded) {
		assert(e == ERR_OK && len <= 1024);
		check(&client);
	} else {
		assert(client.port == peer.port && memcmp(client.ip, peer.ip, sizeof(peer.ip)) == 0);
	}
	addr_nets_fini(&trusted);
	return 0;
}

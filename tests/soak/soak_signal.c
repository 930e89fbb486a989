/*
 * Peers of the signaling relay, two for each actor: over TCP, or the first over WebSocket. They prove their keys and send each other
 * lines, which must come whole, in order, and with the sender's name.
 */
#include "soak.h"
#include "soak_wire.h"

#include "base/hex.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 68, LINE_BYTES = 600, FILL_BYTES = 200 };

struct peer {
	struct soak_wire wire;
	bool             ws;
	char             name[NAME_BYTES + 1];
	unsigned char    secret[crypto_sign_SECRETKEYBYTES];
	char             line[4 * LINE_BYTES]; /* the last that was heard over WebSocket */
};

static void make_key(struct peer *p, const struct soak_actor *a, unsigned which)
{
	unsigned char seed[crypto_sign_SEEDBYTES], key[crypto_sign_PUBLICKEYBYTES];

	soak_key(seed, "soak signal %u peer %u", a->number, which);
	soak_key(seed + 16, "soak signal %u peer %u, the rest", a->number, which);
	crypto_sign_seed_keypair(key, p->secret, seed);
	memcpy(p->name, "gen:", 4);
	hex_encode(p->name + 4, key, sizeof(key));
}

/* text ends with a line feed, which a message does without. */
static bool say(struct peer *p, const char *text)
{
	size_t len = strlen(text);

	return p->ws ? soak_ws_say(&p->wire, SOAK_WS_TEXT, text, len - 1) : soak_send(&p->wire, text, len);
}

/* Without its end; NULL: none comes. */
static char *hear(struct peer *p)
{
	if (!p->ws)
		return soak_line(&p->wire, SOAK_PATIENCE_MS);

	struct soak_message m = soak_ws_hear(&p->wire, SOAK_PATIENCE_MS);

	if (m.op != SOAK_WS_TEXT || m.len == 0 || m.len >= sizeof(p->line))
		return NULL;
	memcpy(p->line, m.data, m.len);
	p->line[m.len - (m.data[m.len - 1] == '\n')] = '\0';
	return p->line;
}

static bool connect_peer(struct soak_actor *a, struct peer *p)
{
	char address[16], from[16];

	soak_address(address, a, p->ws);
	soak_loopback(from, a, 0);
	p->wire = SOAK_WIRE_NONE;
	if (p->ws)
		return soak_dial(&p->wire, NULL, soak.ports.tunnel, 0) &&
		       soak_upgrade(&p->wire, "/signal", address) == 101;
	return soak_dial(&p->wire, from, soak.ports.signal, 0);
}

/* From the greeting to the echo of the self test. */
static bool enter(struct soak_actor *a, struct peer *p)
{
	char          text[LINE_BYTES], hex[2 * crypto_sign_BYTES + 1];
	unsigned char sig[crypto_sign_BYTES];
	char         *line;

	if (!connect_peer(a, p))
		return soak_fault(a, "cannot connect to signaling");
	snprintf(text, sizeof(text), "soak %s\n", p->name);
	line = say(p, text) ? hear(p) : NULL;
	if (!line || strncmp(line, "nonce ", 6) != 0 || strlen(line) != 70)
		return soak_fault(a, "a greeting over %s is answered by %.60s", p->ws ? "WebSocket" : "TCP",
		                  line ? line : "nothing");

	int len = snprintf(text, sizeof(text), "multivoid-signaling-register-v1%s%s", p->name, line + 6);

	crypto_sign_detached(sig, NULL, (const unsigned char *)text, (unsigned long long)len, p->secret);
	hex_encode(hex, sig, sizeof(sig));
	snprintf(text, sizeof(text), "auth %s\n", hex);
	if (!say(p, text))
		return soak_fault(a, "signaling takes no proof");
	snprintf(text, sizeof(text), "%s \n", p->name);
	line = say(p, text) ? hear(p) : NULL;
	if (!line || strncmp(line, p->name, NAME_BYTES) != 0)
		return soak_fault(a, "a self test is answered by %.60s", line ? line : "nothing");
	return true;
}

/* A line there, and what came is compared. */
static bool talk(struct soak_actor *a, struct peer *from, struct peer *to, unsigned number)
{
	char    text[LINE_BYTES], fill[FILL_BYTES + 1], wanted[LINE_BYTES];
	int64_t from_ns = soak_now_ns();
	size_t  len     = soak_dice(a, FILL_BYTES);

	memset(fill, 'a' + (int)soak_dice(a, 26), len);
	fill[len] = '\0';
	snprintf(text, sizeof(text), "%s %08u%s\n", to->name, number, fill);
	snprintf(wanted, sizeof(wanted), "%s %08u%s", from->name, number, fill);

	char *line = say(from, text) ? hear(to) : NULL;

	if (!line || strcmp(line, wanted) != 0)
		return soak_fault(a, "line %u arrives as %.100s", number, line ? line : "nothing");
	soak_took(SOAK_SIGNAL, from_ns);
	return true;
}

static void visit(struct soak_actor *a)
{
	struct peer p[2]    = { { .wire = SOAK_WIRE_NONE, .ws = soak_dice(a, 3) == 0 }, { .wire = SOAK_WIRE_NONE } };
	unsigned    lines   = 10 + soak_dice(a, 120);
	bool        goes_on = true;

	for (unsigned i = 0; i < 2; i++) {
		make_key(&p[i], a, i);
		goes_on = goes_on && enter(a, &p[i]);
	}
	for (unsigned i = 0; goes_on && i < lines && soak_goes_on(a); i++) {
		goes_on = talk(a, &p[i % 2], &p[1 - i % 2], i);
		soak_pause(a, (int)soak_dice(a, 200));
	}
	for (unsigned i = 0; i < 2; i++) {
		if (soak_dice(a, 2))
			soak_hang_up(&p[i].wire);
		else
			soak_abort(&p[i].wire);
	}
}

const struct soak_part soak_part_signal = { .name = "signaling", .actors = 10, .visit = visit };

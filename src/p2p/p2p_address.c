/*
 * Addresses of clients: those they say of themselves, and the one they are seen under.
 */
#include "p2p/p2p_inside.h"

#include "base/auto.h"
#include "base/text.h"
#include "net/addr.h"

#include <string.h>

/* What can only be reached from inside a house: a list with anything else would have peers send datagrams to strangers. */
static const char *const local_networks[] = { "10.0.0.0/8",     "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
	                                      "169.254.0.0/16", "fc00::/7",      "fe80::/10" };

enum err p2p_locals_init(struct p2p *p)
{
	return addr_nets_parse(&p->local_nets, (char *const *)(uintptr_t)local_networks, COUNT_OF(local_networks));
}

bool p2p_is_inside(const struct p2p *p, const struct addr *a)
{
	return addr_is_loopback(a) || addr_nets_contain(&p->local_nets, a);
}

static struct addr addr_of(const struct p2p_endpoint *e)
{
	struct addr a = { .family = ADDR_IPV4, .port = e->port };

	memcpy(a.ip, e->ip, sizeof(e->ip));
	return a;
}

void p2p_ip_text(char out[ADDR_TEXT_BYTES], const struct p2p_endpoint *e)
{
	struct addr a = addr_of(e);

	addr_text(out, &a);
}

void p2p_endpoint_text(char out[P2P_ADDRESS_TEXT_BYTES + 1], const struct p2p_endpoint *e)
{
	struct addr a = addr_of(e);
	char        text[ADDR_TEXT_BYTES];

	addr_text_port(text, &a);
	text_copy(out, P2P_ADDRESS_TEXT_BYTES + 1, text);
}

static bool is_mapped_ip(const struct p2p_session *s, const struct addr *a)
{
	const struct p2p_endpoint *e = &s->member.mapped;

	return e->is_set && a->family == ADDR_IPV4 && memcmp(e->ip, a->ip, sizeof(e->ip)) == 0;
}

static bool may_be_local(const struct p2p_session *s, const struct addr *a)
{
	return addr_nets_contain(&s->p2p->local_nets, a) || is_mapped_ip(s, a) ||
	       (s->p2p->conf->p2p_allow_loopback && addr_is_loopback(a));
}

static bool is_known(const struct p2p_session *s, const char *text)
{
	for (size_t i = 0; i < s->local_count; i++) {
		if (strcmp(s->locals[i], text) == 0)
			return true;
	}
	return false;
}

/* In the form in which peers are told. */
static void keep_local(struct p2p_session *s, const struct addr *a)
{
	char text[ADDR_TEXT_BYTES];

	addr_text_port(text, a);
	if (s->local_count < P2P_LOCALS_MAX && !is_known(s, text))
		text_copy(s->locals[s->local_count++], sizeof(s->locals[0]), text);
}

/* All are read before one is kept: a list with a fault changes nothing. */
enum p2p_error p2p_take_locals(struct p2p_session *s, const struct p2p_request *r)
{
	struct addr found[P2P_LOCALS_ASKED_MAX];
	size_t      count;
	const char *text;

	if (json_kind(r->json, "local") == JSON_IS_MISSING)
		return P2P_ERR_NONE;
	if (json_get_array(&count, r->json, "local") != ERR_OK)
		return P2P_ERR_BAD_REQUEST;
	if (count > P2P_LOCALS_ASKED_MAX)
		return P2P_ERR_TOO_LARGE;
	for (size_t i = 0; i < count; i++) {
		if (json_get_array_text(&text, r->json, "local", i) != ERR_OK)
			return P2P_ERR_BAD_REQUEST;
		if (strlen(text) > P2P_ADDRESS_TEXT_BYTES ||
		    addr_parse(&found[i], text, strlen(text), true) != ERR_OK || found[i].port == 0)
			return P2P_ERR_BAD_ADDRESS;
	}
	s->local_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (may_be_local(s, &found[i]))
			keep_local(s, &found[i]);
	}
	return P2P_ERR_NONE;
}

void p2p_on_local(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	enum p2p_error e = json_kind(r->json, "local") == JSON_IS_MISSING ? P2P_ERR_BAD_REQUEST : p2p_take_locals(s, r);

	(void)now_ms;
	if (e == P2P_ERR_NONE)
		p2p_done(s, r);
	else
		p2p_refuse(s, r, e);
}

/* The cookie shows that it reads what is sent to this address; before that it could be anybody's. */
void p2p_on_mapped(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	char         text[P2P_ADDRESS_TEXT_BYTES + 1];
	int64_t      cookie;
	bool         is_new;
	struct json *j;

	if (json_get_int(&cookie, r->json, "cookie") != ERR_OK) {
		p2p_refuse(s, r, P2P_ERR_BAD_REQUEST);
		return;
	}
	if (!s->offered.is_set || cookie != (int64_t)s->cookie) {
		p2p_refuse(s, r, P2P_ERR_STALE);
		return;
	}
	is_new           = !p2p_endpoint_is_same(&s->offered, &s->member.mapped);
	s->member.mapped = s->offered;
	p2p_endpoint_text(text, &s->member.mapped);
	j = p2p_answer(r);
	if (j)
		json_put_text(j, "mapped", text);
	p2p_tell(s, j);
	if (is_new)
		p2p_mapped_changed(s, now_ms);
}

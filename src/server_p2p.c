#include "server_p2p.h"

#include <stdio.h>

static enum err ask_game(void *arg, uint32_t code, const uint8_t digest[32])
{
	return tunnel_is_in_game(arg, code, digest);
}

static void on_game_over(void *arg, uint32_t code)
{
	p2p_game_over(arg, code);
}

bool server_p2p_build(struct server_p2p *s, struct loop *loop, struct store *store, struct ws *ws,
                      struct tunnel *tunnel, const struct conf *conf)
{
	if (p2p_new(&s->p2p, loop, store, conf, stderr) != ERR_OK)
		return false;
	ws_route(ws, "/p2p", p2p_handler(s->p2p));
	if (!conf->p2p_enable)
		return true;
	p2p_set_games(s->p2p, ask_game, tunnel);
	tunnel_set_over(tunnel, on_game_over, s->p2p);
	if (udp_new(&s->udp, loop) != ERR_OK) {
		fputs("coopd: there is no memory for peer to peer.\n", stderr);
		return false;
	}
	return p2p_listen(s->p2p, s->udp, stderr) == ERR_OK;
}

void server_p2p_start(struct server_p2p *s)
{
	p2p_announce(s->p2p);
}

void server_p2p_stop(struct server_p2p *s)
{
	if (s->udp)
		udp_stop(s->udp);
	p2p_stop(s->p2p);
}

void server_p2p_free(struct server_p2p *s)
{
	if (s->udp)
		udp_free(s->udp);
	p2p_free(s->p2p);
}

/*
 * A player who is forgotten: his code is held from before his rows go until they are gone, as when it is freed.
 */
#include "os/clock.h"
#include "tunnel/tunnel_inside.h"

enum err tunnel_forget_begin(struct tunnel *t, const uint8_t id[TUNNEL_ID_BYTES])
{
	uint32_t code;

	return tunnel_on_free_code(tunnel_state_of(t), id, &code);
}

void tunnel_forget_end(struct tunnel *t, const uint8_t id[TUNNEL_ID_BYTES], enum err result)
{
	tunnel_on_code_freed(tunnel_state_of(t), id, result, tunnel_now_ms(t), clock_wall_ms(), tunnel_acts_of(t));
	tunnel_do_acts(t);
}

#include "net/addr_event.h"

struct event_field event_addr(const char *name, const struct addr *a)
{
	char text[ADDR_TEXT_BYTES];

	addr_text_log(text, a);
	return event_copy(name, text);
}

#include "os/priority.h"

#include <stdbool.h>
#include <sys/resource.h>

#define STEPS 10

void priority_give_way(void)
{
	static _Thread_local bool gave_way;

	if (gave_way)
		return;
	gave_way = true;
	/* On Linux 0 is the calling thread, not its process. Without it all still works, only less evenly. */
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + STEPS);
}

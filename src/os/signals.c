#include "os/signals.h"

#include <stddef.h>
#include <time.h>

void signals_held(sigset_t *out)
{
	sigemptyset(out);
	sigaddset(out, SIGHUP);
	sigaddset(out, SIGUSR1);
	sigaddset(out, SIGUSR2);
}

void signals_hold(void)
{
	sigset_t held;

	signals_held(&held);
	pthread_sigmask(SIG_BLOCK, &held, NULL);
}

void signals_release(void)
{
	static const struct timespec at_once = { 0 };
	sigset_t                     held, dropped;

	signals_held(&held);
	dropped = held;
	sigdelset(&dropped, SIGHUP);
	while (sigtimedwait(&dropped, NULL, &at_once) > 0)
		;
	pthread_sigmask(SIG_UNBLOCK, &held, NULL);
}

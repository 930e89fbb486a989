#include "lib_stop.h"

volatile sig_atomic_t stop_wanted;

static void on_signal(int signal)
{
	(void)signal;
	stop_wanted = 1;
}

void stop_on_signals(sigset_t *open)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t         closed;

	sigemptyset(&closed);
	sigaddset(&closed, SIGTERM);
	sigaddset(&closed, SIGINT);
	sigprocmask(SIG_BLOCK, &closed, open);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

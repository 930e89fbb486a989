#include "support/netns.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static int home    = -1; /* what the process started in */
static int entered = -1;

static void become(int fd)
{
	cr_assert_eq(setns(fd, CLONE_NEWNET), 0, "no other network namespace: %s", strerror(errno));
}

void netns_enter(int fd)
{
	if (fd < 0)
		return;
	cr_assert_lt(entered, 0, "one network namespace is to be left before the next is entered");
	if (home < 0)
		home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	cr_assert_geq(home, 0, "no network namespace of our own: %s", strerror(errno));
	become(fd);
	entered = fd;
}

void netns_leave(void)
{
	if (entered < 0)
		return;
	entered = -1;
	become(home);
}

void netns_switch(int fd)
{
	if (fd == entered)
		return;
	netns_leave();
	netns_enter(fd);
}

int netns_current(void)
{
	return entered;
}

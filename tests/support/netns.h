/*
 * Network namespaces, one socket at a time: a socket stays in the namespace in which it was made, whatever its process does
 * later. So one test, in one process and one thread, has sockets in many.
 *
 *	netns_enter(fd);
 *	... sockets made here, and programs started here, are in it ...
 *	netns_leave();
 */
#ifndef TESTS_NETNS_H
#define TESTS_NETNS_H

/* fd: an open namespace (/run/netns/NAME); -1 changes nothing. Each is left before the next is entered. For root. */
void netns_enter(int fd);
void netns_leave(void);

/* Leaves the one and enters the other; -1: the process's own. */
void netns_switch(int fd);

/* The one that is entered; -1: none, it is the process's own. */
int netns_current(void);

#endif

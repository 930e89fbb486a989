/*
 * For servers inside the test's own process.
 */
#ifndef TESTS_OTHER_END_H
#define TESTS_OTHER_END_H

#include <stdbool.h>

/* The server's descriptor of a connection that the test dialled over IPv4: to look at it, or to set its options. */
int other_end(int client_fd);

/* Whether the server reads all that it has been sent. False: for half a second it took nothing of what is there. */
bool other_end_reads(int client_fd);

#endif

/*
 * Death at a chosen call: a library that a test puts in front of the real one. It counts the calls of the process that
 * change a file below a folder, the database's among them, and kills the process at the one the test names.
 *
 *	LD_PRELOAD=build/test/kill_at.so
 *	FAULT_KILL_DIR=/tmp/x/data		calls on files below this folder count, no others
 *	FAULT_KILL_CONTROL=/tmp/x/kill		a file of one struct kill_at, which the test changes at any time
 *
 * Counted are: open with O_CREAT or O_TRUNC, write, pwrite, writev, pwritev, ftruncate, truncate, fallocate, rename,
 * link, unlink, mkdir, rmdir, fsync, fdatasync, sync_file_range, syncfs and copy_file_range, in all their spellings.
 * Sockets, pipes and files elsewhere are not, nor what the C library does inside of stdio.
 */
#ifndef TESTS_KILL_AT_H
#define TESTS_KILL_AT_H

#include <stdint.h>

struct kill_at {
	_Atomic int32_t armed; /* 0: nothing is counted */
	_Atomic int32_t after; /* 0: the call is not made; 1: it is, and its return is what the process does not see */
	_Atomic int64_t at;    /* the number of the deadly call, counted from 1; 0: none */
	_Atomic int64_t count; /* how many there were since the test set it to 0 */
	char            what[96]; /* the deadly call: its name, and the file within the folder */
};

#endif

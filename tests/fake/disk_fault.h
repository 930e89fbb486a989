/*
 * A disk that is slow, full of errors, or watched: a library that a test puts in front of the real one.
 *
 *	LD_PRELOAD=build/test/disk_fault.so	(with the address sanitizer also ASAN_OPTIONS=verify_asan_link_order=0)
 *	COOP_FAULT_DIR=/tmp/x/data		files below this folder are concerned, no others; without it all is as usual
 *	COOP_FAULT_MATCH=-wal			errors only for files with this end, or, with a * or ? in it, for paths below
 *						the folder that it fits ("data/blobs/??"); every file when it is not set
 *	COOP_FAULT_CONTROL=/tmp/x/fault		a file of one struct disk_fault, which the test changes at any time
 *	COOP_FAULT_LOG=/tmp/x/calls		a line is added for each call
 *
 * Lines of the log, in the order in which the calls returned. PATH is relative to the folder:
 *
 *	write PATH = 4096	  also pwrite, writev and pwritev; -5 instead of a count is an error, EIO here
 *	sync PATH = 0		  fsync and fdatasync
 *	rename PATH PATH = 0
 *	says TEXT		  the first line of what was written to standard output
 *	send = 13		  on a socket: write, send, sendmsg and writev
 *
 * It sees what libraries and the program call; what the C library does inside of stdio stays unseen.
 */
#ifndef TESTS_DISK_FAULT_H
#define TESTS_DISK_FAULT_H

#include <stdint.h>

struct disk_fault {
	_Atomic int32_t delay_ms;   /* before each read, write, sync and rename; setting it to 0 ends waits under way */
	_Atomic int32_t fail_syncs; /* so many of the next fail with EIO; -1: all */
	_Atomic int32_t fail_writes;  /* the same for write and pwrite */
	_Atomic int32_t write_errno;  /* instead of EIO for writes, such as ENOSPC; 0: EIO */
	_Atomic int32_t spare_writes; /* so many before those that fail are fine */
	_Atomic int32_t fail_makes;   /* so many of the next opens that make a file fail with EROFS; -1: all */
};

#endif

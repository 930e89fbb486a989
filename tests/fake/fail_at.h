/*
 * A failure at a chosen call. What the test and the server under test share, in a file that both map:
 *
 *	FAIL_AT_CONTROL=/tmp/x/fail	a file of one struct fail_at; without it nothing fails
 *
 * Three things count calls and let the n-th of them fail:
 *
 *	faults/wrap_alloc.c	linked into build/test/coopd-faults: what our own code takes from the heap
 *	fake/fail_library.c	LD_PRELOAD, plain build: what libraries take from the heap, the C library among them
 *	fake/fail_call.c	LD_PRELOAD, any build: system calls of our code and of libraries
 */
#ifndef TESTS_FAIL_AT_H
#define TESTS_FAIL_AT_H

#include <stdint.h>

/* How calls fail. Only those that can fail like this are counted; of the heap there is only FAIL_ENOMEM. */
enum fail_how {
	FAIL_EIO,    /* on sockets and pipes: ECONNRESET or EPIPE */
	FAIL_ENOSPC, /* what writes or makes files */
	FAIL_EINTR,  /* what may wait; a file on a disk never does */
	FAIL_EMFILE, /* what makes descriptors */
	FAIL_ENOMEM, /* what takes memory in the kernel; pthread_create says EAGAIN */
	FAIL_SHORT,  /* half of the bytes are read or written */
	FAIL_HOWS
};

#define FAIL_NAMES                                                    \
	{                                                             \
		"eio", "enospc", "eintr", "emfile", "enomem", "short" \
	}

struct fail_at {
	_Atomic int32_t armed;     /* 0: nothing is counted */
	_Atomic int32_t how;       /* of enum fail_how */
	_Atomic int64_t at;        /* the first call that fails, counted from 1; 0: none */
	_Atomic int64_t every;     /* from there on each so manieth; 0: it alone */
	_Atomic int64_t count;     /* how many there were since the test set it to 0 */
	char            what[160]; /* of the first that failed: "write data/coop.db-wal, libsqlite3.so.0+0x3f1c2" */
};

#endif

/*
 * Puts a library of tests/fake before the C library of the next programs that this process starts.
 */
#ifndef TESTS_PRELOAD_H
#define TESTS_PRELOAD_H

/* name: "disk_fault.so"; it lies beside the test program. In this process's own environment: each test has one. */
void preload_library(const char *name);

#endif

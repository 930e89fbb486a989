/*
 * Where tests put what is theirs for a moment: TMPDIR, which `make test` sets to a folder in memory where there is one
 * (thousands of small databases come and go, and a disk is slow to forget them), else /tmp.
 */
#ifndef TESTS_TEMP_FOLDER_H
#define TESTS_TEMP_FOLDER_H

#define TEMP_FOLDER_BYTES 48 /* paths of sockets have 108 bytes in all */

/* A new, empty folder whose name begins so ("coopd-test-"); ends the test when there is none. The caller removes it. */
void temp_folder(char out[TEMP_FOLDER_BYTES], const char *name);

#endif

/*
 * One process per data folder.
 */
#ifndef STORE_DATA_LOCK_H
#define STORE_DATA_LOCK_H

#include "base/err.h"

#include <stdio.h>

/*
 * Takes the lock of the folder, which is there, until file_unlock(*fd). ERR_HELD: another process has it; ERR_IO. A sentence
 * for the operator, with who has it, went to report then.
 */
enum err data_lock(int *fd, const char *data, FILE *report);

#endif

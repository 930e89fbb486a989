#include "store/data_lock.h"

#include "os/file.h"

#include <errno.h>
#include <string.h>

enum err data_lock(int *fd, const char *data, FILE *report)
{
	pid_t    holder;
	enum err e = file_lock(fd, data, &holder);

	if (e == ERR_HELD && holder > 0)
		fprintf(report,
		        "the data folder %s is in use by process %ld; stop that one first, or choose another folder "
		        "with --data\n",
		        data, (long)holder);
	else if (e == ERR_HELD)
		fprintf(report,
		        "the data folder %s is in use by another process; stop that one first, or choose another "
		        "folder with --data\n",
		        data);
	else if (e != ERR_OK)
		fprintf(report,
		        "cannot lock the data folder %s: %s; coopd's user must be able to write there, or choose "
		        "another folder with --data\n",
		        data, strerror(errno));
	return e;
}

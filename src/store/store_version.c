#include "store/store_version.h"

#include <sqlite3.h>

void store_print_versions(FILE *out)
{
	fprintf(out, "sqlite %s\n", sqlite3_libversion());
}

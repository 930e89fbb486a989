#include "base/base_version.h"

#include <jansson.h>
#include <zlib.h>

void base_print_versions(FILE *out)
{
	fprintf(out, "jansson %s\n", jansson_version_str());
	fprintf(out, "zlib %s\n", zlibVersion());
}

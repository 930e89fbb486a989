#include "base/base_version.h"

#include <jansson.h>

void base_print_versions(FILE *out)
{
	fprintf(out, "jansson %s\n", jansson_version_str());
}

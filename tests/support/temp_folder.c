#include "support/temp_folder.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void temp_folder(char out[TEMP_FOLDER_BYTES], const char *name)
{
	const char *below = getenv("TMPDIR");

	if (!below || !text_format(out, TEMP_FOLDER_BYTES, "%s/%sXXXXXX", below, name))
		cr_assert(text_format(out, TEMP_FOLDER_BYTES, "/tmp/%sXXXXXX", name));
	cr_assert_not_null(mkdtemp(out), "no folder like %s: %s", out, strerror(errno));
}

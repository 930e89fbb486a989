#include "crypt/crypt_version.h"

#include <openssl/crypto.h>
#include <sodium.h>

void crypt_print_versions(FILE *out)
{
	fprintf(out, "libsodium %s\n", sodium_version_string());
	fprintf(out, "libcrypto %s\n", OpenSSL_version(OPENSSL_VERSION_STRING));
}

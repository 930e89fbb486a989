#include "support/tls_peer.h"

#include "support/dial.h"

#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static X509 *new_cert(EVP_PKEY *key, const char *name, long from_s, long until_s)
{
	X509 *cert = X509_new();

	cr_assert(key && cert);
	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), from_s);
	X509_gmtime_adj(X509_getm_notAfter(cert), until_s);
	X509_set_pubkey(cert, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
	                           0);
	return cert;
}

static void sign_cert(X509 *cert, const X509 *by, EVP_PKEY *key)
{
	X509_set_issuer_name(cert, X509_get_subject_name(by));
	cr_assert_gt(X509_sign(cert, key, EVP_sha256()), 0);
}

void tls_make(const char *cert_path, const char *key_path, const struct tls_wish *wish)
{
	bool      hour   = wish->from_s == 0 && wish->until_s == 0;
	EVP_PKEY *key    = wish->is_rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
	EVP_PKEY *ca_key = wish->has_chain ? EVP_EC_gen("P-256") : NULL;
	X509     *cert   = new_cert(key, wish->name, hour ? -3600 : wish->from_s, hour ? 3600 : wish->until_s);
	X509     *ca     = wish->has_chain ? new_cert(ca_key, "An authority", -3600, 3600) : NULL;
	FILE     *f;

	sign_cert(cert, ca ? ca : cert, ca ? ca_key : key);
	cr_assert_not_null(f = fopen(cert_path, "w"));
	PEM_write_X509(f, cert);
	if (ca) {
		sign_cert(ca, ca, ca_key);
		PEM_write_X509(f, ca);
	}
	fclose(f);
	cr_assert_not_null(f = fopen(key_path, "w"));
	PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
	fclose(f);
	X509_free(cert);
	X509_free(ca);
	EVP_PKEY_free(key);
	EVP_PKEY_free(ca_key);
}

void tls_make_cert(const char *cert_path, const char *key_path, const char *name)
{
	tls_make(cert_path, key_path, &(struct tls_wish){ .name = name });
}

void tls_make_rsa_cert(const char *cert_path, const char *key_path, const char *name)
{
	tls_make(cert_path, key_path, &(struct tls_wish){ .name = name, .is_rsa = true });
}

/* Waits for what OpenSSL wants after this result; false at the deadline, or when the connection is over. */
static bool wait_for_more(struct tls_client *c, int result, int64_t deadline_ms)
{
	int           error = SSL_get_error(c->ssl, result);
	int64_t       left  = deadline_ms - real_now_ms();
	struct pollfd p     = { .fd = c->fd, .events = error == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN };

	if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
		return false;
	return left > 0 && poll(&p, 1, (int)left) > 0;
}

bool tls_client_open(struct tls_client *c, int port, int rcvbuf_bytes, const char *alpn)
{
	return tls_client_shake(c, dial_tcp(port, rcvbuf_bytes), alpn, 0);
}

static bool shake(struct tls_client *c, const char *alpn)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;
	int     result;

	c->ssl = SSL_new(c->ctx);
	cr_assert_not_null(c->ssl);
	SSL_set_fd(c->ssl, c->fd);
	if (alpn)
		SSL_set_alpn_protos(c->ssl, (const unsigned char *)alpn, (unsigned)strlen(alpn));
	while ((result = SSL_connect(c->ssl)) != 1)
		if (!wait_for_more(c, result, deadline_ms))
			return false;
	return true;
}

static void begin(struct tls_client *c, int fd, int version)
{
	*c = (struct tls_client){ .fd = fd, .ctx = SSL_CTX_new(TLS_client_method()) };
	cr_assert_geq(c->fd, 0);
	cr_assert_not_null(c->ctx);
	SSL_CTX_set_mode(c->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (!version)
		return;
	SSL_CTX_set_security_level(c->ctx, 0);
	cr_assert(SSL_CTX_set_min_proto_version(c->ctx, version) == 1);
	cr_assert(SSL_CTX_set_max_proto_version(c->ctx, version) == 1);
}

bool tls_client_shake(struct tls_client *c, int fd, const char *alpn, int version)
{
	begin(c, fd, version);
	return shake(c, alpn);
}

bool tls_client_shakes_with(int port, const char *ciphers)
{
	struct tls_client c;
	bool              shaken;

	begin(&c, dial_tcp(port, 0), TLS1_2_VERSION);
	cr_assert_eq(SSL_CTX_set_cipher_list(c.ctx, ciphers), 1, "%s", ciphers);
	shaken = shake(&c, NULL);
	tls_client_close(&c);
	return shaken;
}

int tls_client_chain_len(const struct tls_client *c)
{
	return sk_X509_num(SSL_get_peer_cert_chain(c->ssl));
}

void tls_client_close(struct tls_client *c)
{
	SSL_free(c->ssl);
	SSL_CTX_free(c->ctx);
	close(c->fd);
}

const char *tls_client_server_name(const struct tls_client *c, char *out, size_t cap)
{
	X509 *cert = SSL_get1_peer_certificate(c->ssl);

	cr_assert_not_null(cert);
	cr_assert_gt(X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, out, (int)cap), 0);
	X509_free(cert);
	return out;
}

bool tls_client_send(struct tls_client *c, const void *data, size_t len)
{
	int64_t     deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;
	const char *at          = data;

	while (len > 0) {
		int n = SSL_write(c->ssl, at, (int)len);

		if (n <= 0) {
			if (!wait_for_more(c, n, deadline_ms))
				return false;
			continue;
		}
		at += n;
		len -= (size_t)n;
	}
	return true;
}

size_t tls_client_read(struct tls_client *c, void *out, size_t len, int patience_ms)
{
	int64_t deadline_ms = real_now_ms() + patience_ms;
	size_t  got         = 0;

	while (got < len) {
		int n = SSL_read(c->ssl, (char *)out + got, (int)(len - got));

		if (n > 0)
			got += (size_t)n;
		else if (!wait_for_more(c, n, deadline_ms))
			break;
	}
	return got;
}

int tls_client_upgrade(struct tls_client *c, const void *glued, size_t glued_len)
{
	static const char head[] = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
				   "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
	char              request[1024], answer[1024];
	size_t            len    = 0;
	int               status = 0;

	cr_assert_leq(sizeof(head) + glued_len, sizeof(request));
	memcpy(request, head, sizeof(head) - 1);
	if (glued_len > 0)
		memcpy(request + sizeof(head) - 1, glued, glued_len);
	if (!tls_client_send(c, request, sizeof(head) - 1 + glued_len))
		return 0;
	/* Byte by byte: what follows the head stays in the session. */
	while (len < sizeof(answer) - 1 && tls_client_read(c, answer + len, 1, DIAL_PATIENCE_MS) == 1)
		if (++len >= 4 && memcmp(answer + len - 4, "\r\n\r\n", 4) == 0)
			break;
	answer[len] = '\0';
	sscanf(answer, "HTTP/1.1 %3d", &status);
	return status;
}

#include "coopctl/doctor_probe.h"

#include "base/auto.h"
#include "base/text.h"
#include "net/addr.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define HTTPS_PORT     "443"
#define ANSWER_BYTES   4096
#define STUN_BYTES     20
#define STUN_BYTES_MAX 1024
#define STUN_AGAIN_MS  700

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static int64_t now_ms(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- Connections --- */

/* A connected socket, or -1 with errno. Reads and writes on it have the same patience. */
static int dial(const struct sockaddr *at, socklen_t len)
{
	int            fd    = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval limit = { .tv_sec = PROBE_PATIENCE_MS / 1000 };

	if (fd < 0)
		return -1;
	/* SO_SNDTIMEO bounds connect, too. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 && connect(fd, at, len) == 0)
		return fd;

	int why = errno == EINPROGRESS ? ETIMEDOUT : errno;

	close(fd);
	errno = why;
	return -1;
}

/* Who listens everywhere is reached at loopback. */
static bool address_of(struct sockaddr_storage *out, socklen_t *len, const char *address)
{
	static const uint8_t any[16];
	struct addr          a;

	if (addr_parse(&a, address, strlen(address), true) != ERR_OK || a.port == 0)
		return false;
	if (memcmp(a.ip, any, sizeof(any)) == 0) {
		a.ip[0]  = a.family == ADDR_IPV4 ? 127 : 0;
		a.ip[3]  = a.family == ADDR_IPV4 ? 1 : 0;
		a.ip[15] = a.family == ADDR_IPV6 ? 1 : 0;
	}
	addr_to_sockaddr(out, len, &a);
	return true;
}

static int dial_text(const char *address)
{
	struct sockaddr_un      path = { .sun_family = AF_UNIX };
	struct sockaddr_storage at;
	socklen_t               len;

	if (strncmp(address, "unix:", 5) == 0 && text_copy(path.sun_path, sizeof(path.sun_path), address + 5))
		return dial((const struct sockaddr *)&path, sizeof(path));
	if (address_of(&at, &len, address))
		return dial((const struct sockaddr *)&at, len);
	errno = EINVAL;
	return -1;
}

bool probe_connect(char *why, size_t cap, const char *address)
{
	AUTO(close_fd) int fd = dial_text(address);

	text_copy(why, cap, fd < 0 ? strerror(errno) : "");
	return fd >= 0;
}

/* --- TLS --- */

static int64_t seconds_of(const ASN1_TIME *t)
{
	struct tm tm = { 0 };

	return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static void read_dates(struct doctor_cert *out, const X509 *x)
{
	out->look    = LOOK_OK;
	out->from_s  = seconds_of(X509_get0_notBefore(x));
	out->until_s = seconds_of(X509_get0_notAfter(x));
}

static void fail_look(struct doctor_cert *out, const char *why)
{
	out->look = LOOK_FAILED;
	text_copy(out->why, sizeof(out->why), why);
}

void probe_file(struct doctor_cert *out, const char *path)
{
	FILE *in = fopen(path, "re");
	X509 *x  = in ? PEM_read_X509(in, NULL, NULL, NULL) : NULL;

	if (x)
		read_dates(out, x);
	else
		fail_look(out, in ? "it holds no certificate in PEM" : strerror(errno));
	X509_free(x);
	if (in)
		fclose(in);
	ERR_clear_error();
}

/* TLS on a connected socket; the certificate is looked at whether it is trusted or not. NULL: it did not come about. */
static SSL *shake(struct doctor_cert *out, SSL_CTX *ctx, int fd, const char *name)
{
	SSL *ssl = SSL_new(ctx);
	char host[256]; /* the library's macro takes it for one that may be written to */

	text_copy(host, sizeof(host), name ? name : "");
	if (!ssl || SSL_set_fd(ssl, fd) != 1 || (name && SSL_set_tlsext_host_name(ssl, host) != 1) ||
	    (name && SSL_set1_host(ssl, name) != 1) || SSL_connect(ssl) != 1) {
		const char *why = ERR_reason_error_string(ERR_peek_error());

		fail_look(out, why ? why : errno ? strerror(errno) : "the connection ended");
		SSL_free(ssl);
		return NULL;
	}

	X509 *x      = SSL_get1_peer_certificate(ssl);
	long  result = SSL_get_verify_result(ssl);

	if (x)
		read_dates(out, x);
	out->is_trusted = result == X509_V_OK;
	text_copy(out->distrust, sizeof(out->distrust), X509_verify_cert_error_string(result));
	X509_free(x);
	return ssl;
}

static SSL_CTX *new_context(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	ERR_clear_error();
	if (ctx)
		SSL_CTX_set_default_verify_paths(ctx);
	ERR_clear_error();
	return ctx;
}

void probe_certificate(struct doctor_cert *out, const char *address)
{
	AUTO(close_fd) int fd  = dial_text(address);
	SSL_CTX           *ctx = fd >= 0 ? new_context() : NULL;
	SSL               *ssl = NULL;

	if (ctx)
		ssl = shake(out, ctx, fd, NULL);
	else
		fail_look(out, strerror(errno));
	SSL_free(ssl);
	SSL_CTX_free(ctx);
}

static int dial_host(char *why, size_t cap, const char *host, const char *port)
{
	const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM };
	struct addrinfo      *found  = NULL;
	int64_t               until  = now_ms() + PROBE_PATIENCE_MS;
	int                   fd     = -1, rc;

	/* getaddrinfo takes no deadline; this is what the C library reads. */
	setenv("RES_OPTIONS", "timeout:1 attempts:1", 1);
	rc = getaddrinfo(host, port, &wanted, &found);
	if (rc != 0) {
		text_copy(why, cap, gai_strerror(rc));
		return -1;
	}
	for (const struct addrinfo *a = found; a && fd < 0 && now_ms() < until; a = a->ai_next)
		fd = dial(a->ai_addr, a->ai_addrlen);
	if (fd < 0)
		text_copy(why, cap, strerror(errno));
	freeaddrinfo(found);
	return fd;
}

/* Asks, and reads up to the end of what comes or, of an upgrade, of the head. Returns the status. */
static int ask(char *body, size_t cap, SSL *ssl, const char *host, const char *path, bool upgrade)
{
	static const char fields[] = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
				     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
	char              text[1024], answer[ANSWER_BYTES] = "";
	size_t            len    = 0;
	int64_t           until  = now_ms() + PROBE_PATIENCE_MS;
	int               status = 0, n = 1;
	const char       *end;

	if (!text_format(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: coopctl\r\n%s\r\n", path, host,
	                 upgrade ? fields : "Connection: close\r\n") ||
	    SSL_write(ssl, text, (int)strlen(text)) <= 0)
		return 0;
	while (len + 1 < sizeof(answer) && now_ms() < until && (!upgrade || !strstr(answer, "\r\n\r\n"))) {
		n = SSL_read(ssl, answer + len, (int)(sizeof(answer) - 1 - len));
		if (n <= 0)
			break;
		len += (size_t)n;
		answer[len] = '\0';
	}
	ERR_clear_error();
	if (sscanf(answer, "HTTP/1.%*1d %3d", &status) != 1)
		return 0;
	end = strstr(answer, "\r\n\r\n");
	text_copy(body, cap, end ? end + 4 : "");
	return status;
}

int probe_https(struct doctor_cert *cert, char *body, size_t cap, const char *where, const char *path, bool upgrade)
{
	AUTO(close_fd) int fd        = -1;
	const char        *colon     = strrchr(where, ':');
	char               host[256] = "";
	SSL_CTX           *ctx;
	SSL               *ssl;
	int                status = 0;

	cert->look = LOOK_FAILED;
	body[0]    = '\0';
	if (text_format(host, sizeof(host), "%.*s", colon ? (int)(colon - where) : (int)strlen(where), where))
		fd = dial_host(cert->why, sizeof(cert->why), host, colon ? colon + 1 : HTTPS_PORT);
	if (fd < 0)
		return 0;
	ctx = new_context();
	ssl = ctx ? shake(cert, ctx, fd, host) : NULL;
	if (ssl)
		status = ask(body, cap, ssl, where, path, upgrade);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	return status;
}

/* --- STUN --- */

/* A binding request; its number says of which address. */
static void build(uint8_t out[STUN_BYTES], const uint8_t secret[8], size_t number)
{
	static const uint8_t head[8] = { 0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42 };

	memset(out, 0, STUN_BYTES);
	memcpy(out, head, sizeof(head));
	memcpy(out + 8, secret, 8);
	out[STUN_BYTES - 1] = (uint8_t)number;
}

/* XOR-MAPPED-ADDRESS of a success answer to one of ours, into the right row. */
static void read_answer(struct doctor_stun *all, size_t count, const uint8_t secret[8], const uint8_t *b, size_t len)
{
	size_t at = STUN_BYTES, number = len >= STUN_BYTES ? b[STUN_BYTES - 1] : count;

	if (number >= count || b[0] != 1 || b[1] != 1 || memcmp(b + 8, secret, 8) != 0)
		return;
	while (at + 4 <= len) {
		size_t      type = (size_t)b[at] << 8 | b[at + 1], size = (size_t)b[at + 2] << 8 | b[at + 3];
		struct addr a = { .family = ADDR_IPV4 };

		if (at + 4 + size > len)
			return;
		if (type == 0x20 && size == 8 && b[at + 5] == 1) {
			a.port = (uint16_t)((b[at + 6] << 8 | b[at + 7]) ^ 0x2112);
			for (size_t i = 0; i < 4; i++)
				a.ip[i] = b[at + 8 + i] ^ b[4 + i];
			addr_text_port(all[number].mapped, &a);
			all[number].answers = true;
			return;
		}
		at += 4 + (size + 3) / 4 * 4;
	}
}

static size_t missing(const struct doctor_stun *all, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += !all[i].answers;
	return n;
}

static void send_all(int fd, const struct doctor_stun *all, size_t count, const uint8_t secret[8])
{
	for (size_t i = 0; i < count; i++) {
		struct sockaddr_storage at;
		socklen_t               len;
		uint8_t                 request[STUN_BYTES];

		build(request, secret, i);
		if (!all[i].answers && address_of(&at, &len, all[i].address))
			sendto(fd, request, sizeof(request), MSG_NOSIGNAL, (const struct sockaddr *)&at, len);
	}
}

/* From the first one's own address: the system would choose another for each, and they could not agree. */
static int open_udp(const struct doctor_stun *first)
{
	int                     fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage at;
	socklen_t               len;

	if (fd < 0 || !address_of(&at, &len, first->address) || at.ss_family != AF_INET)
		return fd;
	((struct sockaddr_in *)(void *)&at)->sin_port = 0;
	/* An address that is not this machine's own, behind NAT: then from any. */
	if (bind(fd, (const struct sockaddr *)&at, len) != 0)
		return fd;
	return fd;
}

void probe_stun(struct doctor_stun *all, size_t count)
{
	AUTO(close_fd) int fd    = count > 0 ? open_udp(&all[0]) : -1;
	struct pollfd      in    = { .fd = fd, .events = POLLIN };
	int64_t            until = now_ms() + PROBE_PATIENCE_MS;
	uint8_t            secret[8], answer[STUN_BYTES_MAX];

	if (fd < 0 || getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
		return;
	for (int64_t again = now_ms(); missing(all, count) > 0 && now_ms() < until;) {
		if (now_ms() >= again) {
			send_all(fd, all, count, secret);
			again = now_ms() + STUN_AGAIN_MS;
		}
		if (poll(&in, 1, STUN_AGAIN_MS / 2) <= 0)
			continue;

		ssize_t n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);

		if (n > 0)
			read_answer(all, count, secret, answer, (size_t)n);
	}
}

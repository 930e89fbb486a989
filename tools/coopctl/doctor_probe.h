/* What coopctl doctor tries from outside: sockets, TLS, STUN. Each ends within PROBE_PATIENCE_MS. */
#ifndef COOPCTL_DOCTOR_PROBE_H
#define COOPCTL_DOCTOR_PROBE_H

#include "coopctl/doctor.h"

#define PROBE_PATIENCE_MS 3000

/* "127.0.0.1:80", "[::1]:80", "unix:/run/x". True: somebody takes connections there; else why says what happened. */
bool probe_connect(char *why, size_t cap, const char *address);

/* The certificate that a listener shows. */
void probe_certificate(struct doctor_cert *out, const char *address);

/*
 * https://where/path, where is HOST or HOST:PORT: whether it is trusted, the status, and the beginning of the body. upgrade: asks for a WebSocket. Returns
 * the status, 0: no answer.
 */
int probe_https(struct doctor_cert *cert, char *body, size_t cap, const char *where, const char *path, bool upgrade);

/* All at once, from one socket; answers and mapped are filled in. */
void probe_stun(struct doctor_stun *all, size_t count);

/* The first certificate in a PEM file. */
void probe_file(struct doctor_cert *out, const char *path);

#endif

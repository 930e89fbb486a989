/*
 * A blocking TCP connection to the server under test. Whatever fails ends the program: figures of a run in which
 * something failed mean nothing.
 */
#ifndef BENCH_LIB_WIRE_H
#define BENCH_LIB_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int  wire_connect(uint16_t port);                   /* on 127.0.0.1 */
int  wire_connect_from(uint32_t ip, uint16_t port); /* from this address of the machine; 0: any */
void wire_send(int fd, const void *bytes, size_t len);
void wire_read(int fd, void *out, size_t len); /* exactly so many */

/* As much as is there, at least a byte; 0: the other side is done. */
size_t wire_read_some(int fd, void *out, size_t cap);

/* So many bytes come and are thrown away, as cheaply as the kernel can. */
void wire_skip(int fd, size_t len);

/* Reads up to the blank line, which goes into out with a NUL behind it; what came behind it begins at out + the result. */
size_t wire_read_head(int fd, char *out, size_t cap, size_t *got);

#endif

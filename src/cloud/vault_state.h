/*
 * One vault connection: which request is under way, and what a message means then. The caller says what came and what he
 * finished, and does what he is told.
 *
 *	request:  READY --LIST, GET, FORGET, PUT, END--> BUSY --its answer--> READY
 *	upload:   NONE --PUT granted--> OPEN --END--> ENDING --its answer--> NONE
 *	                                  \____ more bytes than declared ___/
 *
 * While a request is BUSY the caller reads no further message (ws_pause), so that requests are answered one after the
 * other however many were sent. An upload that is OPEN is no request under way: others come between its parts.
 */
#ifndef CLOUD_VAULT_STATE_H
#define CLOUD_VAULT_STATE_H

#include "cloud/vault_wire.h"

#include <stdbool.h>
#include <stdint.h>

enum vault_upload { VAULT_UPLOAD_NONE, VAULT_UPLOAD_OPEN, VAULT_UPLOAD_ENDING };

struct vault_state {
	bool              busy;
	enum vault_upload upload;
	uint64_t          declared, come; /* bytes of the upload */
	int64_t           idle_ms;
	int64_t           active_ms; /* the last request, answer or progress of a transfer */
};

enum vault_what {
	VAULT_DO_NOTHING, /* ignored: it means nothing now */
	VAULT_DO_ECHO,
	VAULT_DO_LIST, /* this and those below: BUSY until vault_on_answered */
	VAULT_DO_GET,
	VAULT_DO_FORGET,
	VAULT_DO_BEGIN, /* may he store? then vault_on_granted comes before vault_on_answered */
	VAULT_DO_END,   /* all bytes have come: check and keep them */
	VAULT_DO_TAKE,  /* bytes of the upload, not answered */
	VAULT_DO_FAIL,  /* the upload is over, and its answer is ERR_CONTENT; not BUSY */
};

void vault_init(struct vault_state *s, int64_t idle_ms, int64_t now_ms);

/* A message that parsed. Never while BUSY. */
enum vault_what vault_on_message(struct vault_state *s, const struct vault_msg *msg, int64_t now_ms);

/* The PUT under way may go on: an upload is OPEN from here on. */
void vault_on_granted(struct vault_state *s, uint32_t declared);

/* The upload is lost, whatever still comes of it; not once its END has come. Whether there was one. */
bool vault_on_lost(struct vault_state *s);

/* The request under way has its answer. */
void vault_on_answered(struct vault_state *s, int64_t now_ms);

/* Bytes of an answer were taken by the peer. */
void vault_on_progress(struct vault_state *s, int64_t now_ms);

/* When to close it if nothing happens until then. */
int64_t vault_idle_at(const struct vault_state *s);

#endif

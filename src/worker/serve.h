/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's side of the channel: one answer to one message, with media/ behind it. olddog-worker calls it in a
 * blocking loop (main.c); on virtual time the same answers are given behind a memory pipe, in the owner's own thread.
 */
#ifndef OLDDOG_WORKER_SERVE_H
#define OLDDOG_WORKER_SERVE_H

#include <stddef.h>
#include <stdint.h>

#include "net/conn.h"
#include "wire/recipe.h"
#include "wire/workmsg.h"

struct worker_memory {
	const uint8_t *in;
	size_t in_bytes;
	uint8_t *out;
	size_t out_bytes;
};

/* The first message. */
int worker_serve_ready(uint8_t reply[WORKMSG_BYTES]);
/* The answer to the n bytes of a message. E_PROTOCOL: not a message that an owner sends; the worker ends. */
int worker_serve_answer(const struct recipe *recipe, const struct worker_memory *memory, const void *p, size_t n,
	uint8_t reply[WORKMSG_BYTES]);

/* For struct worker_conf: spawn and kill. ctx is unused. */
int worker_serve_spawn(void *ctx, struct loop *loop, const struct recipe *recipe, const uint8_t *in, size_t in_bytes,
	uint8_t *out, size_t out_bytes, struct conn *end, void **ret_worker);
void worker_serve_kill(void *ctx, void *worker);

#endif

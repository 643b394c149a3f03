/* SPDX-License-Identifier: Apache-2.0 */
/* What olddog-worker is started with: `olddog-worker MEMORY-LIMIT` (bytes, decimal) and these descriptors, no others. */
#ifndef OLDDOG_WORKER_CHANNEL_H
#define OLDDOG_WORKER_CHANNEL_H

enum channel_fd {
	CHANNEL_FD = 3,		/* SOCK_SEQPACKET: wire/workmsg.h */
	CHANNEL_RECIPE_FD,	/* wire/recipe.h, sealed */
	CHANNEL_IN_FD,		/* the arena, mapped read-only */
	CHANNEL_OUT_FD,		/* this worker's output */
	CHANNEL_N_FDS,
};

/* How it ends when it is not killed. Once it is confined it cannot speak but by this. */
enum channel_exit {
	CHANNEL_EXIT_OK,	/* the owner closed the channel */
	CHANNEL_EXIT_SETUP = 2,	/* with words on stderr */
	CHANNEL_EXIT_RECIPE,	/* the recipe is not valid */
	CHANNEL_EXIT_MEDIA,	/* the decoders do not work here */
	CHANNEL_EXIT_PROTOCOL,	/* the owner broke the protocol */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What `olddog read` does with a batch: lines of digests, .npy files, and the table of a run's speed. */
#ifndef OLDDOG_CLI_READ_OUT_H
#define OLDDOG_CLI_READ_OUT_H

#include <stdbool.h>

#include "feed/engine.h"

enum read_digest { DIGEST_NONE, DIGEST_BATCH, DIGEST_SAMPLE };

/* One line on stdout per batch, or per sample of it that is not repeated. */
int read_print_digest(enum read_digest digest, bool json, const struct stream_batch *b, struct err *e);
/* What was printed is out of our hands, and all of it could be written. */
int read_flush_output(struct err *e);
/* DIR/POSITION.FIELD.npy for each. */
int read_write_npy(const char *dir, const struct stream_batch *b, struct err *e);

struct read_figures {
	uint64_t n_samples, n_batches, wall_ns, host_cpu_ns;
	uint64_t *wait_ns;		/* n_batches; sorted by read_print_figures() */
	struct engine_counts counts;
	uint64_t consumed;
};

int read_print_figures(struct read_figures *f, bool json);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For those who build a store: engines (file:, ram:) and filters (fault). Users of stores want store/store.h.
 *
 * A request comes down by submit() and goes up by store_req_finish(), exactly once, on the request's loop. store.c has
 * checked it (path, ranges, operation), keeps its deadline, and calls done(); an engine only does the work.
 */
#ifndef OLDDOG_STORE_ENGINE_H
#define OLDDOG_STORE_ENGINE_H

#include "base/str.h"
#include "store/doctor.h"
#include "store/store.h"

struct store_ops {
	const char *name;
	/* Required. Starts req; may finish it inside. A page of a listing that has more has an entry. */
	void (*submit)(struct store *s, struct store_req *req);
	bool blocks;	/* submit() does what may be done there (req->blocking) before it returns */
	/* Hastens the end of req, which has been submitted and has not finished. NULL: nothing can be done. */
	void (*cancel)(struct store *s, struct store_req *req);
	/*
	 * For store/reader.h, both or neither: a descriptor that pread() reads the file's bytes by, of the version that
	 * file (or NULL) names; and whether it still is that version. Blocking.
	 */
	int (*open_fd)(struct store *s, const char *path, const struct store_file *file, int *ret_fd);
	int (*check_fd)(int fd, const struct store_file *file);
	/* As store_counters(); NULL: it counts nothing. */
	void (*counters)(struct store *s, void (*fn)(void *ctx, const char *name, uint64_t value), void *ctx);
	/* Required. Frees what embeds s; filters unref next. */
	void (*free)(struct store *s);
};

/* Embedded first in the engine's own struct. */
struct store {
	const struct store_ops *ops;
	_Atomic unsigned refs;
	char *base;	/* what stands before a path in words: "ram:a/"; owned; NULL: nothing */
};

void store_init(struct store *s, const struct store_ops *ops);

/*
 * Embedded first in an engine's own writer. A step that failed, or was cancelled, may have written a part: then r is set
 * (by engine or filter), and only the end is left.
 */
struct store_writer {
	int r;
	uint64_t n_bytes;	/* appended so far */
	void *spare;		/* the engine's: memory that its end needs, so that it cannot fail for want of that */
};

/* What a request must satisfy: 0 or -EINVAL. In check.c. */
int store_check(const struct store_req *req);

/*
 * The end of a request, on its loop. r < 0 is of the whole request, and of all its ranges that have no result yet.
 * 0 of a READ: each range has its done and r.
 */
void store_req_finish(struct store_req *req, int r);
/*
 * Submits a filter's own request to the store below: as store_submit(), but of checked arguments and without a
 * deadline's timer, which the request above has.
 */
void store_pass(struct store *next, struct store_req *req);
/* What is asked, of the store below; what was answered, back to the request above. */
void store_req_below(struct store_req *below, const struct store_req *above);
void store_req_above(struct store_req *above, const struct store_req *below);
/* The request itself goes on below; the filter hears of it no more. */
void store_hand_down(struct store *next, struct store_req *req);
/* As store_cancel(), with the code that the request above was told (its cancelled). */
void store_cancel_as(struct store_req *req, int code);
/*
 * The loop on which this thread's blocking calls run from now on; NULL: on one of their own each, as before. The lender has
 * nothing under way on it whose done() could not run inside such a call.
 */
void store_lend_loop(struct loop *loop);
/* Words for a blocking call that failed: "cannot VERB PATH: why". Returns r. */
int store_fail(struct store *s, const char *path, int r, const char *verb, struct err *e);
/* Whether file names a version that is not the one found. */
bool store_is_stale(const struct store_file *file, const char *version);
/* Between two ranges that one call reads: less than a page is dearer to step over than to read. */
#define STORE_GAP_MAX 4096u
/* How many of n ranges, from the first on, lie in the file with such gaps at most: one call can read them. At least 1. */
unsigned store_run_length(const struct store_range *ranges, unsigned n);
/* Bytes between a range and the next one of its run. */
static inline uint64_t store_gap(const struct store_range *range)
{
	return range[1].offset - (range[0].offset + range[0].length);
}
/* The part of a read that lies within length: sets done to what can be had, and r when that is not all. */
void store_range_clip(struct store_range *range, uint64_t length);
/* LOCATE of an engine whose bytes are on this host, of a file of this length. 0 or -ENOMEM. */
int store_place_here(struct store_req *req, uint64_t length);
/* Adds an entry to a listing; the name is copied. 0 or -ENOMEM. */
int store_listing_add(struct store_listing *l, const char *name, const struct store_stat *stat);

/* The schemes: gets what follows the colon. Words name what is wrong with it. */
int file_open(const char *rest, struct store **ret_store, char **ret_path, struct err *e);
void hdfs_counters_of_all(void (*fn)(void *ctx, const char *name, uint64_t value), void *ctx);
int hdfs_open(const char *rest, struct store **ret_store, char **ret_path, struct err *e);
void hdfs_doctor(const char *url, const char *rest, struct doctor *d);
void file_doctor(const char *url, const char *rest, struct doctor *d);
int ram_open(const char *rest, struct store **ret_store, char **ret_path, struct err *e);
int ram_norename_open(const char *rest, struct store **ret_store, char **ret_path, struct err *e);
/* A path of the shell: not decoded, may climb by "..". */
int file_open_bare(const char *path, struct store **ret_store, char **ret_path, struct err *e);

/* The filters: own next from here on, also when they fail. */
int fault_open(struct str value, struct store *next, struct store **ret_store, struct err *e);

#endif

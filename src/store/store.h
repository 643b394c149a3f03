/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes by URL (CONTRACTS C6). The core is asynchronous: a request is allocated by the caller, bound to one loop, and
 * its done() runs on that loop exactly once, never inside the call. store.c is the only caller of the tables, and the
 * only place that checks arguments, splits, merges and retries.
 *
 * URLs: file:///PATH (or a bare path), hdfs://CLUSTER/PATH as the site's configuration has it (hdfs:/PATH: of fs.defaultFS;
 * hdfs:PATH: below /user/NAME there), ram:NAME/PATH, ram-norename:NAME/PATH; filters are a suffix, the first next to
 * the store: file:///data#fault=delay:5ms,fail:0.01&... (store/url.h tells the grammar, store/fault.c the faults). A
 * ram: store lives as long as any store of its name is open; the two kinds of a name are two stores.
 *
 * Paths within a store are parts between slashes; no part may be "..", empty parts and "." say nothing.
 */
#ifndef OLDDOG_STORE_STORE_H
#define OLDDOG_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "net/loop.h"
#include "net/pool.h"

#define STORE_VERSION_MAX 128
#define STORE_NAME_MAX 4096
#define STORE_MAX_RANGES 65536
#define STORE_PAGE_ENTRIES 1000	/* of a listing, at most */

struct store;

enum store_prio { STORE_PRIO_URGENT, STORE_PRIO_NORMAL, STORE_PRIO_IDLE };

/* What a path names: enough to read it, and to notice that it changed. */
struct store_file {
	uint64_t length;
	char version[STORE_VERSION_MAX];	/* opaque, of the engine; "" when it has none */
};

enum store_kind { STORE_FILE = 1, STORE_DIR, STORE_OTHER };

struct store_stat {
	enum store_kind kind;
	struct store_file file;		/* of a file */
	uint64_t mtime_ns, atime_ns;	/* since 1970; 0 when the engine does not know */
	const char *owner, *group;	/* the store's, as long as it lives; NULL when it does not know */
	uint64_t block_bytes;		/* 0: it has no blocks */
	uint32_t replication;		/* 0: it has none */
	uint16_t mode;			/* permissions, 07777; 0 when it does not know */
	bool growing;			/* somebody writes it */
};

struct store_entry {
	const char *name;		/* within its directory; owned by the listing */
	struct store_stat stat;
};

/* One page of a directory, in bytewise order of names. */
struct store_listing {
	struct store_entry *entries;
	size_t n;
	bool more;			/* ask again with to = the last name */
	size_t cap;			/* the store's own */
};

struct store_range {
	uint64_t offset;
	uint64_t length;
	void *buf;			/* the caller's; the store's until done() */
	uint64_t done;			/* bytes that are right */
	int r;				/* of this range: 0, or why done < length; -ENODATA: past the end */
};

enum store_op {
	STORE_READ = 1,
	STORE_STAT,
	STORE_LIST,
	STORE_MKDIR,			/* with parents; there already is success */
	STORE_REMOVE,			/* a file, or an empty directory */
	STORE_RENAME,			/* in place of what was there, as rename(2) does */
	STORE_CREATE_EXCLUSIVE,		/* the whole content, or -EEXIST; makes parents */
	STORE_WRITE,			/* the whole content, in place of what was there, at once; makes parents */
	STORE_RENAME_NEW,		/* as RENAME, but -EEXIST when something is there */
	STORE_REMOVE_TREE,		/* whatever is there, with all below it */
	STORE_TRASH,			/* as REMOVE_TREE, into the user's trash where there is one (-EOPNOTSUPP: there is none) */
	STORE_CONCAT,			/* the files named by paths become the end of path, and are gone */
	STORE_SET,			/* what set says */
	STORE_CHECKSUM,			/* of the whole content: checksum */
	STORE_LOCATE,			/* where the bytes of ranges[0] are: places */
	STORE_SPACE,			/* of the store, where path lies: space */
	STORE_SUMMARY,			/* of all below path: summary */
	STORE_XATTR_GET, STORE_XATTR_SET, STORE_XATTR_REMOVE, STORE_XATTR_LIST,	/* xattr */
	/*
	 * Writing piece by piece; a writer is used by one request at a time. After a step that failed or was cancelled only
	 * its end is left, and COMMIT gives that step's failure.
	 */
	STORE_OPEN_WRITER,		/* how; gives writer. Nothing is at path before COMMIT, unless how.append */
	STORE_APPEND,			/* writer, ranges[0] (its offset says nothing) */
	STORE_FLUSH,			/* writer: other readers of a growing file see it; with disk it is on disk */
	STORE_COMMIT,			/* writer: published at once, as how says. It is gone then, also after a failure */
	STORE_ABORT,			/* writer, which is gone then, and what was written with it */
};

/* How a file is written. Zero: the engine's defaults, in place of what was there. */
struct store_how {
	uint64_t block_bytes;
	uint32_t replication;
	uint16_t mode;			/* 0: 0666 less the umask */
	bool exclusive;			/* -EEXIST when something is there at COMMIT */
	bool append;			/* behind what is there: at once in the file, ABORT leaves it */
};

/* What STORE_SET changes: what is not zero, NULL or -1 there. */
struct store_set {
	const char *owner, *group;
	uint64_t mtime_ns, atime_ns;
	uint32_t replication;
	int32_t mode;			/* -1: as it is */
};

/* Comparable between engines and block sizes: CRC-32C of all bytes. */
struct store_checksum {
	uint64_t length;
	uint32_t crc32c;
};

struct store_space {
	uint64_t total_bytes, used_bytes, free_bytes;
};

#define STORE_NO_QUOTA UINT64_MAX

struct store_summary {
	uint64_t n_bytes, n_files, n_dirs;
	uint64_t space_bytes;		/* with replicas */
	uint64_t quota_names, quota_bytes;	/* STORE_NO_QUOTA: none */
};

/* Hosts that have the bytes from offset on; the next place begins where this one ends. */
struct store_place {
	uint64_t offset, length;
	unsigned n_hosts;
	char **hosts;
};

struct store_places {
	struct store_place *ptr;
	size_t n;
};

struct store_xattr {
	const char *name;		/* "user.NAME" */
	void *value;			/* SET: the caller's. GET, LIST: mem_free'd by the caller. LIST: names, a NUL behind each */
	size_t n;
	bool create, replace;		/* SET: -EEXIST, -ENODATA */
};

struct store_writer;			/* the engine's */

struct store_req {
	/* Set by the caller before store_submit(). */
	struct loop *loop;
	enum store_op op;
	const char *path;		/* within the store; the caller's until done() */
	const char *to;			/* RENAME: the new path. LIST: names after this one, or NULL */
	const struct store_file *file;	/* READ: what store_stat() gave; another version is -ESTALE. NULL: any */
	struct store_range *ranges;	/* READ. WRITE and CREATE_EXCLUSIVE: one range, the content */
	unsigned n_ranges;
	const char *const *paths;	/* CONCAT */
	unsigned n_paths;
	const struct store_how *how;	/* OPEN_WRITER; NULL: the defaults */
	const struct store_set *set;	/* SET */
	struct store_writer *writer;	/* OPEN_WRITER gives it, and APPEND to ABORT need it */
	bool disk;			/* FLUSH */
	bool visible;			/* STAT: of a file that grows what can be read by now, and that it grows; costs calls */
	bool temporaries;		/* LIST: what is being written, and nothing else; to must be set */
	struct store_xattr xattr;
	bool blocking;			/* store_submit() may do it there and then: who asks has nothing else to do */
	uint64_t deadline_ns;		/* by loop_now(); 0: none. Past it: -ETIMEDOUT */
	enum store_prio prio;		/* a hint for engines that queue */
	void (*done)(struct store_req *req);
	void *ctx;
	/* Results, valid in done(). */
	int r;				/* 0, or the first failure of any range */
	struct store_stat stat;		/* STAT */
	struct store_listing listing;	/* LIST; store_listing_release() */
	struct store_checksum checksum;
	struct store_places places;	/* LOCATE; store_places_release() */
	struct store_space space;
	struct store_summary summary;
	struct err *err;		/* the caller's, or NULL: words of the engine that say more than r */
	/* The store's own. */
	struct store *store;
	struct store_req *next;
	struct job job;
	struct timer timer;
	_Atomic int cancelled;		/* 0, or the code that cancelled it */
	bool finished;
	void *engine;
};

/*
 * Opens the store that a URL names and gives the path within it (mem_free). Words name the URL, and for an unknown
 * scheme those that there are.
 */
int store_open(const char *url, struct store **ret_store, char **ret_path, struct err *e);
struct store *store_ref(struct store *s);
/* The last unref frees; no request may be under way. NULL is a no-op. */
void store_unref(struct store *s);
static inline void store_unrefp(struct store **s)
{
	store_unref(*s);
}
/* To hold one is a use of it: clang would warn of a store that is only kept alive. */
#define AUTO_STORE __attribute__((cleanup(store_unrefp), unused))

void store_submit(struct store *s, struct store_req *req);
/*
 * Hastens done(-ECANCELED); buffers are the store's until then. Only between store_submit() and done(). A change
 * (a write, a rename) that has happened all the same is told as it went; so for a deadline.
 */
void store_cancel(struct store_req *req);
void store_listing_release(struct store_listing *l);
void store_places_release(struct store_places *p);
/* What the engine has counted so far, by name; nothing when it counts nothing. From any thread. */
void store_counters(struct store *s, void (*fn)(void *ctx, const char *name, uint64_t value), void *ctx);

/* The same of all engines that this process has had, those that have ended too. */
void store_counters_of_all(void (*fn)(void *ctx, const char *name, uint64_t value), void *ctx);

/* The blocking wrapper: a private loop. Buffers from the callee are mem_free'd by the caller. */
int store_stat(struct store *s, const char *path, struct store_stat *ret, struct err *e);
/* The same, with all that can be read of a file that somebody writes, and stat.growing: more calls than store_stat(). */
int store_look(struct store *s, const char *path, struct store_stat *ret, struct err *e);
/*
 * What other listings hide: files that are being written, or were when somebody was killed (store/temporary.h). Engines
 * that have none may give other names. after: NULL, or the last of the page before.
 */
int store_list_temporaries(struct store *s, const char *path, const char *after, struct store_listing *ret, struct err *e);
/* The names after this one (NULL: from the first on), at most STORE_PAGE_ENTRIES. */
int store_list_page(struct store *s, const char *path, const char *after, struct store_listing *ret, struct err *e);
/* All pages. */
int store_list(struct store *s, const char *path, struct store_listing *ret, struct err *e);
/* All n bytes at offset or an error; file as in store_req. */
int store_pread(struct store *s, const char *path, const struct store_file *file, void *buf, size_t n, uint64_t offset,
	struct err *e);
/* The whole file, -EFBIG when it is longer than max. A NUL follows the n bytes. */
int store_read_all(struct store *s, const char *path, size_t max, void **ret_p, size_t *ret_n, struct err *e);
int store_write_all(struct store *s, const char *path, const void *p, size_t n, struct err *e);
int store_create_exclusive(struct store *s, const char *path, const void *p, size_t n, struct err *e);
int store_mkdir(struct store *s, const char *path, struct err *e);	/* with parents; there already is success */
int store_remove(struct store *s, const char *path, struct err *e);	/* a file or an empty directory */
int store_rename(struct store *s, const char *from, const char *to, struct err *e);
int store_rename_new(struct store *s, const char *from, const char *to, struct err *e);
int store_remove_tree(struct store *s, const char *path, struct err *e);
int store_trash(struct store *s, const char *path, struct err *e);
int store_concat(struct store *s, const char *path, const char *const *paths, unsigned n, struct err *e);
int store_set(struct store *s, const char *path, const struct store_set *set, struct err *e);
int store_checksum(struct store *s, const char *path, struct store_checksum *ret, struct err *e);
int store_space(struct store *s, struct store_space *ret, struct err *e);
int store_space_at(struct store *s, const char *path, struct store_space *ret, struct err *e);
/* Where the bytes from offset on are, as far as the file has them; store_places_release(). */
int store_locate(struct store *s, const char *path, uint64_t offset, uint64_t length, struct store_places *ret,
	struct err *e);
int store_summary(struct store *s, const char *path, struct store_summary *ret, struct err *e);
/* A writer that is opened is ended by one commit or abort. */
int store_create(struct store *s, const char *path, const struct store_how *how, struct store_writer **ret, struct err *e);
int store_append(struct store *s, const char *path, struct store_writer *w, const void *p, size_t n, struct err *e);
int store_flush(struct store *s, const char *path, struct store_writer *w, bool disk, struct err *e);
int store_commit(struct store *s, const char *path, struct store_writer *w, struct err *e);
void store_abort(struct store *s, const char *path, struct store_writer *w);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar archives as a pull parser without I/O: it says which bytes it wants, the caller brings them, and members come out.
 * Reads old (v7), ustar, GNU (long names and links, base-256 sizes) and PAX (path and size, per file and global).
 * Sparse and multi-volume members are refused with words: their bytes are not where their size says.
 *
 *	tar_init(&t, file_length);
 *	while ((r = tar_next(&t, &offset, &n, e)) > 0) {
 *		... n bytes of the file from offset on, into p ...
 *		r = tar_feed(&t, p, &member, e);	TAR_MORE, TAR_MEMBER, TAR_OTHER
 *	}
 *	r == 0: the end; t.end says how it ended
 *
 * Formats: POSIX.1-2001 pax(1) "ustar Interchange Format" and "pax Interchange Format"; tar.info "Standard" (GNU).
 * Names are only names here: `../x` and `/x` are told as they stand, and nobody may use them as paths.
 */
#ifndef OLDDOG_WIRE_TAR_H
#define OLDDOG_WIRE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define TAR_BLOCK 512u
#define TAR_NAME_MAX 4096u		/* bytes of a name */
#define TAR_EXTENSION_MAX (1u << 20)	/* bytes of one extended header */
/* What is looked at behind the end blocks: the rest of a default record of 20 blocks, and the block after it. */
#define TAR_AFTER_MAX (21u * TAR_BLOCK)

enum tar_result { TAR_MORE = 1, TAR_MEMBER, TAR_OTHER };

enum tar_end {
	TAR_END_NONE,	/* not there yet */
	TAR_END_WELL,	/* two blocks of zeros */
	TAR_END_LONE,	/* one block of zeros */
	TAR_END_BARE,	/* the file ends after a member: it may have been cut off there */
};

struct tar_member {
	const char *name;	/* NUL-terminated; valid until the next tar_feed() */
	size_t name_n;		/* at least 1, at most TAR_NAME_MAX, no NUL inside */
	const char *kind;	/* for people: "file", "directory", "symbolic link", ... */
	bool directory;
	uint64_t header;	/* offset of its first header, extended ones included */
	uint64_t offset, length; /* of its bytes; 0 bytes for what has none */
};

struct tar {
	uint64_t length;	/* of the file */
	uint64_t at;		/* of what is wanted next */
	enum tar_end end;
	uint64_t end_at;	/* where the end was seen */
	bool more_after;	/* something other than zeros lies behind the end blocks */
	/* Its own. */
	unsigned state;
	size_t want;
	char extension;		/* type of the extended header whose bytes are wanted */
	uint64_t next_header;	/* behind them */
	uint64_t first_header;	/* of the member that is being put together */
	bool has_path, has_size, sparse;	/* by PAX, for the next member */
	bool global_has_path, global_has_size;
	uint64_t size, global_size;
	struct buf path, long_name, global_path, name;
};

void tar_init(struct tar *t, uint64_t file_length);
void tar_release(struct tar *t);
#define AUTO_TAR __attribute__((cleanup(tar_release)))

/*
 * 1: *ret_n bytes (1..TAR_EXTENSION_MAX) from *ret_offset on are wanted, all of them inside the file. 0: the end.
 * E_FORMAT with words that give the offset: the file is cut off there.
 */
int tar_next(struct tar *t, uint64_t *ret_offset, size_t *ret_n, struct err *e);
/*
 * Takes the bytes that tar_next() wanted. TAR_MEMBER: a regular file in *ret; TAR_OTHER: a directory, link, device or
 * the like in *ret; TAR_MORE: neither yet. E_FORMAT with words that give the offset; -ENOMEM.
 */
int tar_feed(struct tar *t, const void *p, struct tar_member *ret, struct err *e);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store should have in it, without the bytes: content is made of pieces of endless streams, each of which is a
 * function of its key, so gigabytes are compared without a copy of them.
 */
#ifndef OLDDOG_TESTS_SHADOW_H
#define OLDDOG_TESTS_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define SHADOW_MAX_FILES 4096
#define SHADOW_MAX_PIECES 65536

struct piece {
	uint64_t key, from, n;
};

struct content {
	VEC(struct piece) pieces;
	uint64_t length;
};

struct shadow_file {
	char *path;
	bool is_dir;
	uint64_t block_bytes;	/* that it was made with */
	struct content content;
};

struct shadow {
	VEC(struct shadow_file) files;
};

void shadow_init(struct shadow *s);
void shadow_release(struct shadow *s);
/* NULL: there is none. Until something is added or removed. */
struct shadow_file *shadow_find(struct shadow *s, const char *path);
/* Empty, in place of a file that was there. Aborts when memory is short, as everything here. */
struct shadow_file *shadow_put(struct shadow *s, const char *path, bool is_dir);
/* With all below it; nothing there is fine. */
void shadow_remove(struct shadow *s, const char *path);
/* With all below it, in place of a file that was there. */
void shadow_rename(struct shadow *s, const char *from, const char *to);
/* Entries in the directory itself. */
unsigned shadow_count(const struct shadow *s, const char *dir);
/* Whether path lies in dir itself ("" is the top). */
bool shadow_is_in(const char *path, const char *dir);
uint64_t shadow_bytes(const struct shadow *s);

void content_add(struct content *c, struct piece p);
void content_join(struct content *c, const struct content *more);
void content_cut(struct content *c, uint64_t length);	/* to its first bytes */
void content_release(struct content *c);
/* Bytes of a stream. */
void stream_fill(uint64_t key, uint64_t from, void *buf, uint64_t n);
void content_fill(const struct content *c, uint64_t offset, void *buf, uint64_t n);
/* The first of n bytes that is not the content's at offset + that; n: none. */
uint64_t content_differs(const struct content *c, uint64_t offset, const void *buf, uint64_t n);

#endif

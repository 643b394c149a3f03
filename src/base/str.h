/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A piece of text: pointer and length, owned by somebody else, passed by value. And numbers out of text, whole
 * or not at all.
 */
#ifndef OLDDOG_BASE_STR_H
#define OLDDOG_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
	const char *p;
	size_t n;
};

struct str str_of(const char *s);
/* For printf("%.*s", STR_ARG(s)). */
#define STR_ARG(s) (int)(s).n, (s).p

bool str_eq(struct str s, const char *t);
bool str_equal(struct str a, struct str b);
/* Bytewise order, a prefix first; as strcmp. */
int str_cmp(struct str a, struct str b);
/* The same with A to Z taken as a to z, in any locale. */
int str_cmp_nocase(struct str a, struct str b);
bool str_starts(struct str s, const char *prefix);
bool str_ends(struct str s, const char *suffix);
/* Splits at the first sep: returns what is before it and moves *rest behind it (to an empty end when there is none). */
struct str str_split(struct str *rest, char sep);
struct str str_trim(struct str s);

/* 0, -EINVAL when s is not one whole number, -ERANGE. */
int str_to_u64(struct str s, uint64_t *ret);
int str_to_i64(struct str s, int64_t *ret);
/* Decimal or hexadecimal doubles ("0.25", "0x1p-2"), independent of the locale; no inf, no nan. */
int str_to_double(struct str s, double *ret);
/* "64", "4K", "200M", "1G", "2T": binary multiples (K is 1024), in bytes. */
int str_to_size(struct str s, uint64_t *ret_bytes);
/* Bytes for people, by powers of 1000: "12.3 GB". Returns out. */
#define STR_SIZE_MAX 32
const char *str_size(double n_bytes, char out[STR_SIZE_MAX]);

/* Bytes of the character at s.p[0], as RFC 3629 allows it: 1 to 4; 0 when it is none, or s is empty. */
size_t str_utf8_length(struct str s);
/*
 * A copy of s in out for people: valid UTF-8 without control characters ('?' stands for what was neither); what does
 * not fit in n bytes (8 or more, NUL included) ends with "...". Returns out. Strangers' names go through this before
 * they are words.
 */
const char *str_printable(struct str s, char *out, size_t n);

/* Edit distance, for "did you mean"; SIZE_MAX when a string is longer than 64. */
size_t str_distance(struct str a, struct str b);

#endif

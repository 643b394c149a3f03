/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is odd about a shard but does not make it bad: counted by kind, the first of each with its name and offset, so
 * that a million odd members are one line. Nothing odd is changed silently; it is told, and taken as it stands.
 */
#ifndef OLDDOG_PLAN_ODDITY_H
#define OLDDOG_PLAN_ODDITY_H

#include <stdint.h>

#include "base/str.h"

enum oddity_kind {
	ODDITY_NO_KEY,		/* a member without an extension: belongs to no sample */
	ODDITY_NUMBER,		/* 22.05.png: key 22, extension 05.png */
	ODDITY_TWICE,		/* a second member of the same extension in a sample */
	ODDITY_KEY_AGAIN,	/* a.jpg b.jpg a.txt: a's members are not side by side */
	ODDITY_NO_FILE,		/* links, devices */
	ODDITY_LONE_ZERO,	/* the archive ends with one block of zeros */
	ODDITY_AFTER,		/* something follows the end blocks */
	ODDITY_KINDS
};

struct oddity {
	uint64_t n, offset;
	char name[96];
};

struct oddities {
	struct oddity of[ODDITY_KINDS];
};

void oddity_add(struct oddities *all, enum oddity_kind kind, struct str name, uint64_t offset);
/* Calls tell once for each kind that occurred, with "FILE: at OFFSET: ..." */
void oddities_tell(const struct oddities *all, const char *file, void (*tell)(void *ctx, const char *words), void *ctx);

#endif

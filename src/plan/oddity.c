/* SPDX-License-Identifier: Apache-2.0 */
/* Oddities and their words. */
#include "plan/oddity.h"

#include <inttypes.h>
#include <stdio.h>

/* What is said of the first; how many there are follows. */
static const char *const words_of[ODDITY_KINDS] = {
	[ODDITY_NO_KEY] = "has no extension, so it belongs to no sample",
	[ODDITY_NUMBER] = ("has its key end at the first dot, as WebDataset has it, though digits follow: "
		"is the dot part of a number?"),
	[ODDITY_TWICE] = "is a second member of the same extension in its sample; the first is taken",
	[ODDITY_KEY_AGAIN] = "begins another sample of a key that occurred before: a sample's members must be side by side",
	[ODDITY_NO_FILE] = "is no regular file, so it is no member",
	[ODDITY_LONE_ZERO] = "one block of zeros ends the archive where two are due",
	[ODDITY_AFTER] = "something follows the end of the archive and is not looked at",
};

void oddity_add(struct oddities *all, enum oddity_kind kind, struct str name, uint64_t offset)
{
	struct oddity *o = &all->of[kind];

	if (o->n++ > 0)
		return;
	o->offset = offset;
	str_printable(name, o->name, sizeof(o->name));
}

void oddities_tell(const struct oddities *all, const char *file, void (*tell)(void *ctx, const char *words), void *ctx)
{
	char line[768], more[64];

	for (unsigned i = 0; i < ODDITY_KINDS; i++) {
		const struct oddity *o = &all->of[i];

		if (o->n == 0)
			continue;
		more[0] = '\0';
		if (o->n > 1)
			snprintf(more, sizeof(more), " (the first of %" PRIu64 ")", o->n);
		snprintf(line, sizeof(line), "%.400s: at %" PRIu64 ": %s%s%s%s", file, o->offset, o->name,
			o->name[0] ? " " : "", words_of[i], more);
		tell(ctx, line);
	}
}

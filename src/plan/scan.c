/* SPDX-License-Identifier: Apache-2.0 */
/* From an archive in a store to its member table. */
#include "plan/scan.h"

#include <inttypes.h>
#include <string.h>

#include "base/scope.h"
#include "plan/group.h"
#include "store/reader.h"
#include "wire/tar.h"

void scan_pace_init(struct scan_pace *p)
{
	*p = (struct scan_pace){.window = SCAN_FIRST_BYTES, .stretch = SCAN_WINDOW_MIN};
}

void scan_pace_want(struct scan_pace *p, uint64_t offset, uint32_t n)
{
	uint64_t jump = offset - p->end;

	p->n_jumps += jump >= SCAN_WINDOW_MIN;
	if (jump > SCAN_NEAR_BYTES) {
		/* A longer one counts at once, and is forgotten slowly: another call costs more than some bytes do. */
		p->stretch = (uint32_t)MIN(MAX(p->end - p->begin, p->stretch - p->stretch / 4), SCAN_NEAR_MAX);
		p->begin = offset;
	}
	p->end = offset + n;
}

static uint32_t window_next(const struct scan_pace *p, uint64_t offset, bool near)
{
	uint64_t advance = offset - p->window_at;

	if (near && p->begin == offset)
		return p->stretch;
	if (!near && p->n_jumps > 0 && advance / p->n_jumps > SCAN_CALL_BYTES)
		return MAX(p->window / 4, SCAN_WINDOW_MIN);
	/* In memory a large window gains nothing over one that the first-level cache holds. */
	return MIN(p->window * 2, near ? SCAN_NEAR_MAX : SCAN_WINDOW_MAX);
}

uint32_t scan_pace_read(struct scan_pace *p, uint64_t offset, bool near)
{
	p->window = window_next(p, offset, near);
	p->window_at = offset;
	p->n_jumps = 0;
	return p->window;
}

/* What is in memory of the file. */
struct window {
	struct store_reader *reader;
	uint64_t length;	/* of the file */
	uint8_t *p;		/* room for SCAN_WINDOW_MAX + TAR_EXTENSION_MAX */
	uint64_t offset, n;
	struct scan_pace pace;
	bool near;
	uint64_t n_read;
};

static int window_get(struct window *w, uint64_t offset, size_t n, const uint8_t **ret, struct err *e)
{
	uint64_t end = w->offset + w->n, window, want;
	int r;

	scan_pace_want(&w->pace, offset, (uint32_t)n);
	if (offset >= w->offset && offset + n <= end) {
		*ret = w->p + (offset - w->offset);
		return 0;
	}
	window = scan_pace_read(&w->pace, offset, w->near);
	want = MIN(MAX(n, window), w->length - offset);
	r = store_reader_read(w->reader, w->p, want, offset, &w->near, e);
	if (r < 0)
		return r;
	w->offset = offset;
	w->n = want;
	w->n_read += want;
	*ret = w->p;
	return 0;
}

static int member_take(struct grouper *g, enum tar_result what, const struct tar_member *m)
{
	if (what == TAR_MEMBER)
		return grouper_add(g, m);
	if (!m->directory)
		oddity_add(g->odd, ODDITY_NO_FILE, (struct str){m->name, m->name_n}, m->header);
	return 0;
}

static int members_read(struct tar *t, struct window *w, struct grouper *g, struct err *e)
{
	struct tar_member m;
	const uint8_t *p;
	uint64_t offset;
	size_t n;
	int r;

	while ((r = tar_next(t, &offset, &n, e)) > 0) {
		r = window_get(w, offset, n, &p, e);
		if (r < 0)
			return r;
		r = tar_feed(t, p, &m, e);
		if (r == TAR_MEMBER || r == TAR_OTHER)
			r = member_take(g, r, &m);
		if (r < 0)
			return r;
	}
	return r;
}

/* Cut off between two members, an archive looks whole but for its end: we cannot know what is missing. */
static int end_check(const struct tar *t, struct oddities *odd, struct err *e)
{
	if (t->end == TAR_END_BARE)
		return err_set(e, E_FORMAT, "lacks its end blocks at %" PRIu64 ": it may have been cut off there",
			t->end_at);
	if (t->end == TAR_END_LONE)
		oddity_add(odd, ODDITY_LONE_ZERO, str_of(""), t->end_at);
	if (t->end == TAR_END_WELL && t->more_after)
		oddity_add(odd, ODDITY_AFTER, str_of(""), t->end_at + 2 * TAR_BLOCK);
	return 0;
}

int scan_tar(struct store *store, const char *path, const struct store_file *file, struct table *table,
	struct oddities *odd, uint64_t *ret_read, struct err *e)
{
	AUTO_FREE uint8_t *memory = mem_alloc(SCAN_WINDOW_MAX + TAR_EXTENSION_MAX);
	AUTO(store_reader) struct store_reader *reader = NULL;
	struct window w = {.length = file->length, .p = memory};
	AUTO_GROUPER struct grouper g;
	AUTO_TAR struct tar t;
	int r;

	scan_pace_init(&w.pace);
	tar_init(&t, file->length);
	grouper_init(&g, table, odd);
	if (!memory)
		return -ENOMEM;
	r = store_reader_open(store, path, file, &reader, e);
	w.reader = reader;
	if (r == 0)
		r = members_read(&t, &w, &g, e);
	if (r == 0)
		r = store_reader_check(reader, e);
	if (r == 0)
		r = end_check(&t, odd, e);
	if (r == 0)
		r = grouper_end(&g);
	*ret_read = w.n_read;
	if (r == -E2BIG)
		return err_set(e, E_FORMAT, "has more than %u members, or more than %u different extensions",
			TABLE_MAX_MEMBERS, TABLE_MAX_EXTENSIONS);
	if (r == -ESTALE)
		return err_set(e, E_CHANGED, "changed while it was indexed");
	return r;
}

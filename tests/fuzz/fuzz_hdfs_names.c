/* SPDX-License-Identifier: Apache-2.0 */
/* What a NameNode answers to operations on names: the first byte is the operation, the rest is the answer. */
#include <assert.h>
#include <string.h>

#include "store/hdfs/names/names_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static const struct names_verb *const VERBS[] = {
	&names_stat, &names_list, &names_mkdir, &names_remove, &names_exists, &names_trash, &names_xattr_get,
	&names_xattr_list, &names_space, &names_summary, &names_locate,
};

static void release(struct names_op *op, struct names *n)
{
	store_listing_release(&op->req->listing);
	store_places_release(&op->req->places);
	mem_free(op->req->xattr.value);
	mem_free(op->place);
	mem_free(op->parent);
	interned_release(&n->owners);
	interned_release(&n->groups);
}

/* A page has names that are parts of paths, and no more entries than a page may have. */
static void check_listing(const struct store_listing *l)
{
	assert(l->n <= STORE_PAGE_ENTRIES && (l->n || !l->more));
	for (size_t i = 0; i < l->n; i++)
		assert(l->entries[i].name[0] && !strchr(l->entries[i].name, '/'));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct hdfs_conf conf = {.user = (char *)"alice", .trash_minutes = 1};
	struct names names = {.conf = &conf};
	struct store_range range = {.offset = 10, .length = 1000};
	struct err e;
	struct store_req req = {.ranges = &range, .n_ranges = 1, .xattr = {.name = "user.x"}, .err = &e};
	struct names_op op = {.req = &req, .path = "/a/b", .to = "/c", .names = &names};
	const struct names_verb *verb;
	int r;

	if (n == 0)
		return 0;
	verb = op.verb = VERBS[p[0] % N_ELEMS(VERBS)];
	r = verb->take(&op, (struct str){(const char *)p + 1, n - 1});
	assert(r <= NAMES_MORE);
	if (verb == &names_list)
		check_listing(&req.listing);
	if (verb == &names_stat && r == 0)
		assert(strlen(req.stat.file.version) < STORE_VERSION_MAX);
	release(&op, &names);
	return 0;
}

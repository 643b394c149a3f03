/* SPDX-License-Identifier: Apache-2.0 */
/* Copies into stores that do harm: what is wrong is found and not kept, what got lost is looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "store/copy.h"
#include "store/engine.h"

/* A store before another that does harm to the nth request of a kind, once. */
struct harm {
	struct store store;
	struct store *next;
	enum store_op op;
	_Atomic int nth;
	bool flip;		/* a bit of what is appended; else the answer is lost: -EIO, though it was done */
	bool no_checksum;
};

struct passed {
	struct store_req req;
	struct store_req *up;
	uint8_t *flipped;
	bool lost;
};

static void passed_done(struct store_req *req)
{
	struct passed *p = req->ctx;
	struct store_req *up = p->up;
	int r = p->lost && req->r == 0 ? -EIO : req->r;

	up->stat = req->stat;
	up->listing = req->listing;
	up->checksum = req->checksum;
	up->writer = req->writer;
	if (p->flipped)
		*p->flipped ^= 0x10;
	mem_free(p);
	store_req_finish(up, r);
}

static void harm_submit(struct store *s, struct store_req *up)
{
	struct harm *h = container_of(s, struct harm, store);
	struct passed *p = mem_zalloc(sizeof(*p));
	bool strikes = up->op == h->op && --h->nth == 0;

	assert_non_null(p);
	if (up->op == STORE_CHECKSUM && h->no_checksum) {
		mem_free(p);
		return store_req_finish(up, -EOPNOTSUPP);
	}
	p->up = up;
	p->req = *up;
	p->req.done = passed_done;
	p->req.ctx = p;
	if (strikes && h->flip) {
		p->flipped = (uint8_t *)up->ranges[0].buf + up->ranges[0].length / 2;
		*p->flipped ^= 0x10;
	}
	p->lost = strikes && !h->flip;
	store_pass(h->next, &p->req);
}

static void harm_free(struct store *s)
{
	struct harm *h = container_of(s, struct harm, store);

	store_unref(h->next);
	mem_free(h);
}

static const struct store_ops harm_ops = {.name = "harm", .submit = harm_submit, .free = harm_free};

static struct harm *harm_before(struct store *next, enum store_op op, int nth, bool flip)
{
	struct harm *h = mem_zalloc(sizeof(*h));

	assert_non_null(h);
	store_init(&h->store, &harm_ops);
	h->next = store_ref(next);
	h->op = op;
	h->nth = nth;
	h->flip = flip;
	return h;
}

struct seen {
	unsigned n[COPY_FAILED + 1];
	char words[512];
};

static void event(void *ctx, enum copy_event what, const char *from, const char *to, uint64_t n_bytes, const char *words)
{
	struct seen *seen = ctx;

	seen->n[what]++;
	if (words)
		snprintf(seen->words, sizeof(seen->words), "%s", words);
}

#define N_BYTES 1000003u
#define PART 65536u

static struct store *ram;

static int make_source(void **state)
{
	AUTO_FREE uint8_t *p = mem_alloc(N_BYTES);
	AUTO_FREE char *path = NULL;
	int r = store_open("ram:copy", &ram, &path, NULL);

	for (unsigned i = 0; i < N_BYTES; i++)
		p[i] = (uint8_t)(i * 2654435761u >> 13);
	return r < 0 ? r : store_write_all(ram, "from", p, N_BYTES, NULL);
}

static int drop_source(void **state)
{
	store_unref(ram);
	return 0;
}

static struct seen run(struct store *to, uint64_t part_bytes)
{
	const struct copy_rules rules = {.n_workers = 3, .part_bytes = part_bytes};
	struct seen seen = {0};
	const struct copy_watch watch = {.event = event, .ctx = &seen};
	struct copy_counts counts = {0};
	struct store_stat stat;
	struct copy *c = NULL;

	assert_int_equal(store_stat(ram, "from", &stat, NULL), 0);
	assert_int_equal(copy_new(&rules, &watch, NULL, &c), 0);
	assert_int_equal(copy_add(c, ram, "from", &stat, to, "to", NULL), 0);
	assert_int_equal(copy_finish(c, &counts, NULL), 0);
	assert_int_equal(counts.n_copied + counts.n_skipped + counts.n_failed, 1);
	copy_free(c);
	return seen;
}

static void assert_whole(void)
{
	AUTO_FREE void *a = NULL, *b = NULL;
	size_t n_a = 0, n_b = 0;

	assert_int_equal(store_read_all(ram, "from", N_BYTES, &a, &n_a, NULL), 0);
	assert_int_equal(store_read_all(ram, "to", N_BYTES, &b, &n_b, NULL), 0);
	assert_int_equal(n_b, N_BYTES);
	assert_memory_equal(a, b, N_BYTES);
}

static void assert_nothing(const char *path)
{
	struct store_stat stat;

	assert_int_equal(store_stat(ram, path, &stat, NULL), -ENOENT);
}

static void clean(void)
{
	store_remove_tree(ram, "to", NULL);
	store_remove_tree(ram, ".to.olddog-cp", NULL);
}

static const uint64_t part_sizes[] = {0, PART};

/* -EIO is tried again, and that time nothing is flipped: the file is right. */
static void a_bit_that_flips_on_its_way_is_found(void **state)
{
	for (unsigned i = 0; i < N_ELEMS(part_sizes); i++) {
		for (unsigned k = 0; k < 2; k++) {
			struct harm *h = harm_before(ram, STORE_APPEND, 1, true);
			struct seen seen;

			h->no_checksum = k;
			seen = run(&h->store, part_sizes[i]);
			assert_true(h->nth <= 0);
			/* Of parts only the whole is verified, and that is not tried again within the same run. */
			if (seen.n[COPY_FAILED]) {
				assert_int_equal(part_sizes[i], PART);
				assert_non_null(strstr(seen.words, "is not what was read"));
				assert_nothing("to");
				assert_int_equal(run(&h->store, part_sizes[i]).n[COPY_COPIED], 1);
			}
			assert_whole();
			assert_nothing(".to.olddog-cp");
			clean();
			store_unref(&h->store);
		}
	}
}

static void what_flips_each_time_never_appears(void **state)
{
	struct harm *h = harm_before(ram, STORE_APPEND, 1, true);
	struct seen seen;

	for (unsigned n = 0; n < 20; n++) {
		h->nth = 1;
		seen = run(&h->store, PART);
		assert_int_equal(seen.n[COPY_FAILED], 1);
		assert_nothing("to");
	}
	clean();
	store_unref(&h->store);
}

static void lost_answers_are_looked_for(void **state)
{
	static const enum store_op ops[] = {STORE_COMMIT, STORE_APPEND, STORE_CHECKSUM, STORE_RENAME_NEW, STORE_REMOVE_TREE};

	for (unsigned i = 0; i < N_ELEMS(ops); i++) {
		for (unsigned k = 0; k < N_ELEMS(part_sizes); k++) {
			struct harm *h = harm_before(ram, ops[i], 1, false);
			struct seen seen = run(&h->store, part_sizes[k]);

			if (seen.n[COPY_FAILED])
				seen = run(&h->store, part_sizes[k]);
			assert_int_equal(seen.n[COPY_COPIED] + seen.n[COPY_WHOLE], 1);
			assert_whole();
			clean();
			store_unref(&h->store);
		}
	}
}

static void parts_that_are_there_are_not_copied_again(void **state)
{
	struct harm *h = harm_before(ram, STORE_CONCAT, 2, false);
	struct store_listing all = {0};
	struct seen seen;

	/* The first concat only asks whether there is one; the second is done, and its answer lost. */
	seen = run(&h->store, PART);
	assert_int_equal(seen.n[COPY_FAILED], 1);
	assert_int_equal(store_list(ram, ".to.olddog-cp", &all, NULL), 0);
	assert_int_equal(all.n, 1);
	assert_int_equal(all.entries[0].stat.file.length, N_BYTES);
	store_listing_release(&all);
	h->op = STORE_APPEND;
	h->nth = 1000;
	assert_int_equal(run(&h->store, PART).n[COPY_COPIED], 1);
	assert_int_equal(h->nth, 1000);
	assert_whole();
	clean();
	store_unref(&h->store);
}

static void what_stages_another_version_is_removed(void **state)
{
	assert_int_equal(store_write_all(ram, ".to.olddog-cp/0123456789abcdef-0001", "old", 3, NULL), 0);
	assert_int_equal(store_write_all(ram, ".to.olddog-cp/dir/x", "old", 3, NULL), 0);
	assert_int_equal(run(ram, PART).n[COPY_COPIED], 1);
	assert_whole();
	assert_nothing(".to.olddog-cp");
	/* What a copy that was killed at its very end leaves goes with the next one. */
	assert_int_equal(store_write_all(ram, ".to.olddog-cp/x", "old", 3, NULL), 0);
	assert_int_equal(run(ram, PART).n[COPY_WHOLE], 1);
	assert_nothing(".to.olddog-cp");
	clean();
}

static void a_copy_that_is_stopped_says_so(void **state)
{
	const struct copy_rules rules = {.n_workers = 2};
	const struct copy_watch watch = {0};
	atomic_bool stop = true;
	struct copy_counts counts = {0};
	struct store_stat stat;
	struct copy *c = NULL;

	assert_int_equal(store_stat(ram, "from", &stat, NULL), 0);
	assert_int_equal(copy_new(&rules, &watch, &stop, &c), 0);
	assert_int_equal(copy_add(c, ram, "from", &stat, ram, "to", NULL), 0);
	assert_int_equal(copy_finish(c, &counts, NULL), -ECANCELED);
	copy_free(c);
	assert_nothing("to");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bit_that_flips_on_its_way_is_found),
		cmocka_unit_test(what_flips_each_time_never_appears),
		cmocka_unit_test(lost_answers_are_looked_for),
		cmocka_unit_test(parts_that_are_there_are_not_copied_again),
		cmocka_unit_test(what_stages_another_version_is_removed),
		cmocka_unit_test(a_copy_that_is_stopped_says_so),
	};

	return cmocka_run_group_tests(tests, make_source, drop_source);
}

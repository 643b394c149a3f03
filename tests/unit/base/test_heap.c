/* SPDX-License-Identifier: Apache-2.0 */
/* A heap beside an array: whatever is added, taken out of the middle or popped, the first is the first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/heap.h"
#include "base/rand.h"
#include "base/scope.h"

#define N 200

struct thing {
	struct heap_node node;
	uint32_t key;
};

static bool thing_before(const struct heap_node *a, const struct heap_node *b)
{
	return container_of(a, struct thing, node)->key < container_of(b, struct thing, node)->key;
}

static void check_first(const struct heap *h, const struct thing *things)
{
	uint32_t least = UINT32_MAX;
	size_t n = 0;

	for (unsigned i = 0; i < N; i++) {
		if (!heap_has(&things[i].node))
			continue;
		least = MIN(least, things[i].key);
		n++;
	}
	assert_int_equal(h->n, n);
	assert_int_equal(h->root != NULL, n > 0);
	if (n)
		assert_int_equal(container_of(h->root, struct thing, node)->key, least);
}

static void the_first_is_the_first(void **state)
{
	static struct thing things[N];
	struct heap h = {.before = thing_before};
	uint32_t u[4];

	for (uint64_t step = 0; step < 20000; step++) {
		struct thing *t;

		philox(philox_key_of(1, "heap"), step, 0, 0, u);
		t = &things[u[0] % N];
		if (heap_has(&t->node)) {
			heap_del(&h, &t->node);
		} else if (u[1] % 8 == 0) {
			heap_pop(&h);
		} else {
			t->key = u[2] % 1000;
			heap_add(&h, &t->node);
		}
		check_first(&h, things);
	}
}

static void all_come_out_in_order(void **state)
{
	static struct thing things[N];
	struct heap h = {.before = thing_before};
	uint32_t last = 0;

	assert_null(heap_pop(&h));
	for (unsigned i = 0; i < N; i++) {
		things[i].key = i * 37 % N;
		heap_add(&h, &things[i].node);
	}
	for (unsigned i = 0; i < N; i++) {
		struct heap_node *e = heap_pop(&h);

		assert_non_null(e);
		assert_false(heap_has(e));
		assert_true(container_of(e, struct thing, node)->key >= last);
		last = container_of(e, struct thing, node)->key;
	}
	assert_null(heap_pop(&h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_the_first),
		cmocka_unit_test(all_come_out_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what somebody writes: as far as a DataNode says, and of the same file while it grows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "read_world.h"
#include "store/hdfs/version.h"

static void a_file_that_grows_is_read_as_far_as_it_can_be_seen(void **state)
{
	struct world *w = world_new();

	world_file(w, 1000000, 300000, 2);
	w->file.growing = true;
	assert_int_equal(read_all(w, false), 0);
	assert_int_equal(w->counters.bytes_read, 1000000);
	w->visible = UINT64_MAX;
	assert_int_equal(read_all(w, false), -EHOSTUNREACH);
	world_free(w);
}

/* All of it, named by an id alone. */
static int read_growing(struct world *w, uint64_t id)
{
	struct call c = {.ranges = {{.offset = 0, .length = w->file.length}}};
	int r;

	call_prepare(w, &c, 1, true);
	hdfs_version_growing(id, c.file.version);
	r = call_run(w, &c);
	call_check(w, &c);
	return r;
}

/* Named by its id, it is the same while its length and time change, and another one by its name is not. */
static void a_file_that_grows_stays_the_same(void **state)
{
	struct world *w = world_new();
	struct call c = {.ranges = {{.offset = 299990, .length = 20}, {.offset = 900000, .length = 90000}}};

	world_file(w, 1000000, 300000, 2);
	w->file.growing = true;
	call_prepare(w, &c, 2, true);
	hdfs_version_growing(w->file.id, c.file.version);
	w->file.mtime_ms++;
	assert_int_equal(call_run(w, &c), 0);
	assert_int_equal(call_check(w, &c), 90020);
	w->file.growing = false;
	assert_int_equal(read_growing(w, w->file.id), 0);
	assert_int_equal(read_growing(w, w->file.id + 1), -ESTALE);
	world_free(w);
}

/* Who was told of a length by one node hears of the next ones too, when the first says less. */
static void the_longest_that_a_node_tells_is_read(void **state)
{
	struct world *w = world_new();

	world_file(w, 1000000, 300000, 2);
	w->file.growing = true;
	w->first_says = 500;
	assert_int_equal(read_growing(w, w->file.id), 0);
	world_free(w);
}

/* A block that was only just thought of has no replica: there is nothing of it to read. */
static void a_block_that_nobody_has_is_empty(void **state)
{
	struct call c = {.ranges = {{.offset = 0, .length = 1000000}}};
	struct world *w = world_new();

	world_file(w, 1000000, 300000, 2);
	w->file.growing = true;
	w->none_has = true;
	call_prepare(w, &c, 1, false);
	assert_int_equal(call_run(w, &c), 0);
	assert_int_equal(c.ranges[0].r, -ENODATA);
	assert_int_equal(call_check(w, &c), 900000);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_grows_is_read_as_far_as_it_can_be_seen),
		cmocka_unit_test(a_file_that_grows_stays_the_same),
		cmocka_unit_test(the_longest_that_a_node_tells_is_read),
		cmocka_unit_test(a_block_that_nobody_has_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

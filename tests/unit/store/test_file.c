/* SPDX-License-Identifier: Apache-2.0 */
/* What only file: meets: odd files, what killed processes leave, names of the shell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scope.h"
#include "place.h"
#include "store/copy.h"
#include "store/temporary.h"

static int in_folder(struct place *p)
{
	int fd = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void a_fifo_does_not_hang_and_links_to_nothing_are_listed(void **state)
{
	struct place *p = place_open(&place_kinds[0]);
	AUTO_CLOSE int fd = in_folder(p);
	struct store_listing l;
	struct store_stat st;
	char got[4];

	assert_int_equal(mkfifoat(fd, "fifo", 0600), 0);
	assert_int_equal(symlinkat("nowhere", fd, "dangling"), 0);
	assert_int_equal(symlinkat("file", fd, "link"), 0);
	assert_int_equal(place_put(p, STORE_WRITE, "file", "abc", 3), 0);
	assert_int_equal(symlinkat("ring", fd, "ring"), 0);
	assert_int_equal(symlinkat("file/x", fd, "through"), 0);
	assert_int_equal(place_get(p, "ring", got, 4), -ELOOP);
	assert_int_equal(place_get(p, "fifo", got, 4), -EINVAL);
	assert_int_equal(place_get(p, "dangling", got, 4), -ENOENT);
	assert_int_equal(place_get(p, "link", got, 4), 3);
	assert_int_equal(place_stat(p, "dangling", &st), 0);
	assert_int_equal(st.kind, STORE_OTHER);
	assert_int_equal(store_list(p->store, p->path, &l, NULL), 0);
	assert_int_equal(l.n, 6);
	assert_int_equal(l.entries[0].stat.kind, STORE_OTHER); /* dangling */
	assert_int_equal(l.entries[1].stat.kind, STORE_OTHER); /* fifo */
	assert_int_equal(l.entries[2].stat.kind, STORE_FILE);
	assert_int_equal(l.entries[3].stat.kind, STORE_FILE); /* link */
	assert_int_equal(l.entries[4].stat.kind, STORE_OTHER); /* ring */
	assert_int_equal(l.entries[5].stat.kind, STORE_OTHER); /* through */
	assert_string_equal(l.entries[2].stat.file.version, l.entries[3].stat.file.version);
	store_listing_release(&l);
	place_close(p);
}

static void words_show_names_of_strangers_without_control_characters(void **state)
{
	struct place *p = place_open(&place_kinds[0]);
	AUTO_FREE char *path = place_path(p, "a\x1b[2Jb");
	struct err e = {0};
	struct store_stat st;

	assert_int_equal(store_stat(p->store, path, &st, &e), -ENOENT);
	assert_non_null(strstr(e.words, "/a?[2Jb: No such file"));
	place_close(p);
}

static void temporaries_of_the_killed_are_hidden_and_swept(void **state)
{
	struct place *p = place_open(&place_kinds[0]);
	struct store_req rm = {.op = STORE_REMOVE};
	struct store_listing l;
	struct store_stat st;
	AUTO_FREE char *dir = place_path(p, "d");

	assert_int_equal(place_put(p, STORE_WRITE, "d/x", "x", 1), 0);
	place_touch(p, "d/.olddog-tmp-0123456789abcdef0123456789abcdef");
	assert_int_equal(store_list(p->store, dir, &l, NULL), 0);
	assert_int_equal(l.n, 1);
	store_listing_release(&l);
	/* Beside a file they stay: somebody may be writing. */
	assert_int_equal(place_run(p, &rm, "d", NULL), -ENOTEMPTY);
	assert_int_equal(place_stat(p, "d/.olddog-tmp-0123456789abcdef0123456789abcdef", &st), 0);
	assert_int_equal(place_run(p, &rm, "d/x", NULL), 0);
	assert_int_equal(place_run(p, &rm, "d", NULL), 0);
	assert_int_equal(place_stat(p, "d", &st), -ENOENT);
	place_close(p);
}

static void name_of_a_dead_writer(char out[static TEMPORARY_NAME_BYTES])
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(temporary_name(out) < 0 || write(ends[1], out, TEMPORARY_NAME_BYTES) != TEMPORARY_NAME_BYTES);
	assert_int_equal(read(ends[0], out, TEMPORARY_NAME_BYTES), TEMPORARY_NAME_BYTES);
	close(ends[0]);
	close(ends[1]);
	/* Until it is waited for it is there, if not alive. */
	assert_false(temporary_is_abandoned(out));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

enum { DEAD, LIVES, ELSEWHERE, OTHER_START, ODD, ODDER, N_LEFT };

static void what_killed_writers_of_this_host_left_is_swept(void **state)
{
	struct place *p = place_open(&place_kinds[0]);
	AUTO_FREE char *dir = place_path(p, "d");
	char names[N_LEFT][TEMPORARY_NAME_BYTES] = {
		[ODD] = ".olddog-tmp-0123456789abcdef0123456789abcdef", [ODDER] = ".olddog-tmp-0-1-1-0"};
	struct store_listing l;
	struct store_stat st;

	name_of_a_dead_writer(names[DEAD]);
	assert_int_equal(temporary_name(names[LIVES]), 0);
	memcpy(names[ELSEWHERE], names[DEAD], TEMPORARY_NAME_BYTES);
	names[ELSEWHERE][strlen(TEMPORARY_PREFIX)] ^= 1;
	/* Its number is another process's now. */
	snprintf(names[OTHER_START], TEMPORARY_NAME_BYTES, "%.*s-%u-1-0", (int)(strlen(TEMPORARY_PREFIX) + 16), names[LIVES],
		(unsigned)getpid());
	assert_int_equal(place_put(p, STORE_WRITE, "d/x", "x", 1), 0);
	for (unsigned i = 0; i < N_LEFT; i++) {
		AUTO_FREE char *name = mem_printf("d/%s", names[i]);

		place_touch(p, name);
		assert_int_equal(temporary_is_abandoned(names[i]), i == DEAD || i == OTHER_START);
	}
	assert_int_equal(store_list_temporaries(p->store, dir, NULL, &l, NULL), 0);
	assert_int_equal(l.n, N_LEFT);
	store_listing_release(&l);
	copy_sweep(p->store, dir);
	for (unsigned i = 0; i < N_LEFT; i++) {
		AUTO_FREE char *name = mem_printf("d/%s", names[i]);

		assert_int_equal(place_stat(p, name, &st), i == DEAD || i == OTHER_START ? -ENOENT : 0);
	}
	assert_int_equal(place_stat(p, "d/x", &st), 0);
	place_close(p);
}

static void writing_leaves_no_temporary(void **state)
{
	struct place *p = place_open(&place_kinds[0]);
	AUTO_CLOSE int fd = in_folder(p);

	assert_int_equal(place_put(p, STORE_WRITE, "d/x", "x", 1), 0);
	assert_int_equal(place_put(p, STORE_CREATE_EXCLUSIVE, "d/x", "y", 1), -EEXIST);
	assert_int_equal(place_put(p, STORE_WRITE, "d", "y", 1), -EISDIR);
	assert_int_equal(unlinkat(fd, "d/x", 0), 0);
	assert_int_equal(unlinkat(fd, "d", AT_REMOVEDIR), 0);
	place_close(p);
}

static void check_opens(const char *url, const char *content)
{
	AUTO_STORE struct store *s = NULL;
	AUTO_FREE char *path = NULL;
	AUTO_FREE void *p = NULL;
	struct err e = {0};
	size_t n;

	assert_int_equal(store_open(url, &s, &path, &e), 0);
	assert_int_equal(store_read_all(s, path, 100, &p, &n, &e), 0);
	assert_string_equal(p, content);
}

static void names_of_the_shell_are_taken_as_they_are(void **state)
{
	struct place *p = place_open(&place_kinds[0]);
	AUTO_CLOSE int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE char *url = NULL;

	assert_int_equal(place_put(p, STORE_WRITE, "a/b/x", "plain", 5), 0);
	assert_int_equal(place_put(p, STORE_WRITE, "a/100%.jpg", "percent", 7), 0);
	assert_int_equal(place_put(p, STORE_WRITE, "a/x#1&fault", "hash", 4), 0);
	assert_int_equal(chdir(p->folder), 0);
	check_opens("a/b/x", "plain");
	check_opens("./a//b/x", "plain");
	check_opens("a/../a/b/../b/x", "plain");
	check_opens("a/100%.jpg", "percent");
	check_opens("a/x#1&fault", "hash");
	check_opens("a/b/x#fault=delay:1us,seed:3", "plain");
	assert_int_equal(chdir("a/b"), 0);
	check_opens("../../a/b/x", "plain");
	assert_true(asprintf(&url, "file://%s/a/100%%25.jpg", p->folder) > 0);
	check_opens(url, "percent");
	mem_free(url);
	assert_true(asprintf(&url, "file://localhost%s/a/x%%231&fault#fault=seed:1", p->folder) > 0);
	check_opens(url, "hash");
	assert_int_equal(fchdir(here), 0);
	place_close(p);
}

/* In place, as nobody should: what was read is of no version, and said to be. */
static void an_overwritten_file_is_stale(void **state)
{
	struct place *p = place_open(&place_kinds[0]);
	AUTO_CLOSE int fd = in_folder(p), file_fd = -1;
	struct store_stat st, now;
	char got[4];
	struct store_range range = {.buf = got, .length = 3};
	struct store_req req = {.op = STORE_READ, .file = &st.file, .ranges = &range, .n_ranges = 1};

	assert_int_equal(place_put(p, STORE_WRITE, "x", "abc", 3), 0);
	assert_int_equal(place_stat(p, "x", &st), 0);
	file_fd = openat(fd, "x", O_WRONLY | O_CLOEXEC);
	/* Until the file system's clock has ticked. */
	do {
		assert_int_equal(pwrite(file_fd, "xyz", 3, 0), 3);
		assert_int_equal(place_stat(p, "x", &now), 0);
	} while (strcmp(st.file.version, now.file.version) == 0);
	assert_int_equal(place_run(p, &req, "x", NULL), -ESTALE);
	assert_int_equal(range.done, 0);
	place_close(p);
}

static void a_store_may_list_several_directories_at_once(void **state)
{
	struct place *p = place_open(&place_kinds[0]);
	char last[6][300] = {{0}}, name[32];
	bool more = true;

	for (unsigned d = 0; d < 6; d++)
		for (unsigned i = 0; i < STORE_PAGE_ENTRIES + 100; i++) {
			struct store_req mkdir = {.op = STORE_MKDIR};

			snprintf(name, sizeof(name), "d%u", d);
			if (i == 0)
				assert_int_equal(place_run(p, &mkdir, name, NULL), 0);
			snprintf(name, sizeof(name), "d%u/%05u", d, i);
			place_touch(p, name);
		}
	for (unsigned page = 0; page < 2; page++)
		for (unsigned d = 0; d < 6; d++) {
			struct store_req req = {.op = STORE_LIST};

			snprintf(name, sizeof(name), "d%u", d);
			assert_int_equal(place_run(p, &req, name, page ? last[d] : NULL), 0);
			assert_int_equal(req.listing.n, page ? 100 : STORE_PAGE_ENTRIES);
			snprintf(last[d], sizeof(last[d]), "%s", req.listing.entries[req.listing.n - 1].name);
			more = req.listing.more;
			store_listing_release(&req.listing);
		}
	assert_false(more);
	place_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fifo_does_not_hang_and_links_to_nothing_are_listed),
		cmocka_unit_test(words_show_names_of_strangers_without_control_characters),
		cmocka_unit_test(temporaries_of_the_killed_are_hidden_and_swept),
		cmocka_unit_test(what_killed_writers_of_this_host_left_is_swept),
		cmocka_unit_test(writing_leaves_no_temporary),
		cmocka_unit_test(names_of_the_shell_are_taken_as_they_are),
		cmocka_unit_test(an_overwritten_file_is_stale),
		cmocka_unit_test(a_store_may_list_several_directories_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Who wins when many create the same file: one, wholly; by threads and by processes, on every way to publish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "base/scope.h"
#include "place.h"
#include "store/publish.h"

#define N_RACERS 6
#define N_ROUNDS 10
#define N_BYTES 5000

struct racer {
	struct store *store;
	const char *dir;
	pthread_barrier_t *start;
	unsigned id;
	int results[N_ROUNDS];
};

static char *record_path(const char *dir, unsigned round)
{
	char *path;

	return asprintf(&path, "%s/records/%u", dir, round) < 0 ? NULL : path;
}

/* Each writes bytes of its own number only, so that a mixture would be seen. */
static void *race(void *arg)
{
	struct racer *r = arg;
	uint8_t bytes[N_BYTES];

	memset(bytes, (int)r->id, sizeof(bytes));
	for (unsigned round = 0; round < N_ROUNDS; round++) {
		AUTO_FREE char *path = record_path(r->dir, round);

		pthread_barrier_wait(r->start);
		r->results[round] = store_create_exclusive(r->store, path, bytes, sizeof(bytes), NULL);
	}
	return NULL;
}

static void check_whole(struct store *s, const char *path, unsigned winner)
{
	AUTO_FREE void *p = NULL;
	size_t n;

	assert_int_equal(store_read_all(s, path, N_BYTES, &p, &n, NULL), 0);
	assert_int_equal(n, N_BYTES);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(((uint8_t *)p)[i], winner);
}

static void one_thread_wins(void **state)
{
	struct place *p = place_open(*state);
	struct racer racers[N_RACERS];
	pthread_t threads[N_RACERS];
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, N_RACERS);
	for (unsigned i = 0; i < N_RACERS; i++) {
		racers[i] = (struct racer){.store = p->store, .dir = p->path, .start = &start, .id = i + 1};
		assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
	}
	for (unsigned i = 0; i < N_RACERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned round = 0; round < N_ROUNDS; round++) {
		AUTO_FREE char *path = record_path(p->path, round);
		unsigned n_won = 0, winner = 0;

		for (unsigned i = 0; i < N_RACERS; i++) {
			assert_true(racers[i].results[round] == 0 || racers[i].results[round] == -EEXIST);
			if (racers[i].results[round] == 0)
				n_won++, winner = i + 1;
		}
		assert_int_equal(n_won, 1);
		check_whole(p->store, path, winner);
	}
	pthread_barrier_destroy(&start);
	place_close(p);
}

/* A child waits for the pipe to close, publishes, and tells by its status: 0 won, 1 lost. */
static pid_t racer_start(const char *folder, const char *name, unsigned id, enum publish how, int go_fd, int other_fd)
{
	pid_t pid = fork();
	uint8_t bytes[N_BYTES];
	AUTO_CLOSE int dir_fd = -1;
	char c;
	int r;

	if (pid != 0)
		return pid;
	close(other_fd);
	memset(bytes, (int)id, sizeof(bytes));
	dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (read(go_fd, &c, 1) > 0)
		;
	r = publish_file(dir_fd, name, bytes, sizeof(bytes), how);
	_exit(r == 0 ? 0 : r == -EEXIST ? 1 : 2);
}

static void one_process_wins(enum publish how)
{
	struct place *p = place_open(&place_kinds[0]);

	for (unsigned round = 0; round < 3; round++) {
		AUTO_FREE char *path = NULL;
		unsigned n_won = 0, winner = 0;
		pid_t pids[N_RACERS];
		char name[16];
		int go[2];

		snprintf(name, sizeof(name), "record%u", round);
		path = place_path(p, name);
		assert_int_equal(pipe2(go, O_CLOEXEC), 0);
		for (unsigned i = 0; i < N_RACERS; i++)
			assert_true((pids[i] = racer_start(p->folder, name, i + 1, how, go[0], go[1])) > 0);
		close(go[0]);
		close(go[1]);
		for (unsigned i = 0; i < N_RACERS; i++) {
			int status;

			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
			if (WEXITSTATUS(status) == 0)
				n_won++, winner = i + 1;
		}
		assert_int_equal(n_won, 1);
		check_whole(p->store, path, winner);
	}
	place_close(p);
}

static void one_process_wins_by_renameat2(void **state)
{
	one_process_wins(PUBLISH_EXCLUSIVE);
}

static void one_process_wins_by_link(void **state)
{
	one_process_wins(PUBLISH_EXCLUSIVE_LINK);
}

/* Writers that replace: a reader sees one of the contents, whole, or is told that it changed. */
static void *replace_again_and_again(void *arg)
{
	struct racer *r = arg;
	AUTO_FREE char *path = record_path(r->dir, 0);
	uint8_t bytes[N_BYTES];

	for (unsigned round = 0; round < N_ROUNDS; round++) {
		memset(bytes, (int)(r->id + round), sizeof(bytes));
		r->results[round] = store_write_all(r->store, path, bytes, sizeof(bytes), NULL);
	}
	return NULL;
}

static void readers_see_whole_contents(void **state)
{
	struct place *p = place_open(*state);
	AUTO_FREE char *path = record_path(p->path, 0);
	struct racer writer = {.store = p->store, .dir = p->path, .id = 1};
	pthread_t thread;

	assert_int_equal(store_write_all(p->store, path, "", 0, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, replace_again_and_again, &writer), 0);
	for (unsigned i = 0; i < 200; i++) {
		AUTO_FREE uint8_t *got = NULL;
		size_t n;
		int r = store_read_all(p->store, path, N_BYTES, (void **)&got, &n, NULL);

		assert_true(r == 0 || r == -ESTALE);
		for (size_t at = 0; r == 0 && at < n; at++)
			assert_int_equal(got[at], got[0]);
	}
	pthread_join(thread, NULL);
	for (unsigned round = 0; round < N_ROUNDS; round++)
		assert_int_equal(writer.results[round], 0);
	place_close(p);
}

int main(void)
{
	/* On real time: of file, and of ram. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(one_thread_wins, (void *)&place_kinds[0]),
		cmocka_unit_test_prestate(one_thread_wins, (void *)&place_kinds[3]),
		cmocka_unit_test(one_process_wins_by_renameat2),
		cmocka_unit_test(one_process_wins_by_link),
		cmocka_unit_test_prestate(readers_see_whole_contents, (void *)&place_kinds[0]),
		cmocka_unit_test_prestate(readers_see_whole_contents, (void *)&place_kinds[3]),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of another process's state. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/process.h"

/* A name that looks as if the state came in the middle of it. */
#define NAME "a) S (b) R"

static void a_stopped_one_is_known_whatever_its_name(void **state)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		prctl(PR_SET_NAME, NAME);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(process_state(pid, NULL), 'T');
	assert_int_equal(process_state(pid, NAME), 'T');
	assert_int_equal(process_state(pid, "a"), '?');
	assert_int_equal(process_state(pid, NAME "x"), '?');
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(process_state(pid, NAME), '?');
}

static void one_that_runs_is_told_from_one_that_cannot_be(void **state)
{
	assert_int_equal(process_state(getpid(), NULL), 'R');
	assert_int_equal(process_state(0, NULL), '?');
	assert_int_equal(process_state(-1, NULL), '?');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stopped_one_is_known_whatever_its_name),
		cmocka_unit_test(one_that_runs_is_told_from_one_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

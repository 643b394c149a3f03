/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a decoder in a stranger's hands can do: nothing. The real worker program with a decoder that tries (hostile_media.c);
 * and each layer of the confinement by itself.
 */
#include "rig.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/scope.h"
#include "worker/confine.h"

static struct rig rig;
static char folder[] = "/tmp/olddog-confine-XXXXXX";

enum outcome {
	OUTCOME_CALL,	/* the system call ends the process; under a sanitizer a few are refused by something else instead */
	OUTCOME_FAULT,	/* the memory access does; a sanitizer reports it and exits */
};

static const struct attempt {
	const char *name;
	enum outcome outcome;
	enum {NOTHING, FOLDER, OWNER} argument;
} attempts[] = {
	{"open_file", OUTCOME_CALL}, {"create_file", OUTCOME_CALL, FOLDER}, {"remove_file", OUTCOME_CALL, FOLDER},
	{"change_mode", OUTCOME_CALL, FOLDER}, {"read_proc", OUTCOME_CALL}, {"reopen_fd", OUTCOME_CALL},
	{"look", OUTCOME_CALL}, {"make_socket", OUTCOME_CALL}, {"make_unix_socket", OUTCOME_CALL},
	{"connect_channel", OUTCOME_CALL}, {"send_elsewhere", OUTCOME_CALL}, {"send_fd", OUTCOME_CALL},
	{"fork", OUTCOME_CALL}, {"clone_thread", OUTCOME_CALL}, {"clone3", OUTCOME_CALL}, {"execute", OUTCOME_CALL},
	{"trace_owner", OUTCOME_CALL, OWNER}, {"trace_me", OUTCOME_CALL}, {"write_owner", OUTCOME_CALL, OWNER},
	{"kill_owner", OUTCOME_CALL, OWNER}, {"tgkill_owner", OUTCOME_CALL, OWNER}, {"pidfd_owner", OUTCOME_CALL, OWNER},
	{"limit_owner", OUTCOME_CALL, OWNER}, {"become_dumpable", OUTCOME_CALL}, {"outlive_owner", OUTCOME_CALL},
	{"raise_limit", OUTCOME_CALL}, {"duplicate", OUTCOME_CALL}, {"make_memfd", OUTCOME_CALL},
	{"make_pipe", OUTCOME_CALL}, {"watch", OUTCOME_CALL}, {"io_uring", OUTCOME_CALL}, {"bpf", OUTCOME_CALL},
	{"unshare", OUTCOME_CALL}, {"share_memory", OUTCOME_CALL}, {"write_stdout", OUTCOME_CALL},
	{"write_file_of_owner", OUTCOME_CALL}, {"map_file", OUTCOME_CALL}, {"map_shared", OUTCOME_CALL},
	{"map_code", OUTCOME_CALL}, {"protect_code", OUTCOME_CALL}, {"protect_input", OUTCOME_CALL},
	{"write_input", OUTCOME_FAULT}, {"write_nowhere", OUTCOME_FAULT}, {"write_past_output", OUTCOME_FAULT},
	{"overflow_stack", OUTCOME_FAULT},
#ifdef __x86_64__
	{"call_as_x32", OUTCOME_CALL}, {"call_as_i386", OUTCOME_CALL},
#endif
};

static void open_hostile(uint64_t time_limit_ns, size_t memory_bytes)
{
	struct worker_conf conf;

	rig_init(&rig, false, "mode=rgb");
	conf = rig_conf(&rig, false, "OLDDOG_HOSTILE_WORKER");
	conf.n_workers = conf.max_attempts = 1;
	conf.time_limit_ns = time_limit_ns;
	conf.memory_limit_bytes = memory_bytes;
	rig_open(&rig, &conf);
}

static struct rig_work *try(const char *text)
{
	struct rig_work *w = rig_submit(&rig, 0, text, strlen(text), 4096);

	rig_run(&rig);
	return w;
}

static int32_t pixel_errno(const struct work *w)
{
	int32_t e;

	assert_int_equal(w->w, sizeof(e));
	memcpy(&e, w->pixels, sizeof(e));
	return e;
}

static void check_works(const char *text)
{
	struct rig_work *w = try(text);

	assert_int_equal(w->work.r, 0);
	assert_int_equal(pixel_errno(&w->work), 0);
	rig_release(&rig, w);
}

/* Words of the work say which layer it was. */
static bool stopped(const struct attempt *a, const struct work *w)
{
	if (w->r == 0)
		return OLDDOG_SANITIZED && pixel_errno(w) != 0;
	if (w->r != E_WORKER_DIED)
		return false;
	if (a->outcome == OUTCOME_CALL && !OLDDOG_SANITIZED)
		return strstr(w->words, "SIGSYS") != NULL;
	return strstr(w->words, "SIGSYS") || strstr(w->words, "SIGSEGV") || (OLDDOG_SANITIZED && strstr(w->words, "status 1"));
}

static void check_attempt(const struct attempt *a)
{
	char text[256];
	struct rig_work *rw;
	const struct work *w;

	if (a->argument == OWNER)
		snprintf(text, sizeof(text), "%s %d", a->name, (int)getpid());
	else
		snprintf(text, sizeof(text), "%s%s%s", a->name, a->argument == FOLDER ? " " : "",
			a->argument == FOLDER ? folder : "");
	rw = try(text);
	w = &rw->work;
	if (!stopped(a, w))
		fail_msg("%s: %d %s", a->name, w->r, w->words);
	if (w->r == 0)
		print_message("%-20s refused: %s\n", a->name, strerror(pixel_errno(w)));
	else
		print_message("%-20s %s\n", a->name, w->words);
	/* The sample lies in the arena as it was put there. */
	assert_memory_equal(w->in.p, text, strlen(text));
	rig_release(&rig, rw);
}

static void make_canary(void)
{
	char path[300];
	int fd;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/canary", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

/* The canary as it was, and nothing beside it. */
static void check_canary(void)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/canary", folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void nothing_that_a_hostile_decoder_tries_works(void **state)
{
	struct worker_counts counts;
	unsigned fds;

	make_canary();
	open_hostile(60 * NS_PER_S, 256u << 20);
	check_works("fine");
	check_works("allocate");
	fds = n_open_fds();
	for (unsigned i = 0; i < N_ELEMS(attempts); i++)
		check_attempt(&attempts[i]);
	check_works("fine");
	assert_int_equal(n_open_fds(), fds);
	worker_pool_counts(rig.pool, &counts);
	assert_true(OLDDOG_SANITIZED || counts.n_died == N_ELEMS(attempts));
	rig_close(&rig);
	check_canary();
}

static void memory_is_limited(void **state)
{
	const struct work *w;

	/* A sanitizer maps terabytes of shadow, so that there it has no such limit. */
	if (OLDDOG_SANITIZED)
		return;
	open_hostile(60 * NS_PER_S, 256u << 20);
	w = &try("allocate_all")->work;
	assert_int_equal(w->r, -ENOMEM);
	assert_non_null(strstr(w->words, "memory limit"));
	check_works("fine");
	rig_close(&rig);
}

static void time_is_limited(void **state)
{
	const struct work *w;

	open_hostile(NS_PER_S / 5, 256u << 20);
	w = &try("spin")->work;
	assert_int_equal(w->r, E_WORKER_TIMEOUT);
	rig_close(&rig);
}

/* An owner that says which worker it has, gives it work without end, and is killed. */
static void be_an_owner(int tell)
{
	pid_t worker;

	open_hostile(3600 * NS_PER_S, 256u << 20);
	check_works("fine");
	if (rig_children(&worker, 1) != 1 || write(tell, &worker, sizeof(worker)) != sizeof(worker))
		_exit(1);
	try("spin");
	_exit(1);
}

static void a_worker_dies_with_its_owner(void **state)
{
	struct pollfd gone = {.events = POLLIN};
	pid_t owner, worker;
	int fds[2], status;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	owner = fork();
	assert_true(owner >= 0);
	if (owner == 0)
		be_an_owner(fds[1]);
	assert_int_equal(read(fds[0], &worker, sizeof(worker)), sizeof(worker));
	gone.fd = pidfd_open(worker, 0);
	assert_true(gone.fd >= 0);
	assert_int_equal(kill(owner, SIGKILL), 0);
	assert_int_equal(waitpid(owner, &status, 0), owner);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(poll(&gone, 1, 60000), 1);
	close(gone.fd);
	close(fds[0]);
	close(fds[1]);
}

/* Each layer by itself, in a child process: the exit status is 0, or the number of the check that failed. */

struct child {
	unsigned layers;
	int (*check)(unsigned layers, int listener);
};

static int check_landlock(unsigned layers, int listener)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t n = sizeof(a);
	int fd;

	if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
		return 2;
	if (open("/tmp/olddog-landlock", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0 || errno != EACCES)
		return 3;
	if (execl("/bin/true", "true", NULL) == 0 || errno != EACCES)
		return 4;
	/* Of later kernels; where they are not known, seccomp is what refuses. */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || getsockname(listener, (struct sockaddr *)&a, &n) < 0)
		return 5;
	if (connect(fd, (struct sockaddr *)&a, n) < 0 && errno != EPERM)
		return 6;
	return 0;
}

static int check_limits(unsigned layers, int listener)
{
	if (dup(STDERR_FILENO) >= 0 || errno != EMFILE)
		return 2;
	if (prctl(PR_GET_DUMPABLE) != 0)
		return 3;
	if (!OLDDOG_SANITIZED && mem_alloc(64u << 20))
		return 4;
	return 0;
}

static int check_seccomp(unsigned layers, int listener)
{
	(void)!write(STDERR_FILENO, "", 0);
	getppid();
	return 2;
}

static int run_child(const struct child *c)
{
	struct sockaddr_un any = {.sun_family = AF_UNIX};
	AUTO_CLOSE int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int status;
	pid_t pid;

	assert_int_equal(bind(listener, (struct sockaddr *)&any, sizeof(any.sun_family)), 0);
	assert_int_equal(listen(listener, 1), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct confine_conf conf = {.layers = c->layers, .memory_limit_bytes = 32u << 20, .channel_fd = 3};
		unsigned layers;

		if (confine(&conf, &layers, NULL) < 0)
			_exit(1);
		if (layers != c->layers)
			_exit(77);
		_exit(c->check(layers, listener));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void landlock_denies_files_by_itself(void **state)
{
	int status = run_child(&(struct child){CONFINE_LANDLOCK, check_landlock});

	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		print_message("this kernel has no Landlock: files are refused by seccomp and by the lack of descriptors\n");
	else
		assert_int_equal(status, 0);
}

static void limits_hold_by_themselves(void **state)
{
	assert_int_equal(run_child(&(struct child){CONFINE_LIMITS, check_limits}), 0);
}

static void seccomp_kills_by_itself(void **state)
{
	int status = run_child(&(struct child){CONFINE_SECCOMP, check_seccomp});

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_that_a_hostile_decoder_tries_works),
		cmocka_unit_test(memory_is_limited),
		cmocka_unit_test(time_is_limited),
		cmocka_unit_test(a_worker_dies_with_its_owner),
		cmocka_unit_test(landlock_denies_files_by_itself),
		cmocka_unit_test(limits_hold_by_themselves),
		cmocka_unit_test(seccomp_kills_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

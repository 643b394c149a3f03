/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wan - join two network namespaces by an emulated long link.
 *
 *   wan up NAME [--rtt 100ms] [--rate 1gbit] [--loss 0] [--queue BYTES]
 *          [--cc cubic] [--mtu N] [--seed N]
 *   wan exec NAME a|b CMD [ARG...]      run CMD in one end
 *   wan addr NAME a|b                   print an end's address
 *   wan stat NAME                       counters, one line per direction
 *   wan down NAME                       stop the link, remove both namespaces
 *
 * Two TUN devices, one in each namespace, are joined by one process.  Each
 * direction has a token-bucket rate, a drop-tail queue in front of it, random
 * loss, and then a fixed delay of RTT/2.  TCP in the namespaces is the
 * kernel's own, so slow start, window growth and recovery are real.
 *
 * Addresses are 198.18.X.1 (a) and 198.18.X.2 (b), X taken from the name.
 * Nothing is forwarded outside the two namespaces.
 *
 * Packets move whole: TUN runs with IFF_VNET_HDR and TSO, so the kernel may
 * hand over up to 64 KB segments; the rate charges them as the MTU-sized
 * packets that they stand for.  Loss is drawn for each MTU-sized packet; with
 * it, segmentation offload is off and every packet crosses alone.  Link
 * time is kept in nanoseconds.
 */
#include "wan.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUN_DIR "/run/wan"

void die(const char *what)
{
	fprintf(stderr, "wan: %s: %s\n", what, strerror(errno));
	exit(1);
}

void fail(const char *what)
{
	fprintf(stderr, "wan: %s\n", what);
	exit(2);
}

static void state_path(char *out, size_t n, const char *name, const char *ext)
{
	snprintf(out, n, RUN_DIR "/%s.%s", name, ext);
}

static void check_name(const char *s)
{
	size_t i, n = strlen(s);

	if (!n || n > 32)
		fail("NAME: 1 to 32 characters of a-z 0-9 _ -");
	for (i = 0; i < n; i++)
		if (!islower((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) && s[i] != '_' && s[i] != '-')
			fail("NAME: 1 to 32 characters of a-z 0-9 _ -");
}

static pid_t link_pid(const char *name)
{
	char p[256], exe[64], a[256], b[256];
	long pid = 0;
	ssize_t n;
	FILE *f;

	state_path(p, sizeof(p), name, "pid");
	f = fopen(p, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%ld", &pid) != 1 || pid <= 1)
		pid = 0;
	fclose(f);
	if (!pid)
		return 0;
	/* A recycled process id must not be signalled. */
	snprintf(exe, sizeof(exe), "/proc/%ld/comm", pid);
	f = fopen(exe, "r");
	if (!f)
		return 0;
	n = fgets(a, sizeof(a), f) ? (ssize_t)strcspn(a, "\n") : 0;
	fclose(f);
	a[n] = 0;
	snprintf(b, sizeof(b), "wan:%.11s", name);
	return strcmp(a, b) ? 0 : (pid_t)pid;
}

static int cmd_down(const char *name, int quiet)
{
	char p[256];
	pid_t pid = link_pid(name);
	int i, had = pid != 0;

	if (pid) {
		kill(pid, SIGTERM);
		for (i = 0; i < 200 && !kill(pid, 0); i++)
			usleep(10000);
		if (!kill(pid, 0))
			kill(pid, SIGKILL);
	}
	for (i = 0; i < 2; i++) {
		ns_path(p, sizeof(p), name, "ab"[i]);
		if (!access(p, F_OK)) {
			had = 1;
			umount2(p, MNT_DETACH);
			unlink(p);
		}
	}
	state_path(p, sizeof(p), name, "pid");
	unlink(p);
	state_path(p, sizeof(p), name, "stat");
	unlink(p);
	if (!had && !quiet)
		fprintf(stderr, "wan: no link %s\n", name);
	return had || quiet ? 0 : 1;
}

static double number(const char *s, char **end)
{
	double v;

	errno = 0;
	v = strtod(s, end);
	if (*end == s || errno || !(v >= 0))
		fail("bad number");
	return v;
}

static double parse_time_ns(const char *s)
{
	char *e;
	double v = number(s, &e);

	if (!strcmp(e, "us"))
		return v * 1e3;
	if (!strcmp(e, "ms") || !*e)
		return v * 1e6;
	if (!strcmp(e, "s"))
		return v * 1e9;
	fail("time: 100ms, 500us or 1s");
	return 0;
}

static double parse_rate(const char *s)
{
	char *e;
	double v = number(s, &e);

	if (!strcmp(e, "kbit"))
		return v * 1e3;
	if (!strcmp(e, "mbit"))
		return v * 1e6;
	if (!strcmp(e, "gbit"))
		return v * 1e9;
	if (!*e)
		return v;
	fail("rate: 10mbit, 1gbit, or 0 for no limit");
	return 0;
}

static double parse_loss(const char *s)
{
	char *e;
	double v = number(s, &e);

	if (*e == '%' && !e[1])
		v /= 100;
	else if (*e)
		fail("loss: 0.001 or 0.1%");
	if (v >= 1)
		fail("loss: below 1");
	return v;
}

/* An option and its value; *q: of --queue. */
static void take_option(struct conf *cf, double *q, const char *name, const char *value)
{
	char *e;

	if (!strcmp(name, "--rtt"))
		cf->delay_ns = (uint64_t)(parse_time_ns(value) / 2);
	else if (!strcmp(name, "--rate"))
		cf->rate = parse_rate(value);
	else if (!strcmp(name, "--loss"))
		cf->loss = parse_loss(value);
	else if (!strcmp(name, "--queue"))
		*q = number(value, &e);
	else if (!strcmp(name, "--mtu"))
		cf->mtu = (unsigned)number(value, &e);
	else if (!strcmp(name, "--seed"))
		cf->seed = (uint64_t)number(value, &e);
	else if (!strcmp(name, "--cc"))
		cf->cc = value;
	else
		fail("unknown option");
}

static void take_options(struct conf *cf, int argc, char **argv)
{
	double q = -1;

	for (int i = 0; i < argc; i += 2) {
		if (i + 1 >= argc)
			fail("an option needs a value");
		take_option(cf, &q, argv[i], argv[i + 1]);
	}
	if (cf->mtu < 576 || cf->mtu > 9000)
		fail("mtu: 576 to 9000");
	/* Default queue: one rate x RTT, at least 256 KB. */
	if (q < 0)
		q = cf->rate * (double)cf->delay_ns * 2 / 8e9;
	cf->queue = q < 262144 ? 262144 : (uint64_t)q;
}

/* Of both directions, in a file that `stat` reads. */
static struct counters *map_counters(const char *name)
{
	struct counters *cnt;
	char p[256];
	int fd;

	mkdir(RUN_DIR, 0755);
	state_path(p, sizeof(p), name, "stat");
	fd = open(p, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, 2 * sizeof(*cnt)) < 0)
		die(p);
	cnt = mmap(NULL, 2 * sizeof(*cnt), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (cnt == MAP_FAILED)
		die("mmap");
	close(fd);
	return cnt;
}

static void become_daemon(const char *name)
{
	struct sigaction sa = {.sa_handler = on_term};
	char comm[16];

	setsid();
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	snprintf(comm, sizeof(comm), "wan:%.11s", name);
	prctl(PR_SET_NAME, comm);
	prctl(PR_SET_TIMERSLACK, 1000UL);
	/* Late wake-ups would show as delay: real-time if allowed, else a low nice value. */
	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &(struct sched_param){.sched_priority = 1}) < 0)
		setpriority(PRIO_PROCESS, 0, -15);
}

static void write_pid(const char *name)
{
	char p[256];
	int fd;

	state_path(p, sizeof(p), name, "pid");
	fd = open(p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || dprintf(fd, "%d\n", getpid()) < 0)
		die(p);
	close(fd);
}

static void let_go_of_terminal(void)
{
	int null = open("/dev/null", O_RDWR);

	if (chdir("/") < 0)
		_exit(1);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
}

/* The process of the link; it says '+' when it is up. */
static void run_link(const char *name, const struct conf *cf, struct counters *cnt, int ready)
{
	int tun[2];

	become_daemon(name);
	allow_cc(cf->cc);
	ns_setup('a', name, cf, &tun[0]);
	ns_setup('b', name, cf, &tun[1]);
	write_pid(name);
	if (write(ready, "+", 1) != 1)
		_exit(1);
	close(ready);
	let_go_of_terminal();
	pump(tun[0], tun[1], cf, cnt);
	_exit(0);
}

static int cmd_up(const char *name, int argc, char **argv)
{
	struct conf cf = {.delay_ns = 50000000, .rate = 1e9, .mtu = 1500, .seed = 1, .cc = "cubic"};
	char a[32], b[32], ok = 0;
	struct counters *cnt;
	int pipefd[2];
	pid_t pid;

	take_options(&cf, argc, argv);
	if (link_pid(name))
		fail("the link is up already");
	cmd_down(name, 1);
	cnt = map_counters(name);
	if (pipe2(pipefd, O_CLOEXEC) < 0)
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(pipefd[0]);
		run_link(name, &cf, cnt, pipefd[1]);
	}
	close(pipefd[1]);
	if (read(pipefd[0], &ok, 1) != 1 || ok != '+') {
		waitpid(pid, NULL, 0);
		cmd_down(name, 1);
		return 1;
	}
	link_addr(a, sizeof(a), name, 'a');
	link_addr(b, sizeof(b), name, 'b');
	printf("%s a=%s b=%s rtt=%.3fms rate=%.0f loss=%g queue=%llu mtu=%u cc=%s pid=%d\n", name, a, b,
		(double)cf.delay_ns * 2 / 1e6, cf.rate, cf.loss, (unsigned long long)cf.queue, cf.mtu, cf.cc, pid);
	return 0;
}

static int cmd_stat(const char *name)
{
	char p[256];
	struct counters c[2];
	int i, fd;

	state_path(p, sizeof(p), name, "stat");
	fd = open(p, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, c, sizeof(c)) != (ssize_t)sizeof(c))
		die(p);
	for (i = 0; i < 2; i++)
		printf("%s pkts=%llu bytes=%llu segs=%llu lost=%llu overflow=%llu peak_queue=%llu\n",
		       i ? "b>a" : "a>b", (unsigned long long)c[i].pkts, (unsigned long long)c[i].bytes,
		       (unsigned long long)c[i].segs, (unsigned long long)c[i].lost,
		       (unsigned long long)c[i].overflow, (unsigned long long)c[i].peak_queue);
	return 0;
}

static int usage(void)
{
	fputs("usage: wan up NAME [--rtt 100ms] [--rate 1gbit] [--loss 0] [--queue BYTES]\n"
	      "              [--cc cubic] [--mtu N] [--seed N]\n"
	      "       wan exec NAME a|b CMD [ARG...]\n"
	      "       wan addr NAME a|b\n"
	      "       wan stat NAME\n"
	      "       wan down NAME\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	char p[256], end;

	if (argc < 3)
		return usage();
	check_name(argv[2]);
	if (!strcmp(argv[1], "up"))
		return cmd_up(argv[2], argc - 3, argv + 3);
	if (!strcmp(argv[1], "down") && argc == 3)
		return cmd_down(argv[2], 0);
	if (!strcmp(argv[1], "stat") && argc == 3)
		return cmd_stat(argv[2]);
	if (argc < 4 || strlen(argv[3]) != 1 || (*argv[3] != 'a' && *argv[3] != 'b'))
		return usage();
	end = *argv[3];
	if (!strcmp(argv[1], "addr")) {
		link_addr(p, sizeof(p), argv[2], end);
		puts(p);
		return 0;
	}
	if (strcmp(argv[1], "exec") || argc < 5)
		return usage();
	ns_path(p, sizeof(p), argv[2], end);
	ns_enter(p);
	execvp(argv[4], argv + 4);
	die(argv[4]);
	return 1;
}

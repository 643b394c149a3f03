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
 * it, segmentation offload is off and every packet crosses alone.  Link time is kept in nanoseconds.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUN_DIR "/run/wan"
#define NS_DIR "/run/netns"
#define MAX_PKT (65536 + 64)
#define RING_BYTES ((size_t)256 << 20)

static const char *prog = "wan";

static void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", prog, what, strerror(errno));
	exit(1);
}

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", prog, what);
	exit(2);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* ------------------------------------------------------------ link state */

struct counters {
	uint64_t pkts, bytes, segs, lost, overflow, sent, peak_queue;
};

struct conf {
	uint64_t delay_ns;	/* one way */
	double rate;		/* bits per second; 0 = no limit */
	double loss;		/* probability per packet */
	uint64_t queue;		/* bytes in front of the rate */
	unsigned mtu;
	uint64_t seed;
	const char *cc;		/* congestion control in both namespaces */
};

struct rec {
	uint64_t due;
	uint32_t len;
	uint32_t pad;
};

/* One direction: packets wait in a byte ring, in order of due time. */
struct dir {
	int in, out;
	unsigned char *ring;
	size_t head, tail, used;
	uint64_t free_at;	/* when the transmitter is idle again */
	struct counters *c;
	uint64_t rng;
};

static double rnd(struct dir *d)
{
	uint64_t x = d->rng;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	d->rng = x;
	return (double)(x >> 11) / 9007199254740992.0;
}

static size_t rec_size(uint32_t len)
{
	return sizeof(struct rec) + (((size_t)len + 15) & ~(size_t)15);
}

/* Room for one record without wrapping; a record with len 0 marks the wrap. */
static struct rec *ring_put(struct dir *d, uint32_t len)
{
	size_t need = rec_size(len);
	struct rec *r;

	if (d->head + need + sizeof(struct rec) > RING_BYTES) {
		size_t skip = RING_BYTES - d->head;

		if (d->used + skip + need > RING_BYTES)
			return NULL;
		r = (struct rec *)(d->ring + d->head);
		r->len = 0;
		d->used += skip;
		d->head = 0;
	}
	if (d->used + need > RING_BYTES)
		return NULL;
	r = (struct rec *)(d->ring + d->head);
	d->head += need;
	d->used += need;
	return r;
}

static struct rec *ring_peek(struct dir *d)
{
	struct rec *r;

	if (!d->used)
		return NULL;
	r = (struct rec *)(d->ring + d->tail);
	if (!r->len) {
		d->used -= RING_BYTES - d->tail;
		d->tail = 0;
		if (!d->used)
			return NULL;
		r = (struct rec *)d->ring;
	}
	return r;
}

static void ring_pop(struct dir *d, struct rec *r)
{
	size_t n = rec_size(r->len);

	d->tail += n;
	d->used -= n;
}

/* Packets on the wire that one TSO segment stands for, and their bytes. */
static unsigned wire(const unsigned char *buf, uint32_t len, unsigned mtu, uint64_t *bytes)
{
	const struct virtio_net_hdr *h = (const void *)buf;
	uint32_t ip = len - (uint32_t)sizeof(*h);
	uint32_t hdr = h->hdr_len;
	unsigned n;

	if (h->gso_type == VIRTIO_NET_HDR_GSO_NONE || !h->gso_size || ip <= mtu) {
		*bytes = ip;
		return 1;
	}
	if (!hdr || hdr >= ip)
		hdr = 52;
	n = (ip - hdr + h->gso_size - 1) / h->gso_size;
	*bytes = (uint64_t)ip + (uint64_t)(n - 1) * hdr;
	return n;
}

static void admit(struct dir *d, const struct conf *cf, const unsigned char *buf, uint32_t len,
		  uint64_t now)
{
	uint64_t bytes, backlog = 0, end;
	unsigned n = wire(buf, len, cf->mtu, &bytes);
	struct rec *r;

	d->c->segs++;
	d->c->pkts += n;
	d->c->bytes += bytes;
	if (cf->loss > 0) {
		unsigned i, hit = 0;

		for (i = 0; i < n; i++)
			hit += rnd(d) < cf->loss;
		/* With loss on, TSO is off (see up), so n is 1 here. */
		if (hit) {
			d->c->lost += hit;
			return;
		}
	}
	if (cf->rate > 0) {
		if (d->free_at > now)
			backlog = (uint64_t)((double)(d->free_at - now) * cf->rate / 8e9);
		if (backlog > d->c->peak_queue)
			d->c->peak_queue = backlog;
		if (backlog + bytes > cf->queue) {
			d->c->overflow += n;
			return;
		}
		end = (d->free_at > now ? d->free_at : now) +
		      (uint64_t)((double)bytes * 8e9 / cf->rate);
		d->free_at = end;
	} else {
		end = now;
	}
	r = ring_put(d, len);
	if (!r) {
		d->c->overflow += n;
		return;
	}
	r->due = end + cf->delay_ns;
	r->len = len;
	memcpy(r + 1, buf, len);
}

static volatile sig_atomic_t stop_now;

static void on_term(int sig)
{
	(void)sig;
	stop_now = 1;
}

static void arm(int tfd, uint64_t at)
{
	struct itimerspec ts = {0};

	ts.it_value.tv_sec = (time_t)(at / 1000000000ull);
	ts.it_value.tv_nsec = (long)(at % 1000000000ull);
	if (at && !ts.it_value.tv_nsec && !ts.it_value.tv_sec)
		ts.it_value.tv_nsec = 1;
	timerfd_settime(tfd, TFD_TIMER_ABSTIME, &ts, NULL);
}

/* Every packet that is due goes out; the wake-up time of the rest comes back. */
static uint64_t release(struct dir *d, uint64_t now)
{
	struct rec *r;

	while ((r = ring_peek(d))) {
		ssize_t w;

		if (r->due > now)
			return r->due;
		w = write(d->out, r + 1, r->len);
		if (w < 0 && errno == EAGAIN)
			return now + 200000;
		if (w >= 0)
			d->c->sent++;
		ring_pop(d, r);
	}
	return 0;
}

static void pump(int fda, int fdb, const struct conf *cf, struct counters *cnt)
{
	static unsigned char buf[MAX_PKT];
	struct dir d[2] = {{.in = fda, .out = fdb, .c = &cnt[0]}, {.in = fdb, .out = fda, .c = &cnt[1]}};
	struct pollfd p[3];
	int i, tfd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	if (tfd < 0)
		die("timerfd");
	for (i = 0; i < 2; i++) {
		d[i].ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (d[i].ring == MAP_FAILED)
			die("mmap");
		d[i].rng = cf->seed * 2654435761ull + (uint64_t)i * 40503ull + 88172645463325252ull;
	}
	p[0] = (struct pollfd){.fd = fda, .events = POLLIN};
	p[1] = (struct pollfd){.fd = fdb, .events = POLLIN};
	p[2] = (struct pollfd){.fd = tfd, .events = POLLIN};
	while (!stop_now) {
		uint64_t next = 0, now;

		if (poll(p, 3, -1) < 0) {
			if (errno == EINTR)
				continue;
			die("poll");
		}
		if (p[2].revents & POLLIN) {
			uint64_t x;

			if (read(tfd, &x, sizeof(x)) < 0 && errno != EAGAIN)
				die("timer");
		}
		if ((p[0].revents | p[1].revents) & (POLLERR | POLLHUP | POLLNVAL))
			break;
		for (i = 0; i < 2; i++) {
			uint64_t t;
			int k;

			/* A bounded batch, so that neither direction starves the other. */
			for (k = 0; k < 64; k++) {
				ssize_t n = read(d[i].in, buf, sizeof(buf));

				if (n <= (ssize_t)sizeof(struct virtio_net_hdr))
					break;
				admit(&d[i], cf, buf, (uint32_t)n, now_ns());
			}
			now = now_ns();
			t = release(&d[i], now);
			if (t && (!next || t < next))
				next = t;
		}
		arm(tfd, next);
	}
}

/* ------------------------------------------------------- namespace set-up */

static int tun_open(const char *dev, int gso)
{
	struct ifreq ifr;
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), hdr = sizeof(struct virtio_net_hdr);
	unsigned off = TUN_F_CSUM | (gso ? TUN_F_TSO4 : 0);

	if (fd < 0)
		die("/dev/net/tun");
	memset(&ifr, 0, sizeof(ifr));
	ifr.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	if (ioctl(fd, TUNSETIFF, &ifr) < 0)
		die("TUNSETIFF");
	if (ioctl(fd, TUNSETVNETHDRSZ, &hdr) < 0)
		die("TUNSETVNETHDRSZ");
	if (ioctl(fd, TUNSETOFFLOAD, (unsigned long)off) < 0)
		die("TUNSETOFFLOAD");
	return fd;
}

static void if_up(const char *dev, const char *addr, const char *peer, unsigned mtu)
{
	struct ifreq ifr;
	struct sockaddr_in *sa = (struct sockaddr_in *)&ifr.ifr_addr;
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0)
		die("socket");
	memset(&ifr, 0, sizeof(ifr));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	if (addr) {
		sa->sin_family = AF_INET;
		inet_pton(AF_INET, addr, &sa->sin_addr);
		if (ioctl(s, SIOCSIFADDR, &ifr) < 0)
			die("address");
		inet_pton(AF_INET, peer, &sa->sin_addr);
		if (ioctl(s, SIOCSIFDSTADDR, &ifr) < 0)
			die("peer address");
		ifr.ifr_mtu = (int)mtu;
		if (ioctl(s, SIOCSIFMTU, &ifr) < 0)
			die("mtu");
		ifr.ifr_qlen = 10000;
		if (ioctl(s, SIOCSIFTXQLEN, &ifr) < 0)
			die("queue length");
	}
	if (ioctl(s, SIOCGIFFLAGS, &ifr) < 0)
		die("flags");
	ifr.ifr_flags |= IFF_UP | IFF_RUNNING;
	if (ioctl(s, SIOCSIFFLAGS, &ifr) < 0)
		die("up");
	close(s);
}

static void ns_path(char *out, size_t n, const char *name, char end)
{
	snprintf(out, n, NS_DIR "/wan-%s-%c", name, end);
}

static void link_addr(char *out, size_t n, const char *name, char end)
{
	unsigned h = 2166136261u;
	const char *s;

	for (s = name; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	snprintf(out, n, "198.18.%u.%d", (h >> 8 ^ h) & 255u, end == 'a' ? 1 : 2);
}

/* A fresh namespace, bound to a name that "ip netns" shows too. */
static void ns_make(const char *path)
{
	int fd;

	mkdir(NS_DIR, 0755);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0)
		die(path);
	close(fd);
	if (unshare(CLONE_NEWNET) < 0)
		die("unshare");
	if (mount("/proc/self/ns/net", path, "none", MS_BIND, NULL) < 0)
		die("bind namespace");
}

static void ns_enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die(path);
	if (setns(fd, CLONE_NEWNET) < 0)
		die("setns");
	close(fd);
}

static int sysctl_set(const char *key, const char *val)
{
	char p[256];
	int fd, r = -1;

	snprintf(p, sizeof(p), "/proc/sys/%s", key);
	fd = open(p, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (write(fd, val, strlen(val)) == (ssize_t)strlen(val))
		r = 0;
	close(fd);
	return r;
}

/*
 * A namespace may use only what the host's list of allowed algorithms names, so
 * the wanted one is added to that list (it stays there: other links may need it).
 */
static void allow_cc(const char *cc)
{
	const char *p = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
	char have[512], *s;
	FILE *f = fopen(p, "r");

	if (!f)
		return;
	if (!fgets(have, sizeof(have) - 64, f))
		have[0] = 0;
	fclose(f);
	have[strcspn(have, "\n")] = 0;
	for (s = have; (s = strstr(s, cc)); s++)
		if ((s == have || s[-1] == ' ') && (!s[strlen(cc)] || s[strlen(cc)] == ' '))
			return;
	snprintf(have + strlen(have), 64, " %.60s", cc);
	sysctl_set("net/ipv4/tcp_allowed_congestion_control", have);
}

static void ns_setup(char end, const char *name, const struct conf *cf, int *tun)
{
	char path[256], me[32], peer[32];

	ns_path(path, sizeof(path), name, end);
	link_addr(me, sizeof(me), name, end);
	link_addr(peer, sizeof(peer), name, end == 'a' ? 'b' : 'a');
	ns_make(path);
	if_up("lo", NULL, NULL, 0);
	*tun = tun_open("wan0", cf->loss <= 0);
	if_up("wan0", me, peer, cf->mtu);
	/* Room for a window of rate x RTT; the limits are per namespace. */
	sysctl_set("net/ipv4/tcp_rmem", "4096 131072 134217728");
	sysctl_set("net/ipv4/tcp_wmem", "4096 65536 134217728");
	sysctl_set("net/ipv4/tcp_no_metrics_save", "1");
	/* A measurement under another algorithm than the one asked for is worth nothing. */
	if (sysctl_set("net/ipv4/tcp_congestion_control", cf->cc) < 0) {
		fprintf(stderr, "%s: congestion control %s: %s\n", prog, cf->cc, strerror(errno));
		exit(1);
	}
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
		fprintf(stderr, "%s: no link %s\n", prog, name);
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

static int cmd_up(const char *name, int argc, char **argv)
{
	struct conf cf = {.delay_ns = 50000000, .rate = 1e9, .mtu = 1500, .seed = 1, .cc = "cubic"};
	struct counters *cnt;
	char p[256], comm[16], a[32], b[32];
	int i, fd, pipefd[2], tun[2];
	double q = -1;
	pid_t pid;
	char ok = 0;

	for (i = 0; i < argc; i += 2) {
		char *e;

		if (i + 1 >= argc)
			fail("an option needs a value");
		if (!strcmp(argv[i], "--rtt"))
			cf.delay_ns = (uint64_t)(parse_time_ns(argv[i + 1]) / 2);
		else if (!strcmp(argv[i], "--rate"))
			cf.rate = parse_rate(argv[i + 1]);
		else if (!strcmp(argv[i], "--loss"))
			cf.loss = parse_loss(argv[i + 1]);
		else if (!strcmp(argv[i], "--queue"))
			q = number(argv[i + 1], &e);
		else if (!strcmp(argv[i], "--mtu"))
			cf.mtu = (unsigned)number(argv[i + 1], &e);
		else if (!strcmp(argv[i], "--seed"))
			cf.seed = (uint64_t)number(argv[i + 1], &e);
		else if (!strcmp(argv[i], "--cc"))
			cf.cc = argv[i + 1];
		else
			fail("unknown option");
	}
	if (cf.mtu < 576 || cf.mtu > 9000)
		fail("mtu: 576 to 9000");
	/* Default queue: one rate x RTT, at least 256 KB. */
	if (q < 0)
		q = cf.rate * (double)cf.delay_ns * 2 / 8e9;
	cf.queue = q < 262144 ? 262144 : (uint64_t)q;
	if (link_pid(name))
		fail("the link is up already");
	cmd_down(name, 1);
	mkdir(RUN_DIR, 0755);
	state_path(p, sizeof(p), name, "stat");
	fd = open(p, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, 2 * sizeof(*cnt)) < 0)
		die(p);
	cnt = mmap(NULL, 2 * sizeof(*cnt), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (cnt == MAP_FAILED)
		die("mmap");
	close(fd);
	if (pipe2(pipefd, O_CLOEXEC) < 0)
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		struct sigaction sa = {.sa_handler = on_term};
		int null;

		close(pipefd[0]);
		setsid();
		sigaction(SIGTERM, &sa, NULL);
		signal(SIGINT, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		allow_cc(cf.cc);
		ns_setup('a', name, &cf, &tun[0]);
		ns_setup('b', name, &cf, &tun[1]);
		snprintf(comm, sizeof(comm), "wan:%.11s", name);
		prctl(PR_SET_NAME, comm);
		prctl(PR_SET_TIMERSLACK, 1000UL);
		/* Late wake-ups would show as delay: real-time if allowed, else a low nice value. */
		if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &(struct sched_param){.sched_priority = 1}) < 0)
			setpriority(PRIO_PROCESS, 0, -15);
		state_path(p, sizeof(p), name, "pid");
		fd = open(p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0 || dprintf(fd, "%d\n", getpid()) < 0)
			die(p);
		close(fd);
		if (write(pipefd[1], "+", 1) != 1)
			_exit(1);
		close(pipefd[1]);
		if (chdir("/") < 0)
			_exit(1);
		null = open("/dev/null", O_RDWR);
		if (null >= 0) {
			dup2(null, 0);
			dup2(null, 1);
			dup2(null, 2);
			if (null > 2)
				close(null);
		}
		pump(tun[0], tun[1], &cf, cnt);
		_exit(0);
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

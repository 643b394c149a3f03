/* SPDX-License-Identifier: Apache-2.0 */
/* A worker that is not confined and behaves as each sample's bytes say: badly, in every way that an owner must survive. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/scope.h"
#include "wire/workmsg.h"
#include "worker/channel.h"

static uint8_t *out;
static size_t in_bytes;

static void say_bytes(const void *p, size_t n)
{
	if (send(CHANNEL_FD, p, n, MSG_NOSIGNAL) < 0)
		_exit(0);
}

static void say(const struct workmsg *m)
{
	uint8_t bytes[WORKMSG_BYTES];

	workmsg_encode(m, bytes);
	say_bytes(bytes, sizeof(bytes));
}

/* One pixel, whose value tells what a call gave. */
static struct workmsg done_of(const struct workmsg *m, int value)
{
	struct workmsg done = {.type = WORKMSG_DONE, .seq = m->seq, .h = 1, .w = 1, .c = 1};

	out[m->out_offset] = (uint8_t)value;
	done.checksum = xxh3_of(&out[m->out_offset], 1);
	return done;
}

static void say_done(const struct workmsg *m, int value)
{
	struct workmsg done = done_of(m, value);

	say(&done);
}

static void ok(const struct workmsg *m)
{
	say_done(m, 'k');
}

static void die(const struct workmsg *m)
{
	_exit(7);
}

static void abort_it(const struct workmsg *m)
{
	signal(SIGABRT, SIG_DFL);
	raise(SIGABRT);
}

static void hang(const struct workmsg *m)
{
	for (;;)
		pause();
}

static void stop(const struct workmsg *m)
{
	raise(SIGSTOP);
	ok(m);
}

static void seq(const struct workmsg *m)
{
	struct workmsg done = done_of(m, 'k');

	done.seq++;
	say(&done);
}

static void size(const struct workmsg *m)
{
	struct workmsg done = done_of(m, 'k');

	done.h = done.w = 65535;
	done.c = 4;
	say(&done);
}

static void zero(const struct workmsg *m)
{
	struct workmsg done = done_of(m, 'k');

	done.h = 0;
	say(&done);
}

static void say_status(const struct workmsg *m, int status)
{
	struct workmsg done = done_of(m, 'k');

	done.status = status;
	memcpy(done.words, "\x1b[2Jwords", 10);
	say(&done);
}

static void status(const struct workmsg *m)
{
	say_status(m, E_WORKER_DIED);
}

static void positive(const struct workmsg *m)
{
	say_status(m, 5);
}

static void memory(const struct workmsg *m)
{
	say_status(m, -ENOMEM);
}

static void bad(const struct workmsg *m)
{
	say_status(m, E_BAD_SAMPLE);
}

static void short_message(const struct workmsg *m)
{
	say_bytes("short", 5);
}

static void long_message(const struct workmsg *m)
{
	static const uint8_t bytes[10 * WORKMSG_BYTES];

	say_bytes(bytes, sizeof(bytes));
}

static void decode(const struct workmsg *m)
{
	say(m);
}

static void twice(const struct workmsg *m)
{
	ok(m);
	ok(m);
}

static void flood(const struct workmsg *m)
{
	for (;;)
		ok(m);
}

static void ready(const struct workmsg *m)
{
	const struct workmsg again = {.type = WORKMSG_READY, .version = WORKMSG_VERSION};

	say(&again);
}

static void leave(const struct workmsg *m)
{
	close(CHANNEL_FD);
	hang(m);
}

/* A good answer with as many descriptors beside it as fit. */
static void fds(const struct workmsg *m)
{
	struct workmsg done = done_of(m, 'k');
	uint8_t bytes[WORKMSG_BYTES];
	struct iovec iov = {bytes, sizeof(bytes)};
	char control[CMSG_SPACE(8 * sizeof(int))] __attribute__((aligned(sizeof(size_t)))) = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(8 * sizeof(int));
	for (int i = 0; i < 8; i++)
		((int *)CMSG_DATA(c))[i] = CHANNEL_IN_FD;
	workmsg_encode(&done, bytes);
	if (sendmsg(CHANNEL_FD, &msg, MSG_NOSIGNAL) < 0)
		_exit(1);
}

/* What seals must refuse, with no confinement at all; the pixel is errno. */

static void shrink(const struct workmsg *m)
{
	say_done(m, ftruncate(CHANNEL_OUT_FD, 0) < 0 ? errno : 0);
}

static void grow(const struct workmsg *m)
{
	say_done(m, ftruncate(CHANNEL_OUT_FD, 1ll << 40) < 0 ? errno : 0);
}

static void shrink_in(const struct workmsg *m)
{
	say_done(m, ftruncate(CHANNEL_IN_FD, 0) < 0 ? errno : 0);
}

static void write_in(const struct workmsg *m)
{
	say_done(m, pwrite(CHANNEL_IN_FD, "x", 1, 0) < 0 ? errno : 0);
}

static void map_in(const struct workmsg *m)
{
	void *p = mmap(NULL, in_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, CHANNEL_IN_FD, 0);

	say_done(m, p == MAP_FAILED ? errno : 0);
}

static void protect_in(const struct workmsg *m)
{
	void *p = mmap(NULL, in_bytes, PROT_READ, MAP_SHARED, CHANNEL_IN_FD, 0);

	say_done(m, mprotect(p, in_bytes, PROT_READ | PROT_WRITE) < 0 ? errno : 0);
}

static void punch_in(const struct workmsg *m)
{
	say_done(m, fallocate(CHANNEL_IN_FD, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) < 0 ? errno : 0);
}

static void write_recipe(const struct workmsg *m)
{
	say_done(m, pwrite(CHANNEL_RECIPE_FD, "x", 1, 0) < 0 ? errno : 0);
}

/* Descriptors beyond those that it should have. */
static void inherited(const struct workmsg *m)
{
	int n = 0;

	for (int fd = CHANNEL_N_FDS; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	say_done(m, n);
}

static const struct deed {
	const char *name;
	void (*fn)(const struct workmsg *m);
} deeds[] = {
	{"ok", ok}, {"die", die}, {"abort", abort_it}, {"hang", hang}, {"stop", stop}, {"seq", seq}, {"size", size},
	{"zero", zero}, {"status", status}, {"positive", positive}, {"memory", memory}, {"bad", bad},
	{"short", short_message}, {"long", long_message}, {"decode", decode}, {"twice", twice}, {"flood", flood},
	{"ready", ready}, {"leave", leave}, {"fds", fds}, {"shrink", shrink}, {"grow", grow}, {"shrink_in", shrink_in},
	{"write_in", write_in}, {"map_in", map_in}, {"protect_in", protect_in}, {"punch_in", punch_in},
	{"write_recipe", write_recipe}, {"inherited", inherited},
};

static void act(const struct workmsg *m, const uint8_t *in)
{
	for (size_t i = 0; i < N_ELEMS(deeds); i++) {
		if (strlen(deeds[i].name) == m->in_length && memcmp(deeds[i].name, in + m->in_offset, m->in_length) == 0)
			deeds[i].fn(m);
	}
}

static void *map(int fd, int prot, size_t *ret_n)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		_exit(1);
	p = mmap(NULL, (size_t)st.st_size, prot, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		_exit(1);
	*ret_n = (size_t)st.st_size;
	return p;
}

int main(void)
{
	const struct workmsg first = {.type = WORKMSG_READY, .version = WORKMSG_VERSION};
	const uint8_t *in = map(CHANNEL_IN_FD, PROT_READ, &in_bytes);
	uint8_t bytes[WORKMSG_BYTES];
	struct workmsg m;
	size_t n;

	out = map(CHANNEL_OUT_FD, PROT_READ | PROT_WRITE, &n);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	say(&first);
	while (recv(CHANNEL_FD, bytes, sizeof(bytes), 0) == sizeof(bytes)) {
		if (workmsg_decode(bytes, sizeof(bytes), &m) == 0)
			act(&m, in);
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * olddog-worker: decodes what its owner shows it, one sample after the other, confined. Nobody starts it by hand; see
 * worker/channel.h for what it is started with.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cpu.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "media/media.h"
#include "net/capacity.h"
#include "worker/channel.h"
#include "worker/confine.h"
#include "worker/serve.h"

#if OLDDOG_SANITIZED
/* Looking for leaks at the end needs clone and ptrace, which are not to be had here. */
const char *__asan_default_options(void);
__attribute__((visibility("default"), used)) const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

struct mapping {
	void *p;
	size_t n;
};

/* The descriptor is closed: what is mapped is all that is left of it. */
static int map(int fd, int prot, struct mapping *ret)
{
	AUTO_CLOSE int owned = fd;
	struct stat st;
	void *p;

	if (fstat(owned, &st) < 0)
		return -errno;
	p = mmap(NULL, (size_t)st.st_size, prot, MAP_SHARED, owned, 0);
	if (p == MAP_FAILED)
		return -errno;
	*ret = (struct mapping){p, (size_t)st.st_size};
	return 0;
}

struct setup {
	struct mapping recipe, in, out;
	struct recipe decoded;
};

/* While it can still speak. */
static int check_loops(void)
{
	int r = media_check_loops();

	if (r == 0)
		log_error("the %s loops give other pixels on this processor than the plain ones, which are used instead; please "
			"report it, with the processor's name", cpu_set_name(cpu_set()));
	return MIN(r, 0);
}

static int set_up(int argc, char **argv, struct setup *s)
{
	struct confine_conf c = {.layers = CONFINE_ALL, .channel_fd = CHANNEL_FD};
	uint8_t digest[SHA256_BYTES];
	struct err e = {0};
	unsigned layers;
	uint64_t limit;
	int r;

	if (argc != 2 || str_to_u64(str_of(argv[1]), &limit) < 0) {
		log_error("is started by olddog, with descriptors that it opens; there is nothing to do by hand");
		return -EINVAL;
	}
	c.memory_limit_bytes = limit;
	/* Another worker decodes what this one had, or it is told in words. */
	memory_end_first(900);
	/* The owner's end also closes the channel; this one helps while a decoder is busy. */
	r = prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || chdir("/") < 0 ? -errno : 0;
	if (r < 0)
		err_set(&e, r, "a system call that confinement needs (prctl) is refused here: %s", err_text(r));
	if (r == 0)
		r = map(CHANNEL_RECIPE_FD, PROT_READ, &s->recipe);
	if (r == 0)
		r = map(CHANNEL_IN_FD, PROT_READ, &s->in);
	if (r == 0)
		r = map(CHANNEL_OUT_FD, PROT_READ | PROT_WRITE, &s->out);
	r = r == 0 ? check_loops() : r;
	/* libcrypto reads its configuration at the first digest, which is made for the fingerprint, confined. */
	sha256_of("", 0, digest);
	if (r == 0)
		r = confine(&c, &layers, &e);
	if (r < 0)
		log_error("%s", err_words(&e, r));
	return r;
}

static int answer_all(const struct setup *s)
{
	const struct worker_memory memory = {.in = s->in.p, .in_bytes = s->in.n, .out = s->out.p, .out_bytes = s->out.n};
	uint8_t bytes[WORKMSG_BYTES + 1], reply[WORKMSG_BYTES];

	for (;;) {
		ssize_t n = recv(CHANNEL_FD, bytes, sizeof(bytes), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return CHANNEL_EXIT_OK;
		if (worker_serve_answer(&s->decoded, &memory, bytes, (size_t)n, reply) < 0)
			return CHANNEL_EXIT_PROTOCOL;
		if (send(CHANNEL_FD, reply, sizeof(reply), MSG_NOSIGNAL) != sizeof(reply))
			return CHANNEL_EXIT_OK;
	}
}

int main(int argc, char **argv)
{
	static struct setup s;
	uint8_t reply[WORKMSG_BYTES];

	log_name("olddog-worker");
	if (set_up(argc, argv, &s) < 0)
		return CHANNEL_EXIT_SETUP;
	if (recipe_decode(s.recipe.p, s.recipe.n, &s.decoded, NULL) < 0)
		return CHANNEL_EXIT_RECIPE;
	if (worker_serve_ready(reply) < 0)
		return CHANNEL_EXIT_MEDIA;
	if (send(CHANNEL_FD, reply, sizeof(reply), MSG_NOSIGNAL) != sizeof(reply))
		return CHANNEL_EXIT_OK;
	return answer_all(&s);
}

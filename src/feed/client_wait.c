/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for olddog-loader. Who waits for long is told, once, when that is because somebody stopped it: it cannot say so. */
#include "feed/client.h"

#include <sys/socket.h>

#include "base/clock.h"
#include "base/scope.h"
#include "net/process.h"

#define LOOK_NS (5 * NS_PER_S)

void client_see_peer(struct olddog_loader *l)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	/* A pair of our own says that we are at both ends. */
	if (getsockopt(l->link.fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.pid != getpid())
		l->loader_pid = peer.pid;
}

/* Where processes have other numbers for us (another namespace), that number is somebody else's, or nobody's. */
static bool loader_is_stopped(pid_t pid)
{
	char state = process_state(pid, "olddog-loader");

	return state == 'T' || state == 't';
}

static void look(struct olddog_loader *l)
{
	char words[256];

	l->look_ns = clock_monotonic_ns() + LOOK_NS;
	if (l->told_stopped || !loader_is_stopped(l->loader_pid))
		return;
	l->told_stopped = true;
	snprintf(words, sizeof(words), "olddog-loader (process %d) is stopped, and this waits for it: `kill -CONT %d` lets it go "
		"on; after `kill -KILL %d` another one is started, and nothing is lost", (int)l->loader_pid, (int)l->loader_pid,
		(int)l->loader_pid);
	client_warn(l, words);
}

int client_recv(struct olddog_loader *l, uint64_t deadline_ns, struct rankmsg *ret, int *ret_fd)
{
	int r;

	if (!l->look_ns)
		l->look_ns = clock_monotonic_ns() + LOOK_NS;
	while ((r = link_recv(&l->link, MIN(deadline_ns, l->look_ns), ret, ret_fd)) == -EAGAIN) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= l->look_ns)
			look(l);
		if (now_ns >= deadline_ns)
			return r;
	}
	if (r == 0) {
		l->look_ns = 0;
		l->told_stopped = false;
	}
	return r;
}

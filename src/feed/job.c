/* SPDX-License-Identifier: Apache-2.0 */
/* A job's name and address on a host. */
#include "feed/job.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

char *job_name(const char *given)
{
	const char *slurm = env("SLURM_JOB_ID"), *addr = env("MASTER_ADDR"), *port = env("MASTER_PORT");

	if (given || env("OLDDOG_JOB"))
		return mem_strdup(given ? given : env("OLDDOG_JOB"));
	if (slurm)
		return mem_printf("slurm:%s", slurm);
	return addr && port ? mem_printf("%s:%s", addr, port) : mem_strdup("");
}

socklen_t job_address(const char *job, struct sockaddr_un *ret)
{
	uint8_t sha[SHA256_BYTES];
	char hex[33];

	sha256_of(job, strlen(job), sha);
	hex_of(sha, 16, hex);
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	/* The first byte stays NUL: abstract. */
	snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "olddog-%u-%s", (unsigned)getuid(), hex);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(ret->sun_path + 1));
}

int job_peer_check(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return -errno;
	return peer.uid == getuid() ? 0 : -EACCES;
}

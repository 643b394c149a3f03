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
#include "base/scope.h"

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

/* Names in the environment by which a store is another one, or is read with other rights. */
static const char *const identity[] = {"HADOOP_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME"};

/* The job, and of the environment what is set. */
static int job_digest(const char *job, uint8_t ret[SHA256_BYTES])
{
	AUTO(sha256) struct sha256 *h = sha256_new();

	if (!h)
		return -ENOMEM;
	sha256_add(h, job, strlen(job));
	for (size_t i = 0; i < N_ELEMS(identity); i++) {
		const char *value = env(identity[i]);

		if (!value)
			continue;
		sha256_add_str(h, identity[i], strlen(identity[i]));
		sha256_add_str(h, value, strlen(value));
	}
	sha256_finish(h, ret);
	return 0;
}

int job_address(const char *job, struct sockaddr_un *ret, socklen_t *ret_n)
{
	uint8_t sha[SHA256_BYTES];
	char hex[33];
	int r = job_digest(job, sha);

	if (r < 0)
		return r;
	hex_of(sha, 16, hex);
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	/* The first byte stays NUL: abstract. */
	snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "olddog-%u-%s", (unsigned)getuid(), hex);
	*ret_n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(ret->sun_path + 1));
	return 0;
}

int job_peer_check(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return -errno;
	return peer.uid == getuid() ? 0 : -EACCES;
}

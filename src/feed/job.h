/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's name, and the address at which its loader listens on a host: an abstract socket named by user and job
 * (CONTRACTS C4). A name in the network namespace, not a file: nothing is left behind, whoever is killed.
 */
#ifndef OLDDOG_FEED_JOB_H
#define OLDDOG_FEED_JOB_H

#include <sys/socket.h>
#include <sys/un.h>

/* given, or OLDDOG_JOB, SLURM_JOB_ID, MASTER_ADDR:MASTER_PORT (mem_free); "" when there is none. NULL: no memory. */
char *job_name(const char *given);
/*
 * Ranks whose environment names another Hadoop configuration or user (HADOOP_CONF_DIR, HADOOP_HOME, HADOOP_USER_NAME) meet
 * at another address: a loader reads with the rights of the rank that started it. -ENOMEM.
 */
int job_address(const char *job, struct sockaddr_un *ret, socklen_t *ret_n);
/* Whether the other end of a connected socket is a process of our own user: anybody may bind any abstract name. */
int job_peer_check(int fd);

#endif

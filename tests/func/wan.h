/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of wan (wan.c) share. All end the process when something is wrong: it is a tool of tests. */
#ifndef OLDDOG_TESTS_FUNC_WAN_H
#define OLDDOG_TESTS_FUNC_WAN_H

#include <stddef.h>
#include <stdint.h>

/* Of one direction. */
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

/* Says errno's words, and exits with 1. */
void die(const char *what);
/* Says that, and exits with 2. */
void fail(const char *what);

/* Moves packets between two TUN devices until SIGTERM; cnt: of both directions, a to b first. */
void pump(int fda, int fdb, const struct conf *cf, struct counters *cnt);
void on_term(int sig);

/* The namespace of an end: its name in the file system, its address; into it, or all of it anew with its TUN device. */
void ns_path(char *out, size_t n, const char *name, char end);
void link_addr(char *out, size_t n, const char *name, char end);
void ns_enter(const char *path);
void ns_setup(char end, const char *name, const struct conf *cf, int *tun);
/* The host lets namespaces use only what it allows itself. */
void allow_cc(const char *cc);

#endif

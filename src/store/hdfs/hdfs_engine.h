/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One engine for each (authority, user, configuration) in a process, shared by its stores: a loop, and what is on it. The
 * loop has a thread that the first request starts; of a test's engine it is the loop of who asks.
 */
#ifndef OLDDOG_STORE_HDFS_HDFS_ENGINE_H
#define OLDDOG_STORE_HDFS_HDFS_ENGINE_H

#include "base/list.h"
#include "net/dial.h"
#include "net/thread.h"
#include "store/hdfs/names/names.h"
#include "store/hdfs/put.h"
#include "store/hdfs/read/read.h"

struct hdfs_req;

struct hdfs_engine {
	struct hdfs_conf conf;
	struct hdfs_counters counters;
	_Atomic(struct loop *) loop;	/* NULL until it has started */
	/* On the loop only, from the first request on. */
	struct dialer *dialer;		/* given, or own_dialer */
	struct dialer *own_dialer;
	struct nn *nn;
	struct dn_pool *dns;
	struct names *names;
	struct reads *reads;
	struct writes *writes;
	struct hdfs_req *ended;		/* requests that go home together at the end of this turn: hdfs_req.c */
	struct task go_home;
	/* Of all engines together, under one lock. */
	struct list list;
	char *key;			/* NULL: a test's, not shared */
	unsigned refs;
	struct loop_thread *thread;
};

/* The engine of this key, which may be there already; takes conf, also when it fails. */
int hdfs_engine_get(const char *key, struct hdfs_conf *conf, struct hdfs_engine **ret);
/* A test's, on this loop. Takes conf, also when it fails. */
int hdfs_engine_new(struct loop *loop, struct hdfs_conf *conf, struct dialer *dialer, struct hdfs_engine **ret);
/* The last one ends it: nothing may be under way. */
void hdfs_engine_put(struct hdfs_engine *e);
/* Of all that are shared, those that have ended too. From any thread. */
void hdfs_engines_count(struct hdfs_counters *ret);
/* From any thread, before something is posted: there is a loop. */
int hdfs_engine_start(struct hdfs_engine *e, struct loop **ret);
/* On the loop, before something is begun: what is on it is there. */
int hdfs_engine_ready(struct hdfs_engine *e);

#endif

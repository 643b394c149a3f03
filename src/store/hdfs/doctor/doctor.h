/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out what doctor_policy.h speaks of: every question on a connection of its own, those that need no other's answer at
 * the same time, each with the same limit of time. Nothing is changed.
 */
#ifndef OLDDOG_STORE_HDFS_DOCTOR_DOCTOR_H
#define OLDDOG_STORE_HDFS_DOCTOR_DOCTOR_H

#include "net/dial.h"
#include "store/hdfs/doctor/doctor_policy.h"

/*
 * Everything behind the configuration, on this loop, which it runs. dialer: NULL for TCP. path is absolute. 0, or what it
 * takes to ask is missing (-ENOMEM, ..).
 */
int hdfs_doctor_run(struct loop *loop, struct dialer *dialer, const struct doctor_site *site, const struct hdfs_conf *conf,
	const char *path, struct doctor *d);

/* The questions, for doctor.c. */

struct doctor_run {
	struct loop *loop;
	struct dialer *dialer;
	struct arena arena;
	const struct hdfs_conf *conf;
	unsigned n_pending;
	bool idle;
	struct doctor_facts facts;
};

/* A call, whose answer is a message of this descriptor (NULL: nothing is read of it). to: until doctor_wait() is back. */
void doctor_ask(struct doctor_run *run, const struct hdfs_address *at, const char *protocol, const char *method,
	const ProtobufCMessage *request, const ProtobufCMessageDescriptor *descriptor, struct doctor_answer *to);
/* Whether somebody takes a connection there. */
void doctor_connect(struct doctor_run *run, const char *host, uint16_t port, struct doctor_answer *to);
/* Until all that was asked is answered or late. */
void doctor_wait(struct doctor_run *run);

#endif

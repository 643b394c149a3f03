/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is found out about a store for those who run it: lines of a grade, a topic and words, in the order found. Nothing is
 * changed by finding out, every question has a limit of time, and what is broken is a line like any other.
 */
#ifndef OLDDOG_STORE_DOCTOR_H
#define OLDDOG_STORE_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define DOCTOR_MAX_LINES 4096u
#define DOCTOR_TIMEOUT_NS (5 * 1000000000ull)

enum doctor_grade {
	DOCTOR_OK,
	DOCTOR_NOTE,	/* nothing is wrong, but something cannot be had here */
	DOCTOR_WARN,	/* it works so far */
	DOCTOR_FAIL,
};

struct doctor_line {
	enum doctor_grade grade;
	const char *topic;	/* static, one or two words */
	char *words;		/* printable; what was asked, what was found, what to do */
};

struct doctor {
	VEC(struct doctor_line) lines;
	uint64_t timeout_ns;	/* of each question; 0: DOCTOR_TIMEOUT_NS */
	int r;			/* 0 or -ENOMEM: then lines are missing */
};

void doctor_init(struct doctor *d);
void doctor_release(struct doctor *d);
#define AUTO_DOCTOR __attribute__((cleanup(doctor_release)))
/* Strangers' names in the words are made printable. */
void doctor_say(struct doctor *d, enum doctor_grade grade, const char *topic, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The worst of all lines. */
enum doctor_grade doctor_worst(const struct doctor *d);
const char *doctor_grade_name(enum doctor_grade grade);

/* All that can be found out about what a URL names. 0 or -ENOMEM; failures are lines. */
int store_doctor(const char *url, struct doctor *d);
/* What any engine's operations tell: whether it opens, what lies there, whether it can be read, how much room there is. */
void doctor_any(const char *url, struct doctor *d);

/* A time for people: "1.2 ms". */
#define DOCTOR_NUMBER_MAX 32
const char *doctor_time(uint64_t ns, char out[DOCTOR_NUMBER_MAX]);

#endif

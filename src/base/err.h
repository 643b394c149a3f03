/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors. A function that can fail returns int: 0 or more is success, below 0 a negative errno or one of the
 * codes here. Control paths (open, parse, connect) take a last `struct err *`, which may be NULL, for words that
 * say what was asked, what was found and what to do.
 */
#ifndef OLDDOG_BASE_ERR_H
#define OLDDOG_BASE_ERR_H

#include <errno.h>

/* name, number, text. Append only: the numbers travel between processes. */
#define OLDDOG_ERRORS(X)                                                                                     \
	X(E_BAD_SAMPLE, -1001, "the sample's bytes are not what its format says")                            \
	X(E_REFUSED_SAMPLE, -1002, "the sample is of a kind that is refused on purpose")                     \
	X(E_LIMIT, -1003, "a deterministic limit (pixels, bytes, frames) was passed")                        \
	X(E_PROTOCOL, -1004, "the other side broke the protocol")                                            \
	X(E_WORKER_DIED, -1005, "the worker process ended while it had work")                                \
	X(E_WORKER_TIMEOUT, -1006, "the worker process passed its time limit")                               \
	X(E_SPEC, -1007, "the spec cannot be used")                                                          \
	X(E_FORMAT, -1008, "the file is not of the format that was expected")                                \
	X(E_CHANGED, -1009, "the data changed since the plan was made")                                      \
	X(E_OTHER_ORDER, -1010, "the state belongs to another order")                                        \
	X(E_END, -1011, "there are no more positions")

enum {
#define X(name, number, text) name = number,
	OLDDOG_ERRORS(X)
#undef X
};

struct err {
	int code;		/* 0: nothing was set */
	char words[512];	/* one sentence or more, no newline at the end */
};

/* Sets both (when e is not NULL) and returns code, so that one line says and returns. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Puts words before those that are there: err_prefix(e, "%s: ", path). Returns e's code. */
int err_prefix(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The text of a code of ours or of a negative errno. Static storage. */
const char *err_text(int code);
/* e's words when it has some, else the text of code. */
const char *err_words(const struct err *e, int code);

#endif

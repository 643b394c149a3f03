/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_ERRNO 4096

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->words, sizeof(e->words), fmt, ap);
	va_end(ap);
	return code;
}

int err_prefix(struct err *e, int code, const char *fmt, ...)
{
	char old[sizeof(e->words)];
	va_list ap;
	size_t n;

	if (!e)
		return code;
	snprintf(old, sizeof(old), "%s", err_words(e, code));
	va_start(ap, fmt);
	vsnprintf(e->words, sizeof(e->words), fmt, ap);
	va_end(ap);
	n = strlen(e->words);
	snprintf(e->words + n, sizeof(e->words) - n, "%s", old);
	e->code = code;
	return code;
}

const char *err_text(int code)
{
	const char *text;

	switch (code) {
	case 0:
		return "no error";
#define X(name, number, words)                                                                               \
	case number:                                                                                         \
		return words;
		OLDDOG_ERRORS(X)
#undef X
	}
	/* Codes travel between processes: any number may come, and one of them has no negative. */
	text = code < 0 && code > -MAX_ERRNO ? strerrordesc_np(-code) : NULL;
	return text ? text : "unknown error";
}

const char *err_words(const struct err *e, int code)
{
	return e && e->code && e->words[0] ? e->words : err_text(code);
}

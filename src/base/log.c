/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/str.h"

static const char *name = "olddog";

void log_name(const char *program)
{
	name = program;
}

/*
 * One write, so that the lines of several processes do not mix. Words hold names and values of strangers; here is the last
 * place where a control sequence can be kept from a terminal, and a second line from a log.
 */
static void log_line(const char *level, const char *fmt, va_list ap)
{
	char line[1024], printable[sizeof(line)];

	vsnprintf(line, sizeof(line), fmt, ap);
	fprintf(stderr, "%s: %s%s\n", name, level, str_printable(str_of(line), printable, sizeof(printable)));
}

#define LOG_FUNCTION(f, level)                                                                               \
	void f(const char *fmt, ...)                                                                         \
	{                                                                                                    \
		va_list ap;                                                                                  \
                                                                                                             \
		va_start(ap, fmt);                                                                           \
		log_line(level, fmt, ap);                                                                    \
		va_end(ap);                                                                                  \
	}

LOG_FUNCTION(log_error, "")
LOG_FUNCTION(log_warn, "warning: ")
LOG_FUNCTION(log_info, "")

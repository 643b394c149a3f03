/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static const char *name = "olddog";

void log_name(const char *program)
{
	name = program;
}

/* One write, so that the lines of several processes do not mix. */
static void log_line(const char *level, const char *fmt, va_list ap)
{
	char line[1024];

	vsnprintf(line, sizeof(line), fmt, ap);
	fprintf(stderr, "%s: %s%s\n", name, level, line);
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

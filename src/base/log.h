/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line per event on stderr, of printable characters. Only programs log (src/cli, the mains of loader and worker);
 * libraries return errors.
 */
#ifndef OLDDOG_BASE_LOG_H
#define OLDDOG_BASE_LOG_H

/* The name before each line; a static string. */
void log_name(const char *program);
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif

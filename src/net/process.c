/* SPDX-License-Identifier: Apache-2.0 */
#include "net/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"

/* "PID (NAME) S ..", where NAME may hold anything, also ") ". */
char process_state(pid_t pid, const char *name)
{
	char path[40], text[128];
	const char *begin, *end;
	AUTO_CLOSE int fd = -1;
	ssize_t n;

	if (pid <= 0)
		return '?';
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	begin = n < 0 ? NULL : memchr(text, '(', (size_t)n);
	end = n < 0 ? NULL : memrchr(text, ')', (size_t)n);
	if (!begin || !end || end < begin || end + 2 >= text + n)
		return '?';
	begin++;
	if (name && ((size_t)(end - begin) != strlen(name) || memcmp(begin, name, strlen(name)) != 0))
		return '?';
	return end[2];
}

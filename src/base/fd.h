/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of files: all bytes or an error, however many calls that takes, and whatever signals come between. */
#ifndef OLDDOG_BASE_FD_H
#define OLDDOG_BASE_FD_H

#include <stddef.h>
#include <stdint.h>

/* 0 or -errno; then how many bytes went is not told. */
int fd_write_all(int fd, const void *p, size_t n);
int fd_pwrite_all(int fd, const void *p, size_t n, uint64_t offset);
/* -ENODATA when the file ends before. */
int fd_pread_all(int fd, void *to, size_t n, uint64_t offset);
/* Makes path anew with these bytes. On failure it is not there: half a file would pass for one. */
int file_make(const char *path, const void *p, size_t n);

/* Memory with a descriptor, that can be sealed and never be executed (hosts may refuse any other: vm.memfd_noexec). */
int fd_memory(const char *name);

#endif

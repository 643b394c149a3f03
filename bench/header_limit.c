/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor of indexing: CPU microseconds a header that one thread needs to pread each 512-byte header of tar archives,
 * hopping from one to the next by the size in it, and do nothing with them. Usage: header_limit TAR.. ; one line of JSON.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 512
#define SIZE_AT 124
#define SIZE_DIGITS 11

static uint64_t size_of(const char *header)
{
	char digits[SIZE_DIGITS + 1] = {0};

	for (unsigned i = 0; i < SIZE_DIGITS; i++)
		digits[i] = header[SIZE_AT + i];
	return strtoull(digits, NULL, 8);
}

static uint64_t headers_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t at = 0, n = 0;
	char header[BLOCK];

	for (; fd >= 0 && pread(fd, header, BLOCK, (off_t)at) == BLOCK && header[0]; n++)
		at += BLOCK + (size_of(header) + BLOCK - 1) / BLOCK * BLOCK;
	if (fd >= 0)
		close(fd);
	return n;
}

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int main(int argc, char **argv)
{
	double began = cpu_us(), us;
	uint64_t n = 0;

	for (int i = 1; i < argc; i++)
		n += headers_of(argv[i]);
	us = cpu_us() - began;
	if (n == 0)
		return 1;
	printf("{\"headers\": %llu, \"cpu_ms\": %.3f, \"cpu_us_per_header\": %.4f}\n", (unsigned long long)n, us / 1e3, us / (double)n);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over files and folders of files: its corpus as a test, or one input that a fuzzer found. */
#include <dirent.h>
#include <err.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/scope.h"

#define REPLAY_MAX_BYTES (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static unsigned n_run;

/* Each input lies in memory of its own length, so that the sanitizer sees a read past its end. */
static void replay_file(const char *path, size_t n)
{
	AUTO_FREE uint8_t *p = mem_alloc(n);
	FILE *f = fopen(path, "rb");

	if (!f || !p || n > REPLAY_MAX_BYTES || fread(p, 1, n, f) != n)
		err(1, "%s", path);
	fclose(f);
	LLVMFuzzerTestOneInput(p, n);
	n_run++;
}

static void replay(const char *path);

static void replay_folder(const char *path)
{
	DIR *d = opendir(path);

	if (!d)
		err(1, "%s", path);
	for (struct dirent *e; (e = readdir(d));) {
		AUTO_FREE char *file = mem_printf("%s/%s", path, e->d_name);

		if (!file)
			err(1, "%s", path);
		if (e->d_name[0] != '.')
			replay(file);
	}
	closedir(d);
}

static void replay(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		err(1, "%s", path);
	if (S_ISDIR(st.st_mode))
		replay_folder(path);
	else
		replay_file(path, (size_t)st.st_size);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	if (n_run == 0)
		errx(1, "usage: %s FILE-OR-FOLDER..., with at least one file in all", argv[0]);
	printf("%u inputs\n", n_run);
	return 0;
}

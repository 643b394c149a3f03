/* SPDX-License-Identifier: Apache-2.0 */
/*
 * media-run: media_run() over a list of jobs, for tests and for timing. Each line of stdin is
 *	FILE <tab> CHAIN <tab> POSITION <tab> SEED
 * (chain.h) and gives a line "H W C SHA256 N_WARNINGS", or "! NAME WORDS". With --time, files are read and decoded once
 * before, and the CPU time per job goes to stderr.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "chain.h"
#include "media/media.h"

#define MAX_OUT_BYTES ((size_t)1 << 28)
#define MAX_FILE_BYTES ((size_t)1 << 28)

struct job {
	char file[4096];
	char chain[1024];
	uint64_t position, seed;
};

static bool job_parse(char *line, struct job *ret)
{
	struct str rest = str_of(line), file = str_split(&rest, '\t'), chain = str_split(&rest, '\t');
	struct str position = str_split(&rest, '\t');

	snprintf(ret->file, sizeof(ret->file), "%.*s", STR_ARG(file));
	snprintf(ret->chain, sizeof(ret->chain), "%.*s", STR_ARG(chain));
	return str_to_u64(position, &ret->position) == 0 && str_to_u64(str_trim(rest), &ret->seed) == 0;
}

static size_t read_file(const char *path, uint8_t *to)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(to, 1, MAX_FILE_BYTES, f) : 0;

	if (f)
		fclose(f);
	return n;
}

static const char *code_name(int code)
{
	switch (code) {
#define X(name, number, text) case number: return #name;
		OLDDOG_ERRORS(X)
#undef X
	}
	return strerrorname_np(-code);
}

static void print_result(int r, const struct media_result *m, const uint8_t *out)
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX];

	if (r < 0) {
		printf("! %s %s\n", code_name(r), m->words);
		return;
	}
	sha256_of(out, (size_t)m->h * m->w * m->c, digest);
	hex_of(digest, sizeof(digest), hex);
	printf("%u %u %u %s %u\n", m->h, m->w, m->c, hex, m->n_warnings);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	bool timed = argc > 1 && strcmp(argv[1], "--time") == 0;
	AUTO_FREE uint8_t *in = mem_alloc(MAX_FILE_BYTES), *out = mem_alloc(MAX_OUT_BYTES);
	static struct recipe recipe;
	static struct job job;
	uint64_t spent_ns = 0, n_jobs = 0;
	char line[8192];

	if (!in || !out)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		struct media_result m;
		uint64_t start_ns;
		size_t n;
		int r;

		if (!job_parse(line, &job) || chain_parse(job.chain, job.seed, &recipe) < 0) {
			fprintf(stderr, "not a job: %s", line);
			return 2;
		}
		n = read_file(job.file, in);
		if (timed)
			media_run(&recipe, 0, job.position, in, n, out, MAX_OUT_BYTES, &m);
		start_ns = cpu_ns();
		r = media_run(&recipe, 0, job.position, in, n, out, MAX_OUT_BYTES, &m);
		spent_ns += cpu_ns() - start_ns;
		n_jobs++;
		print_result(r, &m, out);
	}
	if (timed && n_jobs > 0)
		fprintf(stderr, "%.4f ms a job, %llu jobs\n", (double)spent_ns / 1e6 / (double)n_jobs,
			(unsigned long long)n_jobs);
	return 0;
}

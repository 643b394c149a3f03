/* SPDX-License-Identifier: Apache-2.0 */
/* olddog cat: files of any store to stdout: the bytes of one version, or an error. */
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "cli/verbs.h"
#include "store/glob.h"

#define PIECE_BYTES (4u << 20)

static struct {
	uint64_t offset, length;
} opts = {.length = UINT64_MAX};

static const struct opt table[] = {
	{"offset", 0, OPT_SIZE, &opts.offset, "BYTES", "begin there, in each file (4096, 64K, 1G)"},
	{"length", 0, OPT_SIZE, &opts.length, "BYTES", "at most so many bytes of each file"},
	{"stats", 0, OPT_FLAG, &cmd_stats, NULL, CMD_STATS_HELP},
	{NULL},
};

static int write_out(const uint8_t *p, size_t n, struct err *e)
{
	int r = fd_write_all(STDOUT_FILENO, p, n);

	return r < 0 ? err_set(e, r, "stdout: %s", err_text(r)) : 0;
}

static int copy_out(struct store *s, const char *path, const struct store_file *file, struct err *e)
{
	uint64_t at = MIN(opts.offset, file->length), end = file->length;
	AUTO_FREE uint8_t *piece = mem_alloc(PIECE_BYTES);
	int r = piece ? 0 : -ENOMEM;

	if (opts.length < end - at)
		end = at + opts.length;
	while (r == 0 && at < end) {
		size_t n = (size_t)MIN(end - at, PIECE_BYTES);

		r = store_pread(s, path, file, piece, n, at, e);
		if (r == 0)
			r = write_out(piece, n, e);
		at += n;
	}
	return r;
}

static int cat(void *ctx, const struct glob_hit *hit, struct err *e)
{
	struct store_stat stat = hit->stat;

	if (hit->stat.kind != STORE_FILE)
		return err_set(e, hit->stat.kind == STORE_DIR ? -EISDIR : -EINVAL,
			"%s: not a file; `olddog ls` lists directories", hit->shown);
	if (hit->matched) {
		int r = store_look(hit->store, hit->path, &stat, e);

		if (r < 0)
			return r;
	}
	return copy_out(hit->store, hit->path, &stat.file, e);
}

static int run(int n, char **urls)
{
	int status = CMD_DONE;

	for (int i = 0; i < n; i++) {
		struct err e = {0};
		int r = glob_url(urls[i], cat, NULL, &e);

		if (r < 0)
			status = cmd_failed(&e, r);
	}
	return status;
}

const struct cmd cmd_cat = {
	.name = "cat",
	.operands = "URL..",
	.help = "write files of any store to stdout",
	.opts = table,
	.min_operands = 1,
	.max_operands = 1000000,
	.run = run,
};

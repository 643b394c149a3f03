/* SPDX-License-Identifier: Apache-2.0 */
/* What `olddog read` does with a batch. */
#include "cli/read_out.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "feed/digest.h"
#include "feed/npy.h"

/* A key as one word: what would break a line, or is no UTF-8 and so cannot stand in JSON, is written as %XX. */
static void put_word(struct buf *to, struct str s)
{
	while (s.n) {
		uint8_t c = (uint8_t)s.p[0];
		size_t n = str_utf8_length(s);

		if (n == 0 || c <= ' ' || c == '%' || c == 0x7f)
			buf_printf(to, "%%%02X", c);
		else
			buf_add(to, s.p, n);
		n = MAX(n, 1);
		s = (struct str){s.p + n, s.n - n};
	}
}

static int json_line(json_t *j)
{
	int r = j && json_dumpf(j, stdout, JSON_COMPACT) == 0 ? 0 : -ENOMEM;

	if (r == 0)
		putchar('\n');
	json_decref(j);
	return r;
}

static int print_sample(bool json, uint64_t position, const char *hex, struct str instead_of)
{
	AUTO_BUF struct buf word;

	buf_init(&word, 8192);
	put_word(&word, instead_of);
	if (word.r < 0)
		return word.r;
	if (json && instead_of.n)
		return json_line(json_pack("{s:I, s:s, s:s}", "position", (json_int_t)position, "sha256", hex, "for",
			(const char *)word.ptr));
	if (json)
		return json_line(json_pack("{s:I, s:s}", "position", (json_int_t)position, "sha256", hex));
	printf("position=%llu sha256=%s%s%s\n", (unsigned long long)position, hex, instead_of.n ? " for=" : "",
		instead_of.n ? (const char *)word.ptr : "");
	return 0;
}

static int print_samples(bool json, const struct stream_batch *b)
{
	uint8_t sha[SHA256_BYTES];
	char hex[SHA256_HEX];
	int r = 0;

	for (uint32_t i = 0; i < b->head.n_real && r == 0; i++) {
		r = digest_sample(&b->head, b->slot->p, i, sha);
		hex_of(sha, sizeof(sha), hex);
		if (r == 0)
			r = print_sample(json, sample_position(&b->head, b->slot->p, i), hex,
				sample_text(&b->head, b->slot->p, BATCHHEAD_FOR, i));
	}
	return r;
}

static int print_batch(bool json, const struct stream_batch *b)
{
	uint8_t sha[SHA256_BYTES];
	char hex[SHA256_HEX];
	int r = digest_batch(&b->head, b->slot->p, sha);

	if (r < 0)
		return r;
	hex_of(sha, sizeof(sha), hex);
	if (json)
		return json_line(json_pack("{s:I, s:i, s:s}", "batch", (json_int_t)b->head.number, "dp_rank",
			(int)b->head.dp_rank, "sha256", hex));
	printf("batch=%llu dp_rank=%u sha256=%s\n", (unsigned long long)b->head.number, b->head.dp_rank, hex);
	return 0;
}

/* A run without end must not go on when nobody hears of it. */
static int check_output(struct err *e)
{
	return ferror(stdout) ? err_set(e, -EIO, "stdout could not be written; is its disk full, or its reader gone?") : 0;
}

int read_flush_output(struct err *e)
{
	if (fflush(stdout) != 0)
		return err_set(e, -errno, "stdout: %s", err_text(-errno));
	return check_output(e);
}

int read_print_digest(enum read_digest digest, bool json, const struct stream_batch *b, struct err *e)
{
	int r = digest == DIGEST_SAMPLE ? print_samples(json, b) : print_batch(json, b);

	if (r < 0 && !ferror(stdout))
		return err_set(e, r, "a digest: %s", err_text(r));
	return check_output(e);
}

static int write_field(const char *dir, const struct stream_batch *b, const struct batch_field *f, uint32_t i,
	struct err *e)
{
	AUTO_BUF struct buf scratch;
	AUTO_BUF struct buf file;
	AUTO_FREE char *path = mem_printf("%s/%llu.%s.npy", dir,
		(unsigned long long)sample_position(&b->head, b->slot->p, i), f->name);
	struct sample_view v;
	int r;

	buf_init(&scratch, SIZE_MAX / 2);
	buf_init(&file, SIZE_MAX / 2);
	r = path ? sample_view(&b->head, b->slot->p, f, i, &scratch, &v) : -ENOMEM;
	r = r < 0 ? r : npy_write(&v, &file);
	r = r < 0 ? r : file_make(path, file.ptr, file.n);
	return r < 0 ? err_set(e, r, "%s: %s", path ? path : dir, err_text(r)) : 0;
}

int read_write_npy(const char *dir, const struct stream_batch *b, struct err *e)
{
	int r = 0;

	for (uint32_t i = 0; i < b->head.n_real; i++)
		for (unsigned k = 0; k < b->head.n_fields && r == 0; k++)
			if (b->head.fields[k].name[0] != '.')
				r = write_field(dir, b, &b->head.fields[k], i, e);
	return r;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double wait_ms(const struct read_figures *f, unsigned percent)
{
	return f->n_batches ? (double)f->wait_ns[(f->n_batches - 1) * percent / 100] / 1e6 : 0;
}

int read_print_figures(struct read_figures *f, bool json)
{
	double seconds = (double)f->wall_ns / 1e9, n = f->n_samples ? (double)f->n_samples : 1;
	double rate = seconds > 0 ? (double)f->n_samples / seconds : 0;
	double workers_ms = (double)f->counts.workers.cpu_ns / 1e6 / n, host_ms = (double)f->host_cpu_ns / 1e6 / n;

	if (f->wait_ns)
		qsort(f->wait_ns, f->n_batches, sizeof(*f->wait_ns), by_size);
	if (json)
		return cmd_print_json(json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I}",
			"samples", (json_int_t)f->n_samples, "batches", (json_int_t)f->n_batches, "seconds", seconds,
			"samples_per_s", rate, "workers_cpu_ms_per_sample", workers_ms, "host_cpu_ms_per_sample", host_ms,
			"wait_p50_ms", wait_ms(f, 50), "wait_p99_ms", wait_ms(f, 99), "bytes_read",
			(json_int_t)f->counts.n_bytes_read, "bad", (json_int_t)f->counts.n_bad, "retries",
			(json_int_t)f->counts.n_retries, "workers_died", (json_int_t)f->counts.workers.n_died, "consumed",
			(json_int_t)f->consumed));
	printf("  samples  samples/s   CPU ms/sample: workers    host   wait p50      p99 (ms)      read   bad  consumed\n");
	printf("%9llu %10.1f %24.3f %7.3f %10.2f %8.2f %9.1f MB %5llu %9llu\n", (unsigned long long)f->n_samples, rate,
		workers_ms, host_ms, wait_ms(f, 50), wait_ms(f, 99), (double)f->counts.n_bytes_read / 1e6,
		(unsigned long long)f->counts.n_bad, (unsigned long long)f->consumed);
	return CMD_DONE;
}

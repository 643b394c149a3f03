/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training rank in miniature, by olddog.h alone: takes batches and prints each sample's digest as doc/design/0009 has
 * it. For tests of libolddog and olddog-loader.
 *
 *	rank [-r R] [-w W] [-b BATCH] [-n BATCHES] [-e EPOCHS] [-c CONSUMED] [-s STATE] [-t TRANSFORM] [-f FIELD]..
 *	     [-m MAX_BYTES] [-H] [-i] [-F] [-S] PATH..
 *
 * -H holds every batch. -i waits for a line on stdin before each batch. -F asks again in a forked child at the end. -S
 * prints "state=JSON" after each batch. After the batches it prints "len=N", "state=JSON".
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "olddog.h"

#define MAX_HELD 100000

static struct olddog_batch *held[MAX_HELD];
static unsigned n_held;

static void add_u64(EVP_MD_CTX *h, uint64_t v)
{
	EVP_DigestUpdate(h, &v, sizeof(v));
}

static void add_str(EVP_MD_CTX *h, const char *s)
{
	add_u64(h, strlen(s));
	EVP_DigestUpdate(h, s, strlen(s));
}

static const char *type_of(const struct olddog_field *f)
{
	static const char *const kinds[] = {[OLDDOG_BYTES] = "bytes", [OLDDOG_TEXT] = "text", [OLDDOG_JSON] = "json"};
	static const char *const dtypes[] = {[OLDDOG_UINT8] = "uint8", [OLDDOG_INT64] = "int64",
		[OLDDOG_FLOAT16] = "float16", [OLDDOG_BFLOAT16] = "bfloat16", [OLDDOG_FLOAT32] = "float32",
		[OLDDOG_FLOAT64] = "float64"};

	return f->kind == OLDDOG_BYTES || f->kind == OLDDOG_TEXT || f->kind == OLDDOG_JSON ? kinds[f->kind] :
		dtypes[f->dtype];
}

static void add_dims(EVP_MD_CTX *h, uint32_t n, const uint64_t *dims)
{
	EVP_DigestUpdate(h, &n, sizeof(n));
	for (uint32_t i = 0; i < n; i++)
		add_u64(h, dims[i]);
}

/* Rows out of the frame that `pad` put around them. */
static void add_framed(EVP_MD_CTX *h, const struct olddog_field *f, uint32_t i, const uint64_t own[3])
{
	const char *p = (const char *)f->data + f->strides_bytes[0] * i;

	for (uint64_t a = 0; a < own[0]; a++)
		for (uint64_t b = 0; b < own[1]; b++)
			EVP_DigestUpdate(h, p + (int64_t)a * f->strides_bytes[1] + (int64_t)b * f->strides_bytes[2],
				own[2] * (uint64_t)f->strides_bytes[3]);
}

static void add_field(EVP_MD_CTX *h, const struct olddog_field *f, uint32_t i)
{
	uint64_t own[3] = {0};

	for (unsigned k = 0; f->sizes && k < 3; k++)
		own[k] = f->sizes[3 * i + k];
	add_str(h, f->name);
	add_str(h, type_of(f));
	if (f->offsets) {
		uint64_t n = f->offsets[i + 1] - f->offsets[i];

		add_dims(h, f->sizes ? 3 : 1, f->sizes ? own : &n);
		EVP_DigestUpdate(h, (const char *)f->data + (int64_t)f->offsets[i] * f->strides_bytes[0],
			n * (uint64_t)f->strides_bytes[0]);
	} else if (f->sizes) {
		add_dims(h, 3, own);
		add_framed(h, f, i, own);
	} else {
		add_dims(h, f->n_dims - 1, f->dims + 1);
		EVP_DigestUpdate(h, (const char *)f->data + f->strides_bytes[0] * i, (uint64_t)f->strides_bytes[0]);
	}
}

static void print_sample(const struct olddog_batch *b, const struct olddog_batch_info *info, uint32_t i)
{
	EVP_MD_CTX *h = EVP_MD_CTX_new();
	unsigned char sha[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	int64_t position = -1;

	EVP_DigestInit(h, EVP_sha256());
	for (unsigned k = 0; k < info->n_fields; k++) {
		struct olddog_field f;

		if (olddog_batch_get_field(b, k, &f) < 0)
			abort();
		if (strcmp(f.name, ".position") == 0)
			position = ((const int64_t *)f.data)[i];
		if (f.name[0] != '.')
			add_field(h, &f, i);
	}
	EVP_DigestFinal(h, sha, &n);
	EVP_MD_CTX_free(h);
	printf("position=%lld sha256=", (long long)position);
	for (unsigned k = 0; k < n; k++)
		printf("%02x", sha[k]);
	putchar('\n');
}

static void use(struct olddog_batch *b, bool hold)
{
	struct olddog_batch_info info;

	olddog_batch_get_info(b, &info);
	for (uint32_t i = 0; i < info.n_real; i++)
		print_sample(b, &info, i);
	fflush(stdout);
	if (hold && n_held < MAX_HELD)
		held[n_held++] = b;
	else
		olddog_batch_release(b);
}

static void print_state(struct olddog_loader *l)
{
	printf("state=%s\n", olddog_loader_state(l));
	fflush(stdout);
}

static int fail(int r, const struct olddog_error *e)
{
	fprintf(stderr, "rank: %d: %s\n", r, e->words);
	return 1;
}

static int ask_in_child(struct olddog_loader *l)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct olddog_error e;
		struct olddog_batch *b;
		int r = olddog_loader_next(l, -1, &b, &e);

		printf("child=%s words=%s\n", r == -ECHILD ? "refused" : "served", e.words);
		fflush(stdout);
		olddog_loader_close(l);
		for (unsigned i = 0; i < n_held; i++)
			olddog_batch_release(held[i]);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status != 0;
}

static void warn(void *ctx, const char *words)
{
	fprintf(stderr, "rank: warning: %s\n", words);
}

int main(int argc, char **argv)
{
	struct olddog_loader_conf conf = {.size = sizeof(conf), .n_epochs = 1, .warn = warn};
	const char *fields[8];
	struct olddog_loader *l;
	struct olddog_batch *b;
	struct olddog_error e;
	bool hold = false, interactive = false, forks = false, states = false;
	long n_batches = -1;
	char line[64];
	int c, r;

	conf.fields = fields;
	while ((c = getopt(argc, argv, "r:w:b:n:e:c:s:t:f:m:HiFS")) != -1) {
		switch (c) {
		case 'r': conf.dp_rank = (uint32_t)strtoull(optarg, NULL, 10); break;
		case 'w': conf.dp_size = (uint32_t)strtoull(optarg, NULL, 10); break;
		case 'b': conf.batch = strtoull(optarg, NULL, 10); conf.batch_is_global = 1; break;
		case 'n': n_batches = (long)strtoull(optarg, NULL, 10); break;
		case 'e': conf.n_epochs = strtoull(optarg, NULL, 10); break;
		case 'c': conf.consumed = strtoull(optarg, NULL, 10); break;
		case 's': conf.state = optarg; break;
		case 't': conf.transform = optarg; break;
		case 'f': fields[conf.n_fields++ % 8] = optarg; break;
		case 'm': conf.max_bytes = strtoull(optarg, NULL, 10); break;
		case 'H': hold = true; break;
		case 'i': interactive = true; break;
		case 'F': forks = true; break;
		case 'S': states = true; break;
		default: return 2;
		}
	}
	conf.paths = (const char *const *)argv + optind;
	conf.n_paths = (unsigned)(argc - optind);
	r = olddog_loader_open(&conf, -1, &l, &e);
	if (r < 0)
		return fail(r, &e);
	printf("open len=%llu\n", (unsigned long long)olddog_loader_len(l));
	fflush(stdout);
	for (long i = 0; i != n_batches; i++) {
		if (interactive && !fgets(line, sizeof(line), stdin))
			break;
		r = olddog_loader_next(l, -1, &b, &e);
		if (r < 0)
			break;
		use(b, hold);
		if (states)
			print_state(l);
	}
	if (r < 0 && r != OLDDOG_E_END) {
		olddog_loader_close(l);
		return fail(r, &e);
	}
	printf("len=%llu\n", (unsigned long long)olddog_loader_len(l));
	print_state(l);
	if (forks && ask_in_child(l))
		return 1;
	olddog_loader_close(l);
	/* They outlive it. */
	for (unsigned i = 0; i < n_held; i++)
		olddog_batch_release(held[i]);
	return 0;
}

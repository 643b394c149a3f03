/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan's plan.json, as anybody may have left it in a directory: it is opened, or refused with words. Its sum would keep
 * inputs from what is read behind it, so it is put right first where the input is an object.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/scope.h"
#include "plan/plan.h"

#define MAX_TEXT (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static char dir[64];

static void remove_dir(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/plan.json", dir);
	unlink(path);
	rmdir(dir);
}

static void make_dir(void)
{
	snprintf(dir, sizeof(dir), "/dev/shm/fuzz-plan-%d", (int)getpid());
	assert(mkdir(dir, 0700) == 0 || errno == EEXIST);
	atexit(remove_dir);
}

static int text_add(const char *p, size_t n, void *text)
{
	return buf_add(text, p, n);
}

/* The text with the right sum, or none when it is too long. */
static bool with_sum(json_t *j, struct buf *text)
{
	char sum[17];

	json_object_del(j, "sum");
	if (json_dump_callback(j, text_add, text, JSON_COMPACT | JSON_SORT_KEYS) < 0)
		return false;
	snprintf(sum, sizeof(sum), "%016llx", (unsigned long long)xxh3_of(text->ptr, text->n));
	text->n = 0;
	return json_object_set_new(j, "sum", json_string(sum)) == 0 &&
		json_dump_callback(j, text_add, text, JSON_INDENT(1)) == 0;
}

static void open_with(const void *p, size_t n)
{
	AUTO_CLOSE int fd = -1;
	AUTO(plan) struct plan *plan = NULL;
	struct err e = {0};
	char path[96];

	snprintf(path, sizeof(path), "%s/plan.json", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert(fd >= 0 && fd_write_all(fd, p, n) == 0);
	/* There is no shards.bin: with a plan.json that is right, that is what is missed. */
	assert(plan_open(dir, &plan, &e) < 0 && e.code && e.words[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	AUTO_BUF struct buf text;
	json_t *j = json_loadb((const char *)p, n, JSON_REJECT_DUPLICATES, NULL);

	if (!dir[0])
		make_dir();
	buf_init(&text, MAX_TEXT);
	if (json_is_object(j) && with_sum(j, &text))
		open_with(text.ptr, text.n);
	else
		open_with(p, n);
	json_decref(j);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/scope.h"
#include "store/temporary.h"

#define MAX_NAMES (1u << 24)
#define MAX_TEXT (1u << 30)

static void dir_closep(DIR **d)
{
	if (*d)
		closedir(*d);
}

static bool is_shown(const char *name, bool temporaries)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && temporary_is(name) == temporaries;
}

static int read_names(DIR *from, bool temporaries, struct buf *text, size_t *ret_n)
{
	size_t n = 0;

	for (;;) {
		struct dirent *entry;

		errno = 0;
		entry = readdir(from);
		if (!entry)
			break;
		if (!is_shown(entry->d_name, temporaries))
			continue;
		buf_add(text, entry->d_name, strlen(entry->d_name) + 1);
		n++;
	}
	*ret_n = n;
	return errno ? -errno : text->r;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int sort_names(struct file_dir *d, size_t n)
{
	const char *at = (const char *)d->text.ptr;
	int r = VEC_RESERVE(&d->names, n);

	if (r < 0)
		return r;
	for (; d->names.n < n; at += strlen(at) + 1)
		d->names.ptr[d->names.n++] = at;
	if (n)
		qsort(d->names.ptr, n, sizeof(d->names.ptr[0]), compare);
	return 0;
}

int file_dir_read(int root_fd, const char *path, bool temporaries, struct file_dir **ret_dir)
{
	AUTO(file_dir) struct file_dir *d = mem_zalloc(sizeof(*d));
	AUTO_CLOSE int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir CLEANUP(dir_closep) = NULL;
	size_t n;
	int r;

	if (fd < 0)
		return -errno;
	if (!d)
		return -ENOMEM;
	list_init(&d->list);
	buf_init(&d->text, MAX_TEXT);
	d->names.max = MAX_NAMES;
	d->path = mem_strdup(path);
	dir = fdopendir(fd);
	if (!dir || !d->path)
		return -ENOMEM;
	fd = -1; /* dir's */
	r = read_names(dir, temporaries, &d->text, &n);
	if (r == 0)
		r = sort_names(d, n);
	if (r < 0)
		return r;
	*ret_dir = TAKE(d);
	return 0;
}

void file_dir_free(struct file_dir *d)
{
	if (!d)
		return;
	mem_free(d->path);
	buf_release(&d->text);
	vec_release(&d->names);
	mem_free(d);
}

size_t file_dir_after(const struct file_dir *d, const char *name)
{
	size_t low = 0, high = d->names.n;

	while (name && low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(d->names.ptr[middle], name) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

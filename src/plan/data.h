/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a spec's sources name: paths, patterns and directories, listed through the store, in bytewise order of
 * their names relative to the directory before each entry's first pattern character. Nothing is read but directories.
 * A name that is there literally is taken literally, pattern characters or not.
 */
#ifndef OLDDOG_PLAN_DATA_H
#define OLDDOG_PLAN_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "plan/bases.h"
#include "plan/names.h"
#include "plan/spec.h"
#include "store/store.h"

#define DATA_MAX_FILES (1u << 27)
#define DATA_MAX_DEPTH 32u		/* of directories; deeper is taken for a loop of symbolic links */
#define DATA_MAX_DIRS (1u << 22)	/* that one source may make us list */
#define DATA_MAX_CLASSES 65536u

struct data_file {
	uint64_t name, version;	/* offsets in data.text, NUL-terminated there */
	uint64_t length;
	uint32_t name_n;
	uint32_t base;
};

struct data_source {
	enum source_format format;	/* WEBDATASET or FILES */
	size_t first, n;		/* files */
};

struct data {
	struct bases bases;
	VEC(struct data_file) files;
	struct buf text;
	struct data_source sources[SPEC_MAX_SOURCES];
	unsigned n_sources;
	bool has_class;			/* every file of the `files` sources is in a class folder, and there are some */
	struct names classes;		/* in bytewise order */
};

void data_init(struct data *d);
void data_release(struct data *d);
#define AUTO_DATA __attribute__((cleanup(data_release)))

/*
 * Lists all sources. tell is told of what is left out (other files beside tars). E_SPEC, -ENOENT and what the store
 * says, with words that name the entry.
 */
int data_list(const struct spec *spec, struct data *ret, void (*tell)(void *ctx, const char *words), void *ctx,
	struct err *e);

static inline const char *data_name(const struct data *d, const struct data_file *f)
{
	return (const char *)d->text.ptr + f->name;
}
static inline const char *data_version(const struct data *d, const struct data_file *f)
{
	return (const char *)d->text.ptr + f->version;
}
/* The class folder of a relative name: false when there is none. */
bool data_class(struct str name, struct str *ret_class);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the tar parser: the input is an archive. What it gives lies inside the file, and its loop ends. */
#include <assert.h>
#include <string.h>

#include "wire/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(const struct tar_member *m, size_t n)
{
	assert(m->name_n >= 1 && m->name_n <= TAR_NAME_MAX && strlen(m->name) == m->name_n);
	assert(m->header < m->offset && m->offset <= n && m->length <= n - m->offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	AUTO_TAR struct tar t;
	struct tar_member m;
	struct err e = {0};
	uint64_t at, before = 0;
	size_t want;
	int r;

	tar_init(&t, n);
	while ((r = tar_next(&t, &at, &want, &e)) > 0) {
		assert(want >= 1 && want <= TAR_EXTENSION_MAX && at <= n && want <= n - at);
		assert(at >= before);
		before = at + 1;
		r = tar_feed(&t, p + at, &m, &e);
		if (r == TAR_MEMBER || r == TAR_OTHER)
			check(&m, n);
		if (r < 0)
			break;
	}
	assert(r == 0 ? t.end != TAR_END_NONE : r == -ENOMEM || e.words[0]);
	return 0;
}

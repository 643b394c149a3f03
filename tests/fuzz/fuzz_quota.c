/* SPDX-License-Identifier: Apache-2.0 */
/* A group that is found lies in the text, and is left upwards in as many steps as it has letters at most. */
#include <assert.h>

#include "net/quota.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const struct str text = {(const char *)p, n};
	struct str path;

	(void)quota_processors_of_max(text);
	if (quota_group(text, "cpu", &path) < 0)
		return 0;
	assert(path.p >= text.p && path.p + path.n <= text.p + text.n);
	for (size_t left = path.n; quota_group_up(&path); left--)
		assert(left > 0 && path.n > 0 && path.p[0] == '/');
	return 0;
}

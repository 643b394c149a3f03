/* SPDX-License-Identifier: Apache-2.0 */
/* A state that parses is formatted to one that parses to the same. */
#include <assert.h>
#include <string.h>

#include "base/scope.h"
#include "feed/resume.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct resume first = {.consumed = 0}, second = {.consumed = 0};
	struct err e;

	if (resume_parse((const char *)p, n, &first, &e) < 0)
		return 0;
	AUTO_FREE char *text = resume_format(&first);

	assert(text && resume_parse(text, strlen(text), &second, &e) == 0);
	assert(second.consumed == first.consumed && memcmp(second.order_id, first.order_id, SHA256_BYTES) == 0);
	return 0;
}

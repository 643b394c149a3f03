/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of stores, their lists of filters, and plans of faults. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/scope.h"
#include "store/fault.h"
#include "store/path.h"
#include "store/store.h"
#include "store/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool is_known(struct str name)
{
	return str_eq(name, "fault");
}

static void try_filters(const char *text)
{
	struct str list = str_of(text), name, value;
	struct fault_conf c;
	struct err e;

	while (url_next_filter(&list, &name, &value)) {
		assert(name.p >= text && value.p + value.n <= text + strlen(text));
		if (fault_conf_parse(value, &c, &e) < 0)
			continue;
		assert(c.delay_min_ns <= c.delay_max_ns && c.delay_max_ns <= FAULT_MAX_NS && c.slow_ns <= FAULT_MAX_NS);
		assert(c.fail_p >= 0 && c.fail_p <= 1);
	}
}

static void try_path(const char *path)
{
	char clean[STORE_NAME_MAX], again[STORE_NAME_MAX];

	if (!path_is_safe(path))
		return;
	path_clean(path, clean);
	path_clean(clean, again);
	assert(strcmp(clean, again) == 0 && clean[0] != '/' && !path_climbs(str_of(clean)));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	AUTO_FREE char *text = mem_strndup((const char *)p, n);
	AUTO_URL struct url u = {NULL};

	if (!text || url_parse(text, is_known, &u, NULL) < 0)
		return 0;
	try_filters(u.filters);
	try_path(u.rest);
	return 0;
}

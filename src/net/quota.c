/* SPDX-License-Identifier: Apache-2.0 */
#include "net/quota.h"

#include <errno.h>
#include <limits.h>

static bool has_controller(struct str controllers, const char *name)
{
	if (!controllers.n)
		return !name[0];
	while (controllers.n) {
		if (str_eq(str_split(&controllers, ','), name))
			return true;
	}
	return false;
}

/* Lines "NUMBER:CONTROLLER,..:PATH"; version 2 is number 0 and has no controllers there. */
int quota_group(struct str text, const char *controller, struct str *ret_path)
{
	while (text.n) {
		struct str line = str_split(&text, '\n');

		(void)str_split(&line, ':');
		if (!has_controller(str_split(&line, ':'), controller) || !str_starts(line, "/"))
			continue;
		*ret_path = line;
		return 0;
	}
	return -ENOENT;
}

bool quota_group_up(struct str *path)
{
	if (path->n <= 1)
		return false;
	while (path->n > 1 && path->p[path->n - 1] != '/')
		path->n--;
	if (path->n > 1)
		path->n--;
	return true;
}

unsigned quota_processors(struct str quota_us, struct str period_us)
{
	uint64_t quota, period, n;

	if (str_to_u64(str_trim(quota_us), &quota) < 0 || str_to_u64(str_trim(period_us), &period) < 0 || !quota || !period)
		return 0;
	n = quota / period + (quota % period ? 1 : 0);
	return n < INT_MAX ? (unsigned)n : 0;
}

unsigned quota_processors_of_max(struct str text)
{
	struct str quota = str_split(&text, ' ');

	return quota_processors(quota, text);
}

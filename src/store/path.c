/* SPDX-License-Identifier: Apache-2.0 */
#include "store/path.h"

#include <string.h>

#include "store/store.h"

bool path_climbs(struct str path)
{
	while (path.n)
		if (str_eq(str_split(&path, '/'), ".."))
			return true;
	return false;
}

bool path_is_safe(const char *path)
{
	struct str s = {path, strnlen(path, STORE_NAME_MAX)};

	return s.n < STORE_NAME_MAX && !path_climbs(s);
}

void path_clean(const char *path, char *out)
{
	struct str rest = str_of(path);
	size_t n = 0;

	while (rest.n) {
		struct str part = str_split(&rest, '/');

		if (part.n == 0 || str_eq(part, "."))
			continue;
		if (n)
			out[n++] = '/';
		memcpy(out + n, part.p, part.n);
		n += part.n;
	}
	out[n] = 0;
}

struct str path_parent(const char *clean)
{
	const char *slash = strrchr(clean, '/');

	return (struct str){clean, slash ? (size_t)(slash - clean) : 0};
}

bool path_is_below(const char *path, struct str dir)
{
	return dir.n == 0 || (strncmp(path, dir.p, dir.n) == 0 && path[dir.n] == '/');
}

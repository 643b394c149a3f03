/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/conf/hdfs_url.h"

#include <errno.h>

#include "base/mem.h"
#include "base/scope.h"
#include "base/str.h"

int hdfs_url_parse(const char *rest, char **ret_authority, char **ret_path, bool *ret_relative)
{
	struct str path = str_of(rest), authority = {"", 0};
	AUTO_FREE char *host = NULL, *copy = NULL;

	*ret_relative = !str_starts(path, "/");
	if (str_starts(path, "//")) {
		path = (struct str){path.p + 2, path.n - 2};
		authority = str_split(&path, '/');
	} else if (str_starts(path, "/")) {
		path = (struct str){path.p + 1, path.n - 1};
	}
	host = mem_strndup(authority.p, authority.n);
	copy = mem_strndup(path.p, path.n);
	if (!host || !copy)
		return -ENOMEM;
	*ret_authority = TAKE(host);
	*ret_path = TAKE(copy);
	return 0;
}

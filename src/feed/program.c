/* SPDX-License-Identifier: Apache-2.0 */
/* Where olddog's other programs are. */
#include "feed/program.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/scope.h"

/* The real path of the file that this code was loaded from. */
static const char *own_path(char to[PATH_MAX])
{
	Dl_info info;

	if (dladdr((void *)&program_find, &info) == 0 || !info.dli_fname)
		return NULL;
	/* A program's name may be relative or looked up in PATH; a library's is a path. */
	if (strstr(info.dli_fname, ".so"))
		return realpath(info.dli_fname, to);
	/* Containers without /proc still know by which path they started it. */
	return realpath("/proc/self/exe", to) ? to : realpath((const char *)getauxval(AT_EXECFN), to);
}

static char *join_if_there(const char *dir, size_t n_dir, const char *rest, const char *name)
{
	char *path = mem_printf("%.*s%s/%s", (int)n_dir, dir, rest, name);

	if (path && access(path, X_OK) == 0)
		return path;
	mem_free(path);
	return NULL;
}

static char *find_near(const char *self, const char *name)
{
	/* In a build's folder, and installed beside bin/, lib/ or lib/TRIPLET/. */
	static const char *const rests[] = {"", "/..", "/../..", "/../libexec/olddog", "/../../libexec/olddog"};
	const char *slash = self ? strrchr(self, '/') : NULL;

	for (unsigned i = 0; slash && i < N_ELEMS(rests); i++) {
		char *path = join_if_there(self, (size_t)(slash - self), rests[i], name);

		if (path)
			return path;
	}
	return join_if_there(OLDDOG_LIBEXECDIR, strlen(OLDDOG_LIBEXECDIR), "", name);
}

int program_find(const char *name, char **ret_path, struct err *e)
{
	char buf[PATH_MAX];
	const char *named = getenv("OLDDOG_LIBEXEC"), *dir = named && named[0] ? named : NULL;
	const char *self = dir ? NULL : own_path(buf);
	char *path = dir ? join_if_there(dir, strlen(dir), "", name) : find_near(self, name);

	if (path) {
		*ret_path = path;
		return 0;
	}
	if (dir)
		return err_set(e, -ENOENT, "%s is not in OLDDOG_LIBEXEC=%s", name, dir);
	return err_set(e, -ENOENT, "%s is neither beside %s nor in %s; OLDDOG_LIBEXEC may name its folder", name,
			self ? self : "this program", OLDDOG_LIBEXECDIR);
}

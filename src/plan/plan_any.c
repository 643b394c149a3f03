/* SPDX-License-Identifier: Apache-2.0 */
/* A plan from whatever somebody names: a plan's directory, a spec, or bare paths. */
#include <string.h>
#include <sys/stat.h>

#include "base/scope.h"
#include "base/str.h"
#include "plan/plan.h"
#include "plan/plan_dir.h"
#include "store/url.h"

static bool is_spec(const char *path)
{
	return str_ends(str_of(path), ".yaml") || str_ends(str_of(path), ".yml");
}

static int spec_read(const char *path, struct spec **ret, struct err *e)
{
	AUTO_STORE struct store *store = NULL;
	AUTO_FREE char *in_store = NULL;
	AUTO_FREE void *text = NULL;
	size_t n;
	int r = store_open(path, &store, &in_store, e);

	if (r == 0)
		r = store_read_all(store, in_store, SPEC_MAX_BYTES, &text, &n, e);
	return r < 0 ? r : spec_parse(path, text, n, ret, e);
}

/* The directory of this machine that url names, or NULL. */
static char *local_path(const char *url)
{
	AUTO_STORE struct store *store = NULL;
	AUTO_URL struct url parts = {NULL};
	char *path;

	if (store_url(url, &parts, NULL) < 0 || (parts.scheme[0] && strcmp(parts.scheme, "file") != 0))
		return NULL;
	if (!parts.scheme[0])
		return mem_strdup(parts.rest);
	return store_open(url, &store, &path, NULL) < 0 ? NULL : path;
}

int plan_spec_of(const char *const *paths, unsigned n_paths, struct spec **ret, struct err *e)
{
	if (n_paths == 0)
		return err_set(e, -EINVAL, "name a plan, a spec, or data");
	for (unsigned i = 0; i < n_paths; i++) {
		AUTO_FREE char *dir = local_path(paths[i]);

		if (dir && plan_dir_is(dir))
			return err_set(e, E_SPEC, "%s is a plan: `olddog read`, `olddog peek` and Loader take it as it "
				"is, alone; to make another plan, name its data or its spec", paths[i]);
	}
	if (n_paths == 1 && is_spec(paths[0]))
		return spec_read(paths[0], ret, e);
	return spec_of_paths(paths, n_paths, ret, e);
}

/* By its name alone: nothing was written into it yet, or by somebody else. Data is not named so. */
static bool is_unfinished(const char *dir)
{
	struct stat st;

	return str_ends(str_of(dir), ".plan") && stat(dir, &st) == 0 && S_ISDIR(st.st_mode);
}

int plan_open_any(const char *const *paths, unsigned n_paths, const struct plan_conf *conf, struct plan **ret,
	struct err *e)
{
	AUTO_FREE char *dir = n_paths == 1 ? local_path(paths[0]) : NULL;
	struct spec *spec;
	int r;

	if (dir && (plan_dir_is(dir) || is_unfinished(dir)))
		return plan_open(dir, ret, e);
	r = plan_spec_of(paths, n_paths, &spec, e);
	return r < 0 ? r : plan_make(spec, NULL, conf, ret, e);
}

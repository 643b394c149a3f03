/* SPDX-License-Identifier: Apache-2.0 */
#include "store/owners.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

#define MAX_NAMES 4096
/* Of an entry; a group with thousands of members is longer, and has its number for a name. */
#define ENTRY_BYTES 65536

void owners_init(struct owners *o)
{
	pthread_mutex_init(&o->lock, NULL);
	for (unsigned i = 0; i < N_ELEMS(o->names); i++) {
		memset(&o->names[i], 0, sizeof(o->names[i]));
		o->names[i].max = MAX_NAMES;
	}
}

void owners_release(struct owners *o)
{
	for (unsigned g = 0; g < N_ELEMS(o->names); g++) {
		for (size_t i = 0; i < o->names[g].n; i++)
			mem_free(o->names[g].ptr[i].name);
		vec_release(&o->names[g]);
	}
	pthread_mutex_destroy(&o->lock);
}

static char *name_user(uint32_t id, char *entry)
{
	struct passwd pw, *found = NULL;

	return getpwuid_r(id, &pw, entry, ENTRY_BYTES, &found) == 0 && found ? mem_strdup(pw.pw_name) : mem_printf("%u", id);
}

static char *name_group(uint32_t id, char *entry)
{
	struct group gr, *found = NULL;

	return getgrgid_r(id, &gr, entry, ENTRY_BYTES, &found) == 0 && found ? mem_strdup(gr.gr_name) : mem_printf("%u", id);
}

static char *name_ask(bool group, uint32_t id)
{
	AUTO_FREE char *entry = mem_alloc(ENTRY_BYTES);

	if (!entry)
		return NULL;
	return group ? name_group(id, entry) : name_user(id, entry);
}

/* Asks, and keeps the answer at this place of the names. */
static int name_learn(struct owners *o, bool group, uint32_t id, size_t at, const char **ret)
{
	__typeof__(o->names[0]) *names = &o->names[group];
	char *name;
	int r = VEC_RESERVE(names, names->n + 1);

	if (r < 0)
		return r == -E2BIG ? 0 : r;
	name = name_ask(group, id);
	if (!name)
		return -ENOMEM;
	memmove(&names->ptr[at + 1], &names->ptr[at], (names->n - at) * sizeof(names->ptr[0]));
	names->ptr[at] = (struct owner_name){id, name};
	names->n++;
	*ret = name;
	return 0;
}

int owners_name(struct owners *o, bool group, uint32_t id, const char **ret)
{
	__typeof__(o->names[0]) *names = &o->names[group];
	size_t at = 0;
	int r = 0;

	*ret = NULL;
	pthread_mutex_lock(&o->lock);
	while (at < names->n && names->ptr[at].id < id)
		at++;
	if (at < names->n && names->ptr[at].id == id)
		*ret = names->ptr[at].name;
	else
		r = name_learn(o, group, id, at, ret);
	pthread_mutex_unlock(&o->lock);
	return r;
}

static int id_by_name(const char *name, bool group, char *entry, uint32_t *ret)
{
	struct passwd pw, *user = NULL;
	struct group gr, *found = NULL;

	if (group ? getgrnam_r(name, &gr, entry, ENTRY_BYTES, &found) == 0 && found
		  : getpwnam_r(name, &pw, entry, ENTRY_BYTES, &user) == 0 && user) {
		*ret = group ? gr.gr_gid : pw.pw_uid;
		return 0;
	}
	return -ENOENT;
}

int owner_id(const char *name, bool group, uint32_t *ret)
{
	AUTO_FREE char *entry = mem_alloc(ENTRY_BYTES);
	uint64_t number;

	if (!entry)
		return -ENOMEM;
	if (id_by_name(name, group, entry, ret) == 0)
		return 0;
	/* The last number means "as it is" to chown(). */
	if (str_to_u64(str_of(name), &number) < 0 || number >= UINT32_MAX)
		return -ENOENT;
	*ret = (uint32_t)number;
	return 0;
}

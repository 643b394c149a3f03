/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/entry.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/scope.h"
#include "base/str.h"

const char *entry_kind(const struct store_stat *stat)
{
	switch (stat->kind) {
	case STORE_FILE:
		return "file";
	case STORE_DIR:
		return "dir";
	case STORE_OTHER:
		break;
	}
	return "other";
}

const char *entry_time(const struct store_stat *stat, char out[ENTRY_TIME_MAX])
{
	time_t t = (time_t)(stat->mtime_ns / NS_PER_S);
	struct tm tm;

	if (!stat->mtime_ns || !localtime_r(&t, &tm) || !strftime(out, ENTRY_TIME_MAX, "%Y-%m-%d %H:%M:%S", &tm))
		return "-";
	return out;
}

/* As ls(1) has them; setuid, setgid and sticky stand in for x. */
const char *entry_mode(const struct store_stat *stat, char out[ENTRY_MODE_MAX])
{
	static const char odd[] = "sst";
	char kind = stat->kind == STORE_DIR ? 'd' : stat->kind == STORE_FILE ? '-' : '?';
	unsigned mode = stat->mode;

	snprintf(out, ENTRY_MODE_MAX, mode ? "%crwxrwxrwx" : "%c?", kind);
	for (unsigned i = 0; mode && i < 9; i++)
		if (!(mode & 0400u >> i))
			out[i + 1] = '-';
	for (unsigned i = 0; mode && i < 3; i++)
		if (mode & 04000u >> i)
			out[3 * i + 3] = out[3 * i + 3] == 'x' ? odd[i] : (char)(odd[i] - 'a' + 'A');
	return out;
}

/* JSON is UTF-8, and names are bytes. */
static int add_odd_name(json_t *o, const char *name)
{
	size_t n = strlen(name);
	AUTO_FREE char *shown = mem_alloc(n + 8), *hex = mem_alloc(2 * n + 1);

	if (!shown || !hex)
		return -1;
	str_printable((struct str){name, n}, shown, n + 8);
	hex_of((const uint8_t *)name, n, hex);
	return json_object_set_new(o, "name", json_string(shown)) | json_object_set_new(o, "name_hex", json_string(hex));
}

/* What is 0 or NULL is not known. */
static int set_number(json_t *o, const char *key, uint64_t value)
{
	return value ? json_object_set_new(o, key, json_integer((json_int_t)value)) : 0;
}

static int set_text(json_t *o, const char *key, const char *text)
{
	char shown[256];

	return text ? json_object_set_new(o, key, json_string(str_printable(str_of(text), shown, sizeof(shown)))) : 0;
}

json_t *entry_json(const char *name, const struct store_stat *stat)
{
	json_t *o = json_object(), *text = json_string(name);
	int r = text ? json_object_set_new(o, "name", text) : add_odd_name(o, name);

	r |= json_object_set_new(o, "kind", json_string(entry_kind(stat)));
	if (stat->kind == STORE_FILE) {
		r |= json_object_set_new(o, "length", json_integer((json_int_t)stat->file.length));
		r |= json_object_set_new(o, "version", json_string(stat->file.version));
	}
	r |= set_number(o, "mtime_ns", stat->mtime_ns) | set_number(o, "atime_ns", stat->atime_ns);
	r |= set_number(o, "mode", stat->mode) | set_text(o, "owner", stat->owner) | set_text(o, "group", stat->group);
	r |= set_number(o, "replication", stat->replication) | set_number(o, "block_bytes", stat->block_bytes);
	if (stat->growing)
		r |= json_object_set_new(o, "growing", json_true());
	if (r != 0)
		json_decref(o);
	return r == 0 ? o : NULL;
}

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

json_t *entry_json(const char *name, const struct store_stat *stat)
{
	json_t *o = json_object(), *text = json_string(name);
	int r = text ? json_object_set_new(o, "name", text) : add_odd_name(o, name);

	r |= json_object_set_new(o, "kind", json_string(entry_kind(stat)));
	if (stat->kind == STORE_FILE) {
		r |= json_object_set_new(o, "length", json_integer((json_int_t)stat->file.length));
		r |= json_object_set_new(o, "version", json_string(stat->file.version));
	}
	if (stat->mtime_ns)
		r |= json_object_set_new(o, "mtime_ns", json_integer((json_int_t)stat->mtime_ns));
	if (r != 0)
		json_decref(o);
	return r == 0 ? o : NULL;
}

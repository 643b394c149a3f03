/* SPDX-License-Identifier: Apache-2.0 */
/* A site's values into struct hdfs_conf, by the table of conf_table.c. */
#include "store/hdfs/conf/conf.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "store/hdfs/conf/conf_table.h"
#include "wire/hadoop/crc.h"

#define PREFETCH_BLOCKS 10u

static int out_of_range(const struct hdfs_key *k, uint64_t v, struct err *e)
{
	return err_set(e, -EINVAL, "%s is %" PRIu64 "; it is to be %" PRIu64 " to %" PRIu64, k->name, v, k->min, k->max);
}

/* The value as the site writes it, or the table. */
static const char *text_of(struct site *site, const struct hdfs_key *k)
{
	const char *text = site_get(site, k->name);

	return text && *text ? text : k->otherwise;
}

static int number_of(struct site *site, const struct hdfs_key *k, uint64_t *ret, struct err *e)
{
	uint64_t otherwise = 0;
	int r;

	str_to_u64(str_of(k->otherwise), &otherwise);
	if (k->type == KEY_BYTES || k->type == KEY_BYTES32)
		r = site_bytes(site, k->name, otherwise, ret, e);
	else if (k->type == KEY_MS)
		r = site_ms(site, k->name, otherwise, 1, ret, e);
	else if (k->type == KEY_MINUTES)
		r = site_ms(site, k->name, otherwise * 60000, 60000, ret, e);
	else
		r = site_u64(site, k->name, otherwise, ret, e);
	*ret /= k->type == KEY_MINUTES ? 60000 : 1;
	return r < 0 || (*ret >= k->min && *ret <= k->max) ? r : out_of_range(k, *ret, e);
}

static int refuse(const struct hdfs_key *k, const char *text, const char *form, struct err *e)
{
	return err_set(e, -EINVAL, "%s is \"%.100s\"; it is to be %s", k->name, text, form);
}

static int put_checksum(const struct hdfs_key *k, const char *text, unsigned *to, struct err *e)
{
	static const struct {
		const char *name;
		enum crc_kind kind;
	} kinds[] = {{"CRC32C", CRC_C}, {"CRC32", CRC_ZLIB}, {"NULL", CRC_NONE}};

	for (unsigned i = 0; i < N_ELEMS(kinds); i++) {
		if (strcmp(text, kinds[i].name) == 0) {
			*to = kinds[i].kind;
			return 0;
		}
	}
	return refuse(k, text, "CRC32C, CRC32 or NULL", e);
}

/* The bits that one clause such as "go=rx" says may stay: *mask loses them. */
static bool clause_clears(struct str clause, unsigned *mask)
{
	unsigned who = 0, bits = 0;
	size_t i = 0;

	for (; i < clause.n && memchr("ugoa", clause.p[i], 4); i++)
		who |= clause.p[i] == 'u' ? 0700 : clause.p[i] == 'g' ? 0070 : clause.p[i] == 'o' ? 0007 : 0777;
	if (i == clause.n || clause.p[i++] != '=')
		return false;
	for (; i < clause.n && memchr("rwx-", clause.p[i], 4); i++)
		bits |= clause.p[i] == 'r' ? 0444 : clause.p[i] == 'w' ? 0222 : clause.p[i] == 'x' ? 0111 : 0;
	*mask = (*mask & ~(who ? who : 0777u)) | (~bits & (who ? who : 0777u));
	return i == clause.n;
}

static bool umask_octal(struct str text, unsigned *to)
{
	unsigned v = 0;

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '7' || text.n > 4)
			return false;
		v = v * 8 + (unsigned)(text.p[i] - '0');
	}
	*to = v & 0777;
	return text.n > 0;
}

static int put_umask(const struct hdfs_key *k, const char *text, unsigned *to, struct err *e)
{
	struct str rest = str_of(text);

	if (umask_octal(rest, to))
		return 0;
	*to = 0;
	while (rest.n)
		if (!clause_clears(str_trim(str_split(&rest, ',')), to))
			return refuse(k, text, "octal, such as 022, or symbolic, such as u=rwx,g=rx,o=rx", e);
	return 0;
}

static int put_path(const char *text, char **to)
{
	*to = *text ? mem_strdup(text) : NULL;
	return *text && !*to ? -ENOMEM : 0;
}

static int put_prefetch(struct site *site, const struct hdfs_key *k, struct hdfs_conf *c, struct err *e)
{
	uint64_t bytes = 0;
	int r = site_bytes(site, k->name, PREFETCH_BLOCKS * c->block_bytes, &bytes, e);

	if (r == 0)
		c->prefetch_blocks = MIN(MAX(bytes / c->block_bytes, 1), (uint64_t)UINT32_MAX);
	return r;
}

static int put_policy(const struct hdfs_key *k, const char *text, bool *to, struct err *e)
{
	if (strcmp(text, "NEVER") == 0)
		*to = false;
	else if (strcmp(text, "DEFAULT") != 0 && strcmp(text, "ALWAYS") != 0)
		return refuse(k, text, "DEFAULT, ALWAYS or NEVER", e);
	return 0;
}

static int check_unbuilt(struct site *site, const struct hdfs_key *k, struct err *e)
{
	bool on = false;
	int r = site_bool(site, k->name, false, &on, e);

	if (r == 0 && on)
		return err_set(e, -EOPNOTSUPP, "%s is true at this site (%s): that is not built yet", k->name, site_dir(site));
	return r;
}

static int put_number(struct site *site, const struct hdfs_key *k, void *to, struct err *e)
{
	uint64_t v = 0;
	int r = number_of(site, k, &v, e);

	if (r < 0)
		return r;
	if (k->type == KEY_NUMBER)
		*(unsigned *)to = (unsigned)v;
	else if (k->type == KEY_BYTES32)
		*(uint32_t *)to = (uint32_t)v;
	else
		*(uint64_t *)to = v;
	return 0;
}

static int put_key(struct site *site, const struct hdfs_key *k, struct hdfs_conf *c, struct err *e)
{
	void *to = (char *)c + k->offset;

	switch (k->type) {
	case KEY_WORDS:
		return 0;
	case KEY_UNBUILT:
		return check_unbuilt(site, k, e);
	case KEY_BOOL:
		return site_bool(site, k->name, strcmp(k->otherwise, "true") == 0, to, e);
	case KEY_CHECKSUM:
		return put_checksum(k, text_of(site, k), to, e);
	case KEY_UMASK:
		return put_umask(k, text_of(site, k), to, e);
	case KEY_PATH:
		return put_path(text_of(site, k), to);
	case KEY_POLICY:
		return put_policy(k, text_of(site, k), to, e);
	case KEY_PREFETCH:
		return 0;	/* after the table: it needs the size of a block */
	default:
		return put_number(site, k, to, e);
	}
}

static int put_all(struct site *site, struct hdfs_conf *c, struct err *e)
{
	enum hdfs_key_scope not_of = c->n_namenodes > 1 ? KEY_SINGLE : KEY_HA;
	int r = 0;

	for (unsigned i = 0; i < hdfs_n_keys && r == 0; i++)
		if (hdfs_keys[i].scope != not_of)
			r = put_key(site, &hdfs_keys[i], c, e);
	for (unsigned i = 0; i < hdfs_n_keys && r == 0; i++)
		if (hdfs_keys[i].type == KEY_PREFETCH)
			r = put_prefetch(site, &hdfs_keys[i], c, e);
	if (r == 0 && c->block_bytes % c->bytes_per_sum != 0)
		r = err_set(e, -EINVAL, "dfs.blocksize (%" PRIu64 ") is no multiple of dfs.bytes-per-checksum (%" PRIu32 ")",
			c->block_bytes, c->bytes_per_sum);
	return r < 0 ? r : site_failure(site, e);
}

int hdfs_conf_of(struct site *site, const char *authority, struct hdfs_conf *ret, struct err *e)
{
	struct hdfs_conf c = {0};
	int r = hdfs_conf_names(site, authority, &c, e);

	if (r == 0)
		r = put_all(site, &c, e);
	if (r == -EINVAL && *site_dir(site))
		err_prefix(e, r, "in %s: ", site_dir(site));
	if (r < 0)
		hdfs_conf_release(&c);
	else
		*ret = c;
	return r;
}

void hdfs_conf_release(struct hdfs_conf *c)
{
	for (unsigned i = 0; i < c->n_namenodes; i++) {
		mem_free(c->namenodes[i].id);
		mem_free(c->namenodes[i].rpc.host);
	}
	mem_free(c->authority);
	mem_free(c->nameservice);
	mem_free(c->origin);
	mem_free(c->user);
	mem_free(c->domain_socket);
	*c = (struct hdfs_conf){0};
}

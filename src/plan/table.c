/* SPDX-License-Identifier: Apache-2.0 */
/* A shard's member table in memory. */
#include "plan/table.h"

#include "base/scope.h"

void table_init(struct table *t, bool files)
{
	*t = (struct table){.files = files, .members = VEC_MAX(TABLE_MAX_MEMBERS), .samples = VEC_MAX(TABLE_MAX_MEMBERS)};
	buf_init(&t->keys, TABLE_KEYS_MAX);
	names_init(&t->exts, TABLE_MAX_EXTENSIONS);
}

void table_release(struct table *t)
{
	vec_release(&t->members);
	vec_release(&t->samples);
	buf_release(&t->keys);
	names_release(&t->exts);
}

int table_sample_add(struct table *t, struct str key, uint32_t class_no)
{
	struct table_sample s = {(uint32_t)t->keys.n, (uint32_t)key.n, (uint32_t)t->members.n, class_no};
	int r = buf_add(&t->keys, key.p, key.n);

	return r < 0 ? r : VEC_PUSH(&t->samples, s);
}

int table_member_add(struct table *t, struct str ext, uint64_t offset, uint64_t length)
{
	struct table_member m = {offset, length, 0};
	int r = names_add(&t->exts, ext, &m.ext);

	return r < 0 ? r : VEC_PUSH(&t->members, m);
}

struct str table_key(const struct table *t, size_t sample)
{
	const struct table_sample *s = &t->samples.ptr[sample];

	return (struct str){(const char *)t->keys.ptr + s->key_at, s->key_n};
}

uint32_t table_n_members(const struct table *t, size_t sample)
{
	size_t end = sample + 1 < t->samples.n ? t->samples.ptr[sample + 1].first : t->members.n;

	return (uint32_t)(end - t->samples.ptr[sample].first);
}

int table_identity(const struct table *t, uint8_t ret[SHA256_BYTES])
{
	AUTO(sha256) struct sha256 *h = sha256_new();

	if (!h)
		return -ENOMEM;
	sha256_add_str(h, "olddog members 1", 16);
	sha256_add_u64(h, t->samples.n);
	for (size_t i = 0; i < t->samples.n; i++) {
		struct str key = table_key(t, i);
		uint32_t n = table_n_members(t, i);

		sha256_add_str(h, key.p, key.n);
		sha256_add_u32(h, n);
		for (uint32_t j = 0; j < n; j++) {
			const struct table_member *m = &t->members.ptr[t->samples.ptr[i].first + j];
			struct str ext = names_at(&t->exts, m->ext);

			sha256_add_str(h, ext.p, ext.n);
			sha256_add_u64(h, m->offset);
			sha256_add_u64(h, m->length);
		}
	}
	sha256_finish(h, ret);
	return 0;
}

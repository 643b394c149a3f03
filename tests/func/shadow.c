/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

#define STRIP 65536u

static void must(bool holds)
{
	if (!holds)
		abort();
}

void shadow_init(struct shadow *s)
{
	*s = (struct shadow){.files = VEC_MAX(SHADOW_MAX_FILES)};
}

void content_release(struct content *c)
{
	vec_release(&c->pieces);
	c->length = 0;
}

static void file_release(struct shadow_file *f)
{
	mem_free(f->path);
	content_release(&f->content);
}

void shadow_release(struct shadow *s)
{
	for (size_t i = 0; i < s->files.n; i++)
		file_release(&s->files.ptr[i]);
	vec_release(&s->files);
}

struct shadow_file *shadow_find(struct shadow *s, const char *path)
{
	for (size_t i = 0; i < s->files.n; i++)
		if (strcmp(s->files.ptr[i].path, path) == 0)
			return &s->files.ptr[i];
	return NULL;
}

struct shadow_file *shadow_put(struct shadow *s, const char *path, bool is_dir)
{
	struct shadow_file *f = shadow_find(s, path);

	if (f) {
		content_release(&f->content);
		f->is_dir = is_dir;
		return f;
	}
	must(VEC_PUSH(&s->files, ((struct shadow_file){.path = mem_strdup(path), .is_dir = is_dir})) == 0);
	f = &s->files.ptr[s->files.n - 1];
	f->content.pieces.max = SHADOW_MAX_PIECES;
	must(f->path != NULL);
	return f;
}

/* What of path lies behind "above/", "" when it is above itself; NULL: it is elsewhere. */
static const char *below(const char *path, const char *above)
{
	size_t n = strlen(above);

	if (strncmp(path, above, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return path + n + (path[n] == '/');
}

void shadow_remove(struct shadow *s, const char *gone)
{
	AUTO_FREE char *path = mem_strdup(gone);
	size_t kept = 0;

	must(path != NULL);
	for (size_t i = 0; i < s->files.n; i++)
		if (below(s->files.ptr[i].path, path))
			file_release(&s->files.ptr[i]);
		else
			s->files.ptr[kept++] = s->files.ptr[i];
	s->files.n = kept;
}

void shadow_rename(struct shadow *s, const char *old, const char *to)
{
	/* What is given may be a path of the shadow's own, which is about to go. */
	AUTO_FREE char *from = mem_strdup(old);

	must(from != NULL);
	shadow_remove(s, to);
	for (size_t i = 0; i < s->files.n; i++) {
		struct shadow_file *f = &s->files.ptr[i];
		const char *rest = below(f->path, from);
		char *path;

		if (!rest)
			continue;
		path = mem_printf("%s%s%s", to, *rest ? "/" : "", rest);
		must(path != NULL);
		mem_free(f->path);
		f->path = path;
	}
}

bool shadow_is_in(const char *path, const char *dir)
{
	const char *rest = *dir ? below(path, dir) : path;

	return rest && *rest && !strchr(rest, '/');
}

unsigned shadow_count(const struct shadow *s, const char *dir)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->files.n; i++)
		n += shadow_is_in(s->files.ptr[i].path, dir);
	return n;
}

uint64_t shadow_bytes(const struct shadow *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->files.n; i++)
		n += s->files.ptr[i].content.length;
	return n;
}

void content_add(struct content *c, struct piece p)
{
	if (p.n == 0)
		return;
	must(VEC_PUSH(&c->pieces, p) == 0);
	c->length += p.n;
}

void content_join(struct content *c, const struct content *more)
{
	for (size_t i = 0; i < more->pieces.n; i++)
		content_add(c, more->pieces.ptr[i]);
}

void content_cut(struct content *c, uint64_t length)
{
	while (c->length > length) {
		struct piece *last = &c->pieces.ptr[c->pieces.n - 1];
		uint64_t n = MIN(last->n, c->length - length);

		last->n -= n;
		c->length -= n;
		c->pieces.n -= last->n == 0;
	}
}

/* Eight bytes of a stream: splitmix64. */
static uint64_t word_of(uint64_t key, uint64_t i)
{
	uint64_t z = key + (i + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void stream_fill(uint64_t key, uint64_t from, void *buf, uint64_t n)
{
	uint8_t *p = buf;

	while (n) {
		uint64_t word = word_of(key, from / 8), skip = from % 8, take = MIN(8 - skip, n);

		memcpy(p, (uint8_t *)&word + skip, take);
		p += take;
		from += take;
		n -= take;
	}
}

void content_fill(const struct content *c, uint64_t offset, void *buf, uint64_t n)
{
	uint8_t *p = buf;

	for (size_t i = 0; i < c->pieces.n && n; i++) {
		const struct piece *piece = &c->pieces.ptr[i];
		uint64_t take;

		if (offset >= piece->n) {
			offset -= piece->n;
			continue;
		}
		take = MIN(piece->n - offset, n);
		stream_fill(piece->key, piece->from + offset, p, take);
		p += take;
		n -= take;
		offset = 0;
	}
	must(n == 0);
}

uint64_t content_differs(const struct content *c, uint64_t offset, const void *buf, uint64_t n)
{
	static uint8_t wanted[STRIP];
	const uint8_t *p = buf;

	for (uint64_t at = 0; at < n; at += STRIP) {
		uint64_t take = MIN(STRIP, n - at), i = 0;

		content_fill(c, offset + at, wanted, take);
		if (memcmp(wanted, p + at, take) == 0)
			continue;
		while (wanted[i] == p[at + i])
			i++;
		return at + i;
	}
	return n;
}

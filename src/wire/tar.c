/* SPDX-License-Identifier: Apache-2.0 */
/* The tar parser. Everything in it comes from a stranger: each number is checked where it is read. */
#include "wire/tar.h"

#include <inttypes.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

/* What is wanted next. */
enum { WANT_HEADER, WANT_EXTENSION, WANT_SECOND_ZERO, WANT_AFTER, WANT_NOTHING };

/* Where the header's fields are. */
enum {
	AT_NAME = 0, N_NAME = 100,
	AT_SIZE = 124, N_SIZE = 12,
	AT_CHECKSUM = 148, N_CHECKSUM = 8,
	AT_TYPE = 156,
	AT_MAGIC = 257,
	AT_PREFIX = 345, N_PREFIX = 155,
};

/* has_data: bytes follow the header. What is in no row is told as unknown, and its bytes are skipped. */
static const struct tar_type {
	char type;
	bool member, has_data, directory;
	const char *kind;
} types[] = {
	{'0', true, true, false, "file"},
	{'\0', true, true, false, "file"},
	{'7', true, true, false, "file"},
	{'1', false, false, false, "hard link"},
	{'2', false, false, false, "symbolic link"},
	{'3', false, false, false, "character device"},
	{'4', false, false, false, "block device"},
	{'5', false, false, true, "directory"},
	{'6', false, false, false, "FIFO"},
	{'D', false, true, false, "GNU dump directory"},
	{'V', false, true, false, "volume label"},
};
static const struct tar_type type_unknown = {0, false, true, false, "member of an unknown type"};

void tar_init(struct tar *t, uint64_t file_length)
{
	*t = (struct tar){.length = file_length, .state = WANT_HEADER, .want = TAR_BLOCK};
	/* A NUL more than the longest name, which tells a name that is too long from one that just fits. */
	buf_init(&t->path, TAR_NAME_MAX + 1);
	buf_init(&t->long_name, TAR_NAME_MAX + 1);
	buf_init(&t->global_path, TAR_NAME_MAX + 1);
	buf_init(&t->name, TAR_NAME_MAX + 1);
}

void tar_release(struct tar *t)
{
	buf_release(&t->path);
	buf_release(&t->long_name);
	buf_release(&t->global_path);
	buf_release(&t->name);
}

static void tar_finish(struct tar *t, enum tar_end how)
{
	t->end = how;
	t->end_at = t->at;
	t->state = WANT_NOTHING;
}

/* What is left of the file when less than what is wanted. */
static int next_at_cut(struct tar *t, uint64_t left, struct err *e)
{
	switch (t->state) {
	case WANT_HEADER:
		/* Padding of the last member may be missing too: that is not inside a header. */
		if (left == 0 && t->first_header == t->at) {
			tar_finish(t, TAR_END_BARE);
			return 0;
		}
		return err_set(e, E_FORMAT, "ends inside a header at %" PRIu64, t->length);
	case WANT_SECOND_ZERO:
		t->end = TAR_END_LONE;
		t->state = WANT_NOTHING;
		return 0;
	case WANT_AFTER:
		t->want = (size_t)left;
		if (left == 0)
			t->state = WANT_NOTHING;
		return 0;
	}
	return err_set(e, E_FORMAT, "ends inside an extended header at %" PRIu64, t->length);
}

int tar_next(struct tar *t, uint64_t *ret_offset, size_t *ret_n, struct err *e)
{
	uint64_t left = t->at < t->length ? t->length - t->at : 0;
	int r;

	if (t->state != WANT_NOTHING && left < t->want) {
		r = next_at_cut(t, left, e);
		if (r < 0)
			return r;
	}
	if (t->state == WANT_NOTHING)
		return 0;
	*ret_offset = t->at;
	*ret_n = t->want;
	return 1;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Octal digits between spaces and NULs, or base-256 when the first bit is set. No digits at all is 0. */
static int number_parse(const uint8_t *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	if (p[0] & 0x80) {
		if (p[0] != 0x80)
			return -ERANGE; /* negative, or beyond 2^63 */
		for (i = 1; i < n; i++) {
			if (v >> 55)
				return -ERANGE;
			v = v << 8 | p[i];
		}
		*ret = v;
		return 0;
	}
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(p[i] - '0'); /* 12 digits of 3 bits: no overflow */
	for (; i < n; i++)
		if (p[i] != ' ' && p[i] != 0)
			return -EINVAL;
	*ret = v;
	return 0;
}

/*
 * Sum of n bytes, a multiple of 8 up to TAR_BLOCK, eight at a time: pairs in 16 bits each, which hold 64 of them. Indexing
 * passes over each header of an archive, and this is a third of what it does there.
 */
static int64_t sum_of(const uint8_t *p, size_t n)
{
	const uint64_t every_second = 0x00ff00ff00ff00ff;
	uint64_t pairs = 0, word;
	int64_t sum = 0;

	for (size_t i = 0; i < n; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		pairs += (word & every_second) + (word >> 8 & every_second);
	}
	for (unsigned i = 0; i < 4; i++)
		sum += (int64_t)(pairs >> 16 * i & 0xffff);
	return sum;
}

static int64_t n_negative(const uint8_t *p, size_t n)
{
	int64_t negative = 0;

	for (size_t i = 0; i < n; i++)
		negative += p[i] >> 7;
	return negative;
}

/* The sum of all bytes with the checksum's own as spaces. Some old writers summed signed chars. */
static bool checksum_right(const uint8_t *h)
{
	const uint8_t *own = h + AT_CHECKSUM;
	int64_t sum = sum_of(h, TAR_BLOCK) - sum_of(own, N_CHECKSUM) + N_CHECKSUM * ' ';
	uint64_t said;

	if (number_parse(own, N_CHECKSUM, &said) < 0)
		return false;
	return (int64_t)said == sum || (int64_t)said == sum - 256 * (n_negative(h, TAR_BLOCK) - n_negative(own, N_CHECKSUM));
}

static const struct {
	const char *magic, *name;
	size_t n;
} compressed[] = {
	{"\x1f\x8b", "gzip", 2},
	{"\x28\xb5\x2f\xfd", "zstd", 4},
	{"BZh", "bzip2", 3},
	{"\xfd" "7zXZ", "xz", 5},
	{"\x04\x22\x4d\x18", "lz4", 4},
	{"PK\x03\x04", "zip", 4},
	{"7z\xbc\xaf\x27\x1c", "7-Zip", 6},
};

static int header_refuse(const struct tar *t, const uint8_t *h, struct err *e)
{
	for (unsigned i = 0; t->at == 0 && i < N_ELEMS(compressed); i++)
		if (memcmp(h, compressed[i].magic, compressed[i].n) == 0)
			return err_set(e, E_FORMAT,
				"is compressed with %s, so its members have no offsets: unpack it to a plain tar",
				compressed[i].name);
	if (t->at == 0)
		return err_set(e, E_FORMAT, "is no tar archive (its first header's checksum is wrong)");
	return err_set(e, E_FORMAT, "has no header at %" PRIu64 " (wrong checksum)", t->at);
}

static size_t field_length(const uint8_t *p, size_t max)
{
	const uint8_t *nul = memchr(p, 0, max);

	return nul ? (size_t)(nul - p) : max;
}

/* The member's name in t->name: PAX goes before GNU, GNU before the header's own. */
static int name_build(struct tar *t, const uint8_t *h, struct err *e)
{
	bool ustar = memcmp(h + AT_MAGIC, "ustar\0" "00", 8) == 0;
	size_t n_prefix = ustar ? field_length(h + AT_PREFIX, N_PREFIX) : 0;

	buf_clear(&t->name);
	if (t->has_path) {
		buf_add(&t->name, t->path.ptr, t->path.n);
	} else if (t->long_name.n > 0) {
		buf_add(&t->name, t->long_name.ptr, t->long_name.n);
	} else if (t->global_has_path) {
		buf_add(&t->name, t->global_path.ptr, t->global_path.n);
	} else {
		if (n_prefix > 0) {
			buf_add(&t->name, h + AT_PREFIX, n_prefix);
			buf_add(&t->name, "/", 1);
		}
		buf_add(&t->name, h + AT_NAME, field_length(h + AT_NAME, N_NAME));
	}
	if (t->name.r < 0)
		return t->name.r;
	if (t->name.n == 0)
		return err_set(e, E_FORMAT, "has a member without a name at %" PRIu64, t->first_header);
	return 0;
}

static const struct tar_type *type_of(const struct tar *t, char type)
{
	static const struct tar_type old_directory = {0, false, false, true, "directory"};

	/* Before ustar a directory was a file whose name ends with a slash. */
	if ((type == '0' || type == '\0') && t->name.ptr[t->name.n - 1] == '/')
		return &old_directory;
	for (unsigned i = 0; i < N_ELEMS(types); i++)
		if (types[i].type == type)
			return &types[i];
	return &type_unknown;
}

static bool is_extension(char type)
{
	return type == 'L' || type == 'K' || type == 'x' || type == 'X' || type == 'g';
}

/* Makes the next header wanted, behind n bytes of data and their padding. */
static void go_to_header(struct tar *t, uint64_t n)
{
	t->at += n + (TAR_BLOCK - n % TAR_BLOCK) % TAR_BLOCK;
	t->state = WANT_HEADER;
	t->want = TAR_BLOCK;
}

static void member_forget(struct tar *t)
{
	t->has_path = t->has_size = t->sparse = false;
	buf_clear(&t->path);
	buf_clear(&t->long_name);
	t->first_header = t->at;
}

static int extension_begin(struct tar *t, char type, uint64_t size, struct err *e)
{
	if (size > TAR_EXTENSION_MAX)
		return err_set(e, E_FORMAT, "has an extended header of %" PRIu64 " bytes at %" PRIu64 " (at most %u)",
			size, t->at, TAR_EXTENSION_MAX);
	t->at += TAR_BLOCK;
	if (size == 0) {
		go_to_header(t, 0);
		return TAR_MORE;
	}
	t->extension = type;
	t->want = (size_t)size;
	t->state = WANT_EXTENSION;
	return TAR_MORE;
}

/* Words for people must not carry a terminal's control sequences out of a hostile archive. */
#define SHOW(t) str_printable((struct str){(char *)(t)->name.ptr, (t)->name.n}, (char[80]){0}, 80)

static int member_end(struct tar *t, char type, uint64_t size, struct tar_member *ret, struct err *e)
{
	const struct tar_type *kind = type_of(t, type);

	if (t->has_size || t->global_has_size)
		size = t->has_size ? t->size : t->global_size;
	if (type == 'S' || t->sparse)
		return err_set(e, E_FORMAT, "has a sparse member %s at %" PRIu64 ": pack it without --sparse", SHOW(t),
			t->first_header);
	if (type == 'M')
		return err_set(e, E_FORMAT, "is a piece of a multi-volume archive (member %s at %" PRIu64 ")", SHOW(t),
			t->first_header);
	if (!kind->has_data)
		size = 0;
	t->at += TAR_BLOCK;
	if (size > t->length - t->at)
		return err_set(e, E_FORMAT, "is cut off: member %s at %" PRIu64 " has %" PRIu64 " bytes, %" PRIu64
			" are there", SHOW(t), t->first_header, size, t->length - t->at);
	*ret = (struct tar_member){
		.name = (char *)t->name.ptr,
		.name_n = t->name.n,
		.kind = kind->kind,
		.directory = kind->directory,
		.header = t->first_header,
		.offset = t->at,
		.length = size,
	};
	go_to_header(t, size);
	member_forget(t);
	return kind->member ? TAR_MEMBER : TAR_OTHER;
}

static int header_feed(struct tar *t, const uint8_t *h, struct tar_member *ret, struct err *e)
{
	char type = (char)h[AT_TYPE];
	uint64_t size;
	int r;

	if (all_zero(h, TAR_BLOCK)) {
		if (t->first_header != t->at)
			return err_set(e, E_FORMAT, "ends after an extended header at %" PRIu64, t->at);
		t->end_at = t->at;
		t->at += TAR_BLOCK;
		t->state = WANT_SECOND_ZERO;
		return TAR_MORE;
	}
	if (!checksum_right(h))
		return header_refuse(t, h, e);
	r = number_parse(h + AT_SIZE, N_SIZE, &size);
	if (r < 0)
		return err_set(e, E_FORMAT, "has a header whose size is no number at %" PRIu64, t->at);
	if (is_extension(type))
		return extension_begin(t, type, size, e);
	r = name_build(t, h, e);
	if (r < 0)
		return r;
	return member_end(t, type, size, ret, e);
}

static int path_set(struct buf *b, bool *ret_has, struct str value)
{
	buf_clear(b);
	*ret_has = value.n > 0; /* an empty value takes the record back */
	if (memchr(value.p, 0, value.n) || value.n > TAR_NAME_MAX)
		return -EINVAL;
	return buf_add(b, value.p, value.n);
}

static int pax_record(struct tar *t, bool global, struct str key, struct str value)
{
	if (str_eq(key, "path"))
		return global ? path_set(&t->global_path, &t->global_has_path, value)
			      : path_set(&t->path, &t->has_path, value);
	if (str_eq(key, "size")) {
		*(global ? &t->global_has_size : &t->has_size) = value.n > 0;
		return value.n > 0 ? str_to_u64(value, global ? &t->global_size : &t->size) : 0;
	}
	if (str_starts(key, "GNU.sparse."))
		t->sparse = true;
	return 0;
}

/* "LENGTH KEY=VALUE\n", where LENGTH counts the whole record. */
static int pax_parse(struct tar *t, const char *p, size_t n, bool global)
{
	while (n > 0) {
		struct str left = {p, n}, digits, key;
		uint64_t length;
		int r;

		digits = str_split(&left, ' ');
		if (str_to_u64(digits, &length) < 0 || length > n || length < digits.n + 3 || p[length - 1] != '\n')
			return -EINVAL;
		left = (struct str){p + digits.n + 1, (size_t)length - digits.n - 2};
		if (!memchr(left.p, '=', left.n))
			return -EINVAL;
		key = str_split(&left, '=');
		r = pax_record(t, global, key, left);
		if (r < 0)
			return r;
		p += length;
		n -= (size_t)length;
	}
	return 0;
}

static int extension_feed(struct tar *t, const char *p, struct err *e)
{
	size_t n = t->want, n_name;
	int r = 0;

	if (t->extension == 'L') {
		n_name = field_length((const uint8_t *)p, n);
		buf_clear(&t->long_name);
		r = n_name > TAR_NAME_MAX ? -EINVAL : buf_add(&t->long_name, p, n_name);
	} else if (t->extension != 'K') {
		r = pax_parse(t, p, n, t->extension == 'g');
	}
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return err_set(e, E_FORMAT, "has a broken extended header at %" PRIu64, t->at - TAR_BLOCK);
	go_to_header(t, n);
	/* A global header belongs to no member, so it is none's first. */
	if (t->extension == 'g' && !t->has_path && !t->has_size && !t->sparse && t->long_name.n == 0)
		t->first_header = t->at;
	return TAR_MORE;
}

int tar_feed(struct tar *t, const void *p, struct tar_member *ret, struct err *e)
{
	switch (t->state) {
	case WANT_HEADER:
		return header_feed(t, p, ret, e);
	case WANT_EXTENSION:
		return extension_feed(t, p, e);
	case WANT_SECOND_ZERO:
		t->end = all_zero(p, TAR_BLOCK) ? TAR_END_WELL : TAR_END_LONE;
		t->more_after = t->end == TAR_END_LONE;
		t->at += TAR_BLOCK;
		t->state = t->more_after ? WANT_NOTHING : WANT_AFTER;
		t->want = TAR_AFTER_MAX;
		return TAR_MORE;
	case WANT_AFTER:
		t->more_after = !all_zero(p, t->want);
		t->state = WANT_NOTHING;
		return TAR_MORE;
	}
	return -EINVAL;
}

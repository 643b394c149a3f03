/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/hadoop/status.h"

#include <string.h>

#include "base/err.h"
#include "wire/hadoop/pb.h"

/* The fields that must be there are 1 to 8: a bit each. */
#define REQUIRED 0x1feu

static bool permission_parse(struct str message, uint32_t *ret)
{
	struct pb p = pb_of(message.p, message.n);
	bool has = false;

	while (pb_next(&p))
		if (pb_tag(&p) == PB_TAG(1, PB_VARINT)) {
			*ret = (uint32_t)p.value & 01777;
			has = true;
		}
	return has && !p.rd.bad;
}

/* Field 9 and up. */
static void status_more(struct hdfs_status *s, const struct pb *p)
{
	switch (pb_tag(p)) {
	case PB_TAG(9, PB_BYTES):
		s->symlink = p->bytes;
		break;
	case PB_TAG(10, PB_VARINT):
		s->replication = (uint32_t)p->value;
		break;
	case PB_TAG(11, PB_VARINT):
		s->block_bytes = p->value;
		break;
	case PB_TAG(12, PB_BYTES):
		s->locations = p->bytes;
		break;
	case PB_TAG(13, PB_VARINT):
		s->file_id = p->value;
		break;
	case PB_TAG(14, PB_VARINT):
		s->n_children = (int32_t)p->value;
		break;
	case PB_TAG(15, PB_BYTES):
		s->encrypted = true;
		break;
	case PB_TAG(16, PB_VARINT):
		s->policy = (uint32_t)p->value;
		break;
	case PB_TAG(17, PB_BYTES):
		s->erasure_coded = true;
		break;
	case PB_TAG(18, PB_VARINT):
		s->flags = (uint32_t)p->value;
		break;
	}
}

/* Of fields 1 to 8: whether it is well-formed. */
static bool status_field(struct hdfs_status *s, const struct pb *p)
{
	switch (pb_tag(p)) {
	case PB_TAG(1, PB_VARINT):
		s->type = (enum hdfs_type)p->value;
		return p->value >= HDFS_DIR && p->value <= HDFS_SYMLINK;
	case PB_TAG(2, PB_BYTES):
		s->name = p->bytes;
		return true;
	case PB_TAG(3, PB_VARINT):
		s->length = p->value;
		return p->value <= INT64_MAX;
	case PB_TAG(4, PB_BYTES):
		return permission_parse(p->bytes, &s->mode);
	case PB_TAG(5, PB_BYTES):
		s->owner = p->bytes;
		return true;
	case PB_TAG(6, PB_BYTES):
		s->group = p->bytes;
		return true;
	case PB_TAG(7, PB_VARINT):
		s->mtime_ms = p->value;
		return true;
	case PB_TAG(8, PB_VARINT):
		s->atime_ms = p->value;
		return true;
	}
	return false;	/* of another type */
}

int hdfs_status_parse(struct str message, struct hdfs_status *ret)
{
	struct pb p = pb_of(message.p, message.n);
	struct str none = {"", 0};
	struct hdfs_status s = {.symlink = none, .locations = none, .n_children = -1};
	uint32_t has = 0;

	while (pb_next(&p)) {
		if (p.field > 8) {
			status_more(&s, &p);
			continue;
		}
		if (!status_field(&s, &p))
			return E_PROTOCOL;
		has |= 1u << p.field;
	}
	if (p.rd.bad || has != REQUIRED)
		return E_PROTOCOL;
	*ret = s;
	return 0;
}

int hdfs_listing_begin(struct str response, struct hdfs_listing *ret)
{
	struct pb p = pb_of(response.p, response.n);
	bool has = false;

	while (pb_next(&p))
		if (pb_tag(&p) == PB_TAG(1, PB_BYTES)) {
			*ret = (struct hdfs_listing){.message = p.bytes};
			has = true;
		}
	if (p.rd.bad)
		return E_PROTOCOL;
	return has ? 0 : -ENOENT;
}

/* Names become parts of paths, here and on this host: what a NameNode would never give as one is refused. */
static bool name_good(struct str name)
{
	if (name.n <= 2 && (str_eq(name, ".") || str_eq(name, "..")))
		return false;
	return name.n == 0 || (!memchr(name.p, '/', name.n) && !memchr(name.p, 0, name.n));
}

int hdfs_listing_next(struct hdfs_listing *l, struct hdfs_status *ret)
{
	struct pb p = pb_of(l->message.p + l->at, l->message.n - l->at);

	while (pb_next(&p))
		switch (pb_tag(&p)) {
		case PB_TAG(1, PB_BYTES):
			l->at = l->message.n - rd_left(&p.rd);
			if (hdfs_status_parse(p.bytes, ret) < 0 || !name_good(ret->name))
				return E_PROTOCOL;
			return 1;
		case PB_TAG(2, PB_VARINT):
			l->remaining = (uint32_t)p.value;
			l->told = true;
			break;
		}
	l->at = l->message.n;
	return p.rd.bad || !l->told ? E_PROTOCOL : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Extended attributes: on the wire, the part of the name before the first dot is a number. */
#include <errno.h>
#include <string.h>

#include "store/hdfs/names/names_int.h"

#define MAX_LIST (1u << 20)

enum { FLAG_CREATE = 1, FLAG_REPLACE = 2 };

static const char *const SPACES[] = {"user", "trusted", "security", "system", "raw"};

/* XAttrProto: 1 namespace, 2 name, 3 value. */
static void put_xattr(struct names_op *op, struct buf *b, bool has_value)
{
	const struct store_xattr *x = &op->req->xattr;
	struct str rest = str_of(x->name), space = str_split(&rest, '.');
	size_t at = b->n, i = 0;

	while (i < N_ELEMS(SPACES) && !str_eq(space, SPACES[i]))
		i++;
	if (i == N_ELEMS(SPACES) || rest.n == 0) {
		b->r = err_set(op->req->err, -EOPNOTSUPP, "HDFS has no attribute %s: user.NAME and trusted.NAME it has", x->name);
		return;
	}
	buf_pb_u64(b, 1, i);
	buf_pb_bytes(b, 2, rest.p, rest.n);
	if (has_value)
		buf_pb_bytes(b, 3, x->value, x->n);
	buf_pb_delimit(b, 2, at);
}

static void one_put(struct names_op *op, struct buf *b)
{
	names_put_path(op, b);
	put_xattr(op, b, false);
}

struct xattr {
	uint64_t space;
	struct str name, value;
};

static int xattr_parse(struct str message, struct xattr *ret)
{
	struct pb p = pb_of(message.p, message.n);

	*ret = (struct xattr){.space = UINT64_MAX, .name = {"", 0}, .value = {"", 0}};
	while (pb_next(&p))
		switch (pb_tag(&p)) {
		case PB_TAG(1, PB_VARINT):
			ret->space = p.value;
			break;
		case PB_TAG(2, PB_BYTES):
			ret->name = p.bytes;
			break;
		case PB_TAG(3, PB_BYTES):
			ret->value = p.bytes;
			break;
		}
	return p.rd.bad || ret->space >= N_ELEMS(SPACES) ? E_PROTOCOL : 0;
}

/* GetXAttrsResponseProto: 1 xAttrs. The value gets a NUL behind it, which does not count. */
static int get_take(struct names_op *op, struct str answer)
{
	struct store_xattr *x = &op->req->xattr;
	struct xattr found;
	bool has;
	int r;
	struct str message = names_take_bytes(answer, &has, &r);

	if (r == 0)
		r = has ? xattr_parse(message, &found) : -ENODATA;
	if (r < 0)
		return r;
	x->value = mem_strndup(found.value.p, found.value.n);
	x->n = found.value.n;
	return x->value ? 0 : -ENOMEM;
}

const struct names_verb names_xattr_get = {"getXAttrs", NN_READ, one_put, get_take, NULL};

/* SetXAttrRequestProto: 1 src, 2 xAttr, 3 flag. */
static void set_put(struct names_op *op, struct buf *b)
{
	const struct store_xattr *x = &op->req->xattr;

	names_put_path(op, b);
	put_xattr(op, b, true);
	buf_pb_u64(b, 3, (x->replace ? 0u : FLAG_CREATE) | (x->create ? 0u : FLAG_REPLACE));
}

const struct names_verb names_xattr_set = {"setXAttr", NN_AT_MOST_ONCE, set_put, NULL, NULL};
const struct names_verb names_xattr_remove = {"removeXAttr", NN_AT_MOST_ONCE, one_put, NULL, NULL};

/* ListXAttrsResponseProto: 1 xAttrs. */
static int list_take(struct names_op *op, struct str answer)
{
	struct pb p = pb_of(answer.p, answer.n);
	AUTO_BUF struct buf names = {.max = MAX_LIST};
	struct xattr x;

	while (pb_next(&p)) {
		if (pb_tag(&p) != PB_TAG(1, PB_BYTES))
			continue;
		if (xattr_parse(p.bytes, &x) < 0)
			return E_PROTOCOL;
		buf_printf(&names, "%s.", SPACES[x.space]);
		buf_add(&names, x.name.p, x.name.n);
		buf_u8(&names, 0);
	}
	if (p.rd.bad || names.r < 0)
		return p.rd.bad ? E_PROTOCOL : names.r;
	op->req->xattr.n = 0;
	op->req->xattr.value = buf_take(&names, &op->req->xattr.n);
	return 0;
}

const struct names_verb names_xattr_list = {"listXAttrs", NN_READ, names_put_path, list_take, NULL};

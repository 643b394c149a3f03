/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/names/names.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "store/hdfs/names/names_int.h"

#define MAX_INTERNED (1u << 16)
#define FIRST_SLOTS 256u

/* Strings that stay. */

static const char **slot_of(const struct interned *in, struct str s)
{
	size_t i = xxh3_of(s.p, s.n) & (in->n_slots - 1);

	while (in->slots[i] && !str_eq(s, in->slots[i]))
		i = (i + 1) & (in->n_slots - 1);
	return &in->slots[i];
}

static bool interned_grow(struct interned *in)
{
	struct interned more = {.n_slots = MAX(in->n_slots * 2, FIRST_SLOTS), .n = in->n};

	more.slots = mem_calloc(more.n_slots, sizeof(more.slots[0]));
	if (!more.slots)
		return false;
	for (size_t i = 0; i < in->n_slots; i++)
		if (in->slots[i])
			*slot_of(&more, str_of(in->slots[i])) = in->slots[i];
	mem_free(in->slots);
	more.last = in->last;
	*in = more;
	return true;
}

/* What is there is found also when nothing can be added any more. */
const char *intern(struct interned *in, struct str s)
{
	const char **slot;

	if (in->last && str_eq(s, in->last))
		return in->last;
	slot = in->n_slots ? slot_of(in, s) : NULL;
	if (slot && *slot)
		return in->last = *slot;
	/* A NUL in a name would never be found again. */
	if (s.n && memchr(s.p, 0, s.n))
		return NULL;
	if (in->n * 2 >= in->n_slots) {
		if (in->n >= MAX_INTERNED || !interned_grow(in))
			return NULL;
		slot = slot_of(in, s);
	}
	*slot = mem_strndup(s.p, s.n);
	in->n += *slot != NULL;
	return in->last = *slot;
}

void interned_release(struct interned *in)
{
	for (size_t i = 0; i < in->n_slots; i++)
		mem_free((char *)in->slots[i]);
	mem_free(in->slots);
}

int names_new(struct loop *loop, const struct hdfs_conf *conf, struct nn *nn, struct names **ret)
{
	struct names *n = mem_zalloc(sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->loop = loop;
	n->conf = conf;
	n->nn = nn;
	*ret = n;
	return 0;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	interned_release(&n->owners);
	interned_release(&n->groups);
	mem_free(n);
}

/* Requests and answers. */

void names_put_path(struct names_op *op, struct buf *b)
{
	buf_pb_str(b, 1, op->path);
}

void names_put_mode(struct buf *b, uint32_t field, uint32_t mode)
{
	size_t at = b->n;

	buf_pb_u64(b, 1, mode);
	buf_pb_delimit(b, field, at);
}

uint64_t names_take_u64(struct str answer, uint64_t otherwise, int *ret_r)
{
	struct pb p = pb_of(answer.p, answer.n);

	while (pb_next(&p))
		if (pb_tag(&p) == PB_TAG(1, PB_VARINT))
			otherwise = p.value;
	*ret_r = p.rd.bad ? E_PROTOCOL : 0;
	return otherwise;
}

struct str names_take_bytes(struct str answer, bool *ret_has, int *ret_r)
{
	struct pb p = pb_of(answer.p, answer.n);
	struct str found = {"", 0};

	*ret_has = false;
	while (pb_next(&p))
		if (pb_tag(&p) == PB_TAG(1, PB_BYTES)) {
			found = p.bytes;
			*ret_has = true;
		}
	*ret_r = p.rd.bad ? E_PROTOCOL : 0;
	return found;
}

/* Operations. */

static const struct names_verb *first_verb(struct names_op *op)
{
	switch (op->req->op) {
	case STORE_STAT:
		return &names_stat;
	case STORE_LIST:
		return &names_list;
	case STORE_MKDIR:
		return &names_mkdir;
	case STORE_REMOVE:
		return &names_remove;
	case STORE_REMOVE_TREE:
		return &names_remove_tree;
	case STORE_RENAME:
		/* To its own name a NameNode renames nothing, and says so as an error. */
		return strcmp(op->path, op->to) == 0 ? &names_exists : &names_rename;
	case STORE_RENAME_NEW:
		return &names_rename_new;
	case STORE_CONCAT:
		return &names_concat;
	case STORE_TRASH:
		return &names_trash;
	case STORE_SET:
		return names_set_next(op);
	case STORE_XATTR_GET:
		return &names_xattr_get;
	case STORE_XATTR_SET:
		return &names_xattr_set;
	case STORE_XATTR_REMOVE:
		return &names_xattr_remove;
	case STORE_XATTR_LIST:
		return &names_xattr_list;
	case STORE_SPACE:
		return &names_space;
	case STORE_SUMMARY:
		return &names_summary;
	case STORE_LOCATE:
		return &names_locate;
	default:
		return NULL;
	}
}

bool names_can(enum store_op op)
{
	struct store_set set = {.mode = 0};
	struct store_req req = {.op = op, .set = &set};
	struct names_op probe = {.req = &req, .path = "/", .to = "/"};

	return first_verb(&probe) != NULL;
}

static void end(struct names_op *op, int r)
{
	struct err *e = op->req->err;

	/* Who refused to ask has said why. */
	if (r < 0 && e && op->call.body.r == 0 && op->call.err.words[0])
		err_set(e, r, "%s", op->call.err.words);
	nn_call_release(&op->call);
	mem_free(op->place);
	mem_free(op->parent);
	op->place = op->parent = NULL;
	op->done(op, r);
}

static void on_called(struct nn_call *call);

static void submit(struct names_op *op)
{
	struct nn_call *call = &op->call;

	call->method = op->verb->method;
	call->kind = op->verb->kind;
	buf_clear(&call->body);
	op->verb->put(op, &call->body);
	nn_submit(op->names->nn, call);
}

static void on_called(struct nn_call *call)
{
	struct names_op *op = container_of(call, struct names_op, call);
	const struct names_verb *verb = op->verb;
	int r = call->r;

	if (r == 0 && verb->take)
		r = verb->take(op, call->answer);
	else if (r < 0 && verb->fail)
		r = verb->fail(op, r);
	if (r == NAMES_MORE)
		submit(op);
	else
		end(op, r);
}

void names_start(struct names *n, struct names_op *op)
{
	op->names = n;
	op->step = 0;
	op->place = op->parent = NULL;
	op->call = (struct nn_call){.done = on_called, .ctx = op, .deadline_ns = op->req->deadline_ns};
	buf_init(&op->call.body, NN_MAX_BODY);
	op->verb = first_verb(op);
	/* A SET of nothing still says whether there is something. */
	if (!op->verb)
		op->verb = &names_exists;
	submit(op);
}

void names_cancel(struct names_op *op)
{
	nn_cancel(&op->call);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/read/locate.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "store/hdfs/read/read_policy.h"
#include "store/hdfs/version.h"
#include "wire/hadoop/pb.h"
#include "wire/hadoop/status.h"

#define STRETCH_MAX_BYTES (512u << 20) /* of one answer, as structs */
#define REQUEST_MAX_BYTES (1u << 20)
#define ACTION_READ 4	/* FsActionProto */

/* What is kept of one file. */
struct kept {
	struct list list;	/* the longest unused first */
	char *path;
	char version[STORE_VERSION_MAX];
	size_t n_bytes;
	struct list stretches;	/* newest last */
};

struct locator {
	struct loop *loop;
	const struct hdfs_conf *conf;
	struct nn *nn;
	struct dialer *dialer;
	struct list files;
	size_t n_bytes;
};

static struct stretch *stretch_ref(struct stretch *s)
{
	s->refs++;
	return s;
}

void stretch_unref(struct stretch *s)
{
	if (!s || --s->refs)
		return;
	arena_release(&s->arena);
	mem_free(s);
}

static uint64_t block_end(const struct hdfs_located *b)
{
	return b->offset + b->block.n_bytes;
}

struct hdfs_located *stretch_find(const struct stretch *s, uint64_t offset)
{
	size_t from = 0, to = s->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (block_end(&s->blocks[middle]) <= offset)
			from = middle + 1;
		else
			to = middle;
	}
	return from < s->n && s->blocks[from].offset <= offset ? &s->blocks[from] : NULL;
}

/* -- What is kept ------------------------------------------------------------------------------------------------- */

static void kept_free(struct locator *l, struct kept *k)
{
	struct list *e;

	while ((e = list_pop(&k->stretches)))
		stretch_unref(container_of(e, struct stretch, list));
	l->n_bytes -= k->n_bytes;
	list_del(&k->list);
	mem_free(k->path);
	mem_free(k);
}

static struct kept *kept_find(struct locator *l, const char *path, const char *version)
{
	LIST_EACH(e, &l->files) {
		struct kept *k = container_of(e, struct kept, list);

		if (strcmp(k->path, path) != 0 || strcmp(k->version, version) != 0)
			continue;
		list_del(&k->list);
		list_add(&l->files, &k->list);
		return k;
	}
	return NULL;
}

static struct kept *kept_new(struct locator *l, const char *path, const char *version)
{
	struct kept *k = mem_zalloc(sizeof(*k));

	if (!k)
		return NULL;
	list_init(&k->stretches);
	list_add(&l->files, &k->list);
	snprintf(k->version, sizeof(k->version), "%s", version);
	k->path = mem_strdup(path);
	if (k->path)
		return k;
	kept_free(l, k);
	return NULL;
}

static struct stretch *kept_stretch(struct kept *k, uint64_t offset)
{
	LIST_EACH(e, &k->stretches) {
		struct stretch *s = container_of(e, struct stretch, list);

		if (stretch_find(s, offset) || offset >= s->file_bytes)
			return s;
	}
	return NULL;
}

static bool kept_has(struct kept *k, const struct stretch *s)
{
	LIST_EACH(e, &k->stretches)
		if (container_of(e, struct stretch, list) == s)
			return true;
	return false;
}

/* Where memory is short nothing is kept, and that is all. */
static void keep(struct locator *l, struct lookup *u, struct stretch *s)
{
	struct kept *k;

	if (!u->file || !*u->file->version || s->growing || s->arena.n_bytes > LOCATE_MAX_BYTES / 4)
		return;
	k = kept_find(l, u->path, u->file->version);
	if (!k)
		k = kept_new(l, u->path, u->file->version);
	if (!k)
		return;
	list_add(&k->stretches, &stretch_ref(s)->list);
	k->n_bytes += s->arena.n_bytes;
	l->n_bytes += s->arena.n_bytes;
	while (l->n_bytes > LOCATE_MAX_BYTES)
		kept_free(l, container_of(l->files.next, struct kept, list));
}

/* -- One lookup --------------------------------------------------------------------------------------------------- */

static void lookup_end(struct lookup *u, int r)
{
	buf_release(&u->body);
	if (r < 0) {
		stretch_unref(TAKE(u->stretch));
		if (!u->err.code)
			err_set(&u->err, r, "%s", err_text(r));
	} else {
		keep(u->locator, u, u->stretch);
	}
	u->done(u, r);
}

static int check_kind(struct lookup *u, bool encrypted, bool erasure_coded)
{
	if (encrypted)
		return err_set(&u->err, -EOPNOTSUPP, "it lies in an encrypted zone, which this client cannot decrypt");
	if (erasure_coded)
		return err_set(&u->err, -EOPNOTSUPP, "it is erasure coded, which this client cannot read");
	return 0;
}

static int stretch_check(struct lookup *u, const struct hdfs_locations *l)
{
	struct stretch *s = u->stretch;
	int r = check_kind(u, l->encrypted, l->erasure_coded);

	if (r < 0)
		return r;
	for (size_t i = 0; i < s->n; i++) {
		if (s->blocks[i].is_group)
			return check_kind(u, false, true);
		if (strcmp(s->blocks[i].block.pool, s->blocks[0].block.pool) != 0)
			return err_set(&u->err, -ESTALE, "its blocks are of two clusters, %s and %s",
				s->blocks[0].block.pool, s->blocks[i].block.pool);
		if (i && s->blocks[i].offset != block_end(&s->blocks[i - 1]))
			return err_set(&u->err, E_PROTOCOL, "the NameNode's locations have holes");
	}
	if (s->n)
		s->pool_of = s->blocks[0].block;
	return 0;
}

/* The block that is written, behind the others, as long as visible says. A stretch that ends before it has only its length. */
static int stretch_add_last(struct stretch *s, const struct hdfs_located *last, uint64_t visible)
{
	struct hdfs_located *blocks;

	s->file_bytes += visible;
	if (!visible || (s->n && block_end(&s->blocks[s->n - 1]) != last->offset))
		return 0;
	blocks = arena_alloc(&s->arena, (s->n + 1) * sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	if (s->n)
		memcpy(blocks, s->blocks, s->n * sizeof(*blocks));
	blocks[s->n] = *last;
	blocks[s->n].block.n_bytes = visible;
	s->blocks = blocks;
	s->n++;
	return 0;
}

static void lookup_ask_last(struct lookup *u, const struct hdfs_located *last);

static void lookup_told(struct lookup *u, const struct hdfs_located *last)
{
	int r = stretch_add_last(u->stretch, last, u->visible);

	if (r == 0)
		r = stretch_check(u, &(struct hdfs_locations){0});
	lookup_end(u, r);
}

/* Nodes differ in what has come to them and was not flushed: who was told of more by one may hear of less by another. */
static bool lookup_wants_more(const struct lookup *u)
{
	return !u->told || (u->file && u->file->length > u->stretch->file_bytes + u->visible);
}

/* The block that nobody has finished: kept by the stretch's memory, behind its blocks, until its length is known. */
static void lookup_asked(struct rpc_ask *ask, int r)
{
	struct lookup *u = container_of(ask, struct lookup, ask);
	const struct hdfs_located *last = ask->ctx;
	struct pb p = pb_of(ask->answer.p, r < 0 ? 0 : ask->answer.n);
	uint64_t visible = 0;
	bool told = false;

	u->asking = false;
	while (pb_next(&p))
		if (p.field == 1) {
			visible = p.value;
			told = true;
		}
	if (u->cancelled) {
		lookup_end(u, -ECANCELED);
		return;
	}
	u->n_without += r == -ENODATA;
	/* One that says what cannot be is believed no more than one that says nothing. */
	if (r == 0 && told && !p.rd.bad && visible <= INT64_MAX - u->stretch->file_bytes) {
		u->visible = MAX(u->visible, visible);
		u->told = true;
	}
	if (lookup_wants_more(u))
		lookup_ask_last(u, last);
	else
		lookup_told(u, last);
}

/* Of each of its nodes in turn, how much of it readers may see. */
static void lookup_ask_last(struct lookup *u, const struct hdfs_located *last)
{
	struct locator *l = u->locator;
	const struct hdfs_node *node;

	if (u->n_asked >= last->n_nodes) {
		/* Where nobody has it, nobody has written a byte of it yet. */
		if (u->told || u->n_without == last->n_nodes)
			lookup_told(u, last);
		else
			lookup_end(u, err_set(&u->err, -EHOSTUNREACH, "no DataNode tells how much of the block that is being "
				"written can be read"));
		return;
	}
	node = &last->nodes[u->n_asked++];
	buf_clear(&u->body);
	buf_hdfs_block(&u->body, 1, &last->block);
	if (u->body.r < 0) {
		lookup_end(u, u->body.r);
		return;
	}
	u->ask = (struct rpc_ask){.loop = l->loop, .dialer = l->dialer, .protocol = RPC_CLIENT_DATANODE_PROTOCOL,
		.user = l->conf->user, .method = "getReplicaVisibleLength", .body = u->body.ptr, .n = u->body.n,
		.deadline_ns = loop_now(l->loop) + 10 * NS_PER_S, .done = lookup_asked, .ctx = (void *)last};
	u->asking = true;
	rpc_ask(&u->ask, l->conf->use_hostnames && *node->host ? node->host : node->ip, node->ipc_port);
}

/* A LocatedBlocksProto: its memory is the stretch's. */
static int stretch_parse(struct lookup *u, struct str message, struct hdfs_locations *ret)
{
	struct stretch *s = mem_zalloc(sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->refs = 1;
	list_init(&s->list);
	arena_init(&s->arena, STRETCH_MAX_BYTES);
	u->stretch = s;
	r = hdfs_locations_parse(&s->arena, message, ret);
	if (r < 0)
		return r;
	s->n = ret->n;
	s->blocks = ret->blocks;
	s->file_bytes = ret->file_bytes;
	s->growing = ret->under_construction;
	return 0;
}

static void lookup_call(struct lookup *u, const char *method, void (*done)(struct nn_call *))
{
	if (u->body.r < 0) {
		lookup_end(u, u->body.r);
		return;
	}
	u->call = (struct nn_call){.method = method, .kind = NN_READ, .body = u->body, .done = done};
	buf_init(&u->body, REQUEST_MAX_BYTES);
	u->calling = true;
	nn_submit(u->locator->nn, &u->call);
}

static int call_ended(struct lookup *u, struct nn_call *call)
{
	int r = u->cancelled ? -ECANCELED : call->r;

	u->calling = false;
	if (r < 0)
		u->err = call->err;
	/* The request only: the answer is the connection's. */
	nn_call_release(call);
	return r;
}

static void lookup_go_on(struct lookup *u)
{
	if (u->last)
		lookup_ask_last(u, u->last);
	else
		lookup_end(u, 0);
}

static void lookup_allowed(struct nn_call *call)
{
	struct lookup *u = container_of(call, struct lookup, call);
	int r = call_ended(u, call);

	if (r < 0)
		lookup_end(u, r);
	else
		lookup_go_on(u);
}

static bool is_open(const struct hdfs_status *st, const char *user)
{
	return read_policy_open(str_eq(st->owner, user), st->mode, st->flags & HDFS_HAS_ACL);
}

/* A LocatedBlocksProto as a stretch that lacks what is being written. */
static int lookup_take(struct lookup *u, struct str message)
{
	struct hdfs_locations l = {0};
	struct stretch *s;
	int r = stretch_parse(u, message, &l);

	s = u->stretch;
	/* What is being written is told apart from the others, and again as the last. */
	while (r == 0 && l.last && !l.last_complete && s->n && s->blocks[s->n - 1].offset >= l.file_bytes)
		s->n--;
	if (r == 0)
		r = stretch_check(u, &l);
	u->last = l.under_construction && !l.last_complete ? l.last : NULL;
	return r;
}

static void lookup_parse(struct lookup *u, struct str message, bool allowed)
{
	int r = lookup_take(u, message);

	if (r < 0) {
		lookup_end(u, r);
	} else if (allowed) {
		lookup_go_on(u);
	} else {
		buf_clear(&u->body);
		buf_pb_str(&u->body, 1, u->path);
		buf_pb_u64(&u->body, 2, ACTION_READ);
		lookup_call(u, "checkAccess", lookup_allowed);
	}
}

static int check_version(struct lookup *u, const struct hdfs_status *st)
{
	char version[STORE_VERSION_MAX];

	hdfs_version_of(st, version);
	if (st->type != HDFS_FILE)
		return err_set(&u->err, -EISDIR, "it is no file");
	if (!u->file || !*u->file->version || hdfs_version_fits(u->file->version, st))
		return 0;
	return err_set(&u->err, -ESTALE, "it was changed: its version was %s and is %s", u->file->version, version);
}

/* The message in field `field` of the answer; -ENOENT when it has none. */
static int answer_field(const struct nn_call *call, struct str *ret)
{
	struct pb p = pb_of(call->answer.p, call->answer.n);
	bool there = false;

	while (pb_next(&p))
		if (p.field == 1 && p.type == PB_BYTES) {
			*ret = p.bytes;
			there = true;
		}
	return p.rd.bad ? E_PROTOCOL : there ? 0 : -ENOENT;
}

static int answer_status(struct lookup *u, const struct nn_call *call, struct hdfs_status *st)
{
	struct str message;
	int r = answer_field(call, &message);

	if (r == -ENOENT)
		return err_set(&u->err, r, "there is no such file (any more)");
	if (r == 0)
		r = hdfs_status_parse(message, st);
	return r < 0 ? r : check_version(u, st);
}

/* For getLocatedFileInfo a NameNode does not ask whether the file may be read, as it does for getBlockLocations. */
static void lookup_whole(struct nn_call *call)
{
	struct lookup *u = container_of(call, struct lookup, call);
	struct hdfs_status st;
	int r = call_ended(u, call);

	if (r == 0)
		r = answer_status(u, call, &st);
	if (r == 0)
		r = check_kind(u, st.encrypted || st.flags & HDFS_HAS_CRYPT, st.erasure_coded || st.flags & HDFS_HAS_EC);
	if (r < 0)
		lookup_end(u, r);
	else
		lookup_parse(u, st.locations, is_open(&st, u->locator->conf->user));
}

/* The locations are there; were they of the version that is wanted? It is looked at after them: what is there now was then. */
static void lookup_versioned(struct nn_call *call)
{
	struct lookup *u = container_of(call, struct lookup, call);
	struct hdfs_status st;
	int r = call_ended(u, call);

	if (r == 0)
		r = answer_status(u, call, &st);
	if (r < 0)
		lookup_end(u, r);
	else
		lookup_go_on(u);
}

static void lookup_located(struct nn_call *call)
{
	struct lookup *u = container_of(call, struct lookup, call);
	struct str message;
	int r = call_ended(u, call);

	if (r == 0)
		r = answer_field(call, &message);
	if (r == 0 && !u->file) {
		lookup_parse(u, message, true);
		return;
	}
	if (r == 0)
		r = lookup_take(u, message);
	if (r < 0) {
		lookup_end(u, r);
		return;
	}
	buf_pb_str(&u->body, 1, u->path);
	lookup_call(u, "getFileInfo", lookup_versioned);
}

static void lookup_submit(struct lookup *u)
{
	uint64_t ahead = u->locator->conf->prefetch_blocks * u->locator->conf->block_bytes;

	buf_pb_str(&u->body, 1, u->path);
	if (u->file && u->file->length <= LOCATE_WHOLE_BYTES) {
		buf_pb_u64(&u->body, 2, 1);
		lookup_call(u, "getLocatedFileInfo", lookup_whole);
		return;
	}
	buf_pb_u64(&u->body, 2, u->offset);
	buf_pb_u64(&u->body, 3, MAX(u->length, ahead));
	lookup_call(u, "getBlockLocations", lookup_located);
}

void lookup_start(struct locator *locator, struct lookup *u)
{
	struct kept *k = u->file && *u->file->version ? kept_find(locator, u->path, u->file->version) : NULL;
	struct stretch *s;

	u->locator = locator;
	u->stretch = NULL;
	u->err = (struct err){0};
	u->last = NULL;
	u->n_asked = u->n_without = 0;
	u->visible = 0;
	u->told = false;
	u->calling = u->asking = u->cancelled = false;
	buf_init(&u->body, REQUEST_MAX_BYTES);
	if (k && kept_has(k, u->bad))
		kept_free(locator, TAKE(k));
	s = k ? kept_stretch(k, u->offset) : NULL;
	if (s) {
		u->stretch = stretch_ref(s);
		u->done(u, 0);
		return;
	}
	lookup_submit(u);
}

void lookup_cancel(struct lookup *u)
{
	u->cancelled = true;
	if (u->calling) {
		nn_cancel(&u->call);
	} else if (u->asking) {
		rpc_ask_cancel(&u->ask);
		u->asking = false;
		lookup_end(u, -ECANCELED);
	}
}

int locator_new(struct loop *loop, const struct hdfs_conf *conf, struct nn *nn, struct dialer *dialer, struct locator **ret)
{
	struct locator *l = mem_zalloc(sizeof(*l));

	if (!l)
		return -ENOMEM;
	*l = (struct locator){.loop = loop, .conf = conf, .nn = nn, .dialer = dialer};
	list_init(&l->files);
	*ret = l;
	return 0;
}

void locator_free(struct locator *l)
{
	if (!l)
		return;
	while (!list_empty(&l->files))
		kept_free(l, container_of(l->files.next, struct kept, list));
	mem_free(l);
}

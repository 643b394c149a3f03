/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/hdfs.h"

#include <errno.h>

#include "base/scope.h"
#include "store/engine.h"
#include "store/hdfs/conf/hdfs_url.h"
#include "store/hdfs/hdfs_req.h"

struct hdfs_store {
	struct store store;
	struct hdfs_engine *engine;
};

static void hdfs_submit(struct store *store, struct store_req *req)
{
	hdfs_req_submit(container_of(store, struct hdfs_store, store)->engine, req);
}

static void hdfs_cancel(struct store *store, struct store_req *req)
{
	hdfs_req_cancel(req);
}

static void counters_tell(struct hdfs_counters *c, void (*fn)(void *ctx, const char *name, uint64_t value), void *ctx)
{
#define X(name, words) fn(ctx, "hdfs_" #name, c->name);
	HDFS_COUNTERS(X)
#undef X
}

static void hdfs_counters(struct store *store, void (*fn)(void *ctx, const char *name, uint64_t value), void *ctx)
{
	counters_tell(&container_of(store, struct hdfs_store, store)->engine->counters, fn, ctx);
}

void hdfs_counters_of_all(void (*fn)(void *ctx, const char *name, uint64_t value), void *ctx)
{
	struct hdfs_counters all;

	hdfs_engines_count(&all);
	counters_tell(&all, fn, ctx);
}

static void hdfs_free(struct store *store)
{
	struct hdfs_store *s = container_of(store, struct hdfs_store, store);

	hdfs_engine_put(s->engine);
	mem_free(s);
}

static const struct store_ops hdfs_ops = {
	.name = "hdfs",
	.submit = hdfs_submit,
	.cancel = hdfs_cancel,
	.counters = hdfs_counters,
	.free = hdfs_free,
};

/* Takes a reference of the engine, also when it fails. */
static int store_of(struct hdfs_engine *engine, struct store **ret)
{
	struct hdfs_store *s = mem_zalloc(sizeof(*s));
	char *base = s ? mem_printf("hdfs://%s/", engine->conf.authority) : NULL;

	if (!base) {
		hdfs_engine_put(engine);
		mem_free(s);
		return -ENOMEM;
	}
	store_init(&s->store, &hdfs_ops);
	s->store.base = base;
	s->engine = engine;
	*ret = &s->store;
	return 0;
}

int hdfs_open_with(struct loop *loop, struct hdfs_conf *conf, struct dialer *dialer, struct store **ret)
{
	struct hdfs_engine *engine;
	int r = hdfs_engine_new(loop, conf, dialer, &engine);

	return r < 0 ? r : store_of(engine, ret);
}

static int hdfs_open_conf(struct site *site, const char *authority, struct hdfs_engine **ret, struct err *e)
{
	AUTO_FREE char *key = NULL;
	struct hdfs_conf conf;
	int r = hdfs_conf_of(site, authority, &conf, e);

	if (r < 0)
		return r;
	key = mem_printf("%s\n%s\n%s", conf.authority, conf.user, site_dir(site));
	if (key)
		return hdfs_engine_get(key, &conf, ret);
	hdfs_conf_release(&conf);
	return -ENOMEM;
}

int hdfs_open(const char *rest, struct store **ret_store, char **ret_path, struct err *e)
{
	AUTO_FREE char *authority = NULL, *path = NULL, *whole = NULL;
	struct hdfs_engine *engine = NULL;
	AUTO(site) struct site *site = NULL;
	bool relative;
	int r = hdfs_url_parse(rest, &authority, &path, &relative);

	if (r == 0)
		r = site_load(NULL, &site, e);
	if (r == 0)
		r = hdfs_open_conf(site, authority, &engine, e);
	if (r < 0)
		return r;
	whole = relative ? mem_printf("user/%s/%s", engine->conf.user, path) : mem_strdup(path);
	if (!whole) {
		hdfs_engine_put(engine);
		return -ENOMEM;
	}
	r = store_of(engine, ret_store);
	if (r == 0)
		*ret_path = TAKE(whole);
	return r;
}

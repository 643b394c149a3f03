/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/hdfs_engine.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t engines_lock = PTHREAD_MUTEX_INITIALIZER; /* of the list, of refs, and of starting */
static struct list engines = LIST_INIT(engines);
static struct hdfs_counters of_ended;

static void counters_add(struct hdfs_counters *to, struct hdfs_counters *c)
{
#define X(name, words) to->name += c->name;
	HDFS_COUNTERS(X)
#undef X
}

void hdfs_engines_count(struct hdfs_counters *ret)
{
	memset(ret, 0, sizeof(*ret));
	pthread_mutex_lock(&engines_lock);
	counters_add(ret, &of_ended);
	LIST_EACH(l, &engines)
		counters_add(ret, &container_of(l, struct hdfs_engine, list)->counters);
	pthread_mutex_unlock(&engines_lock);
}

static struct hdfs_engine *engine_new(struct hdfs_conf *conf, const char *key)
{
	struct hdfs_engine *e = mem_zalloc(sizeof(*e));
	char *copy = key && e ? mem_strdup(key) : NULL;

	if (!e || (key && !copy)) {
		hdfs_conf_release(conf);
		mem_free(e);
		return NULL;
	}
	list_init(&e->list);
	e->conf = *conf;
	e->key = copy;
	e->refs = 1;
	return e;
}

static struct hdfs_engine *engine_find(const char *key)
{
	LIST_EACH(l, &engines) {
		struct hdfs_engine *e = container_of(l, struct hdfs_engine, list);

		if (strcmp(e->key, key) == 0)
			return e;
	}
	return NULL;
}

int hdfs_engine_get(const char *key, struct hdfs_conf *conf, struct hdfs_engine **ret)
{
	struct hdfs_engine *e;

	pthread_mutex_lock(&engines_lock);
	e = engine_find(key);
	if (e) {
		e->refs++;
		hdfs_conf_release(conf);
	} else {
		e = engine_new(conf, key);
		if (e)
			list_add(&engines, &e->list);
	}
	pthread_mutex_unlock(&engines_lock);
	if (!e)
		return -ENOMEM;
	*ret = e;
	return 0;
}

int hdfs_engine_new(struct loop *loop, struct hdfs_conf *conf, struct dialer *dialer, struct hdfs_engine **ret)
{
	struct hdfs_engine *e = engine_new(conf, NULL);

	if (!e)
		return -ENOMEM;
	e->loop = loop;
	e->dialer = dialer;
	*ret = e;
	return 0;
}

/* On the loop. */
static void engine_take_down(struct hdfs_engine *e)
{
	writes_free(TAKE(e->writes));
	reads_free(TAKE(e->reads));
	names_free(TAKE(e->names));
	dn_pool_free(TAKE(e->dns));
	nn_free(TAKE(e->nn));
	dialer_free(TAKE(e->own_dialer));
}

int hdfs_engine_ready(struct hdfs_engine *e)
{
	int r = 0;

	if (e->writes)
		return 0;
	if (!e->dialer)
		r = dialer_new_tcp(&e->own_dialer);
	if (r == 0 && e->own_dialer)
		e->dialer = e->own_dialer;
	if (r == 0)
		r = nn_new(e->loop, &e->conf, e->dialer, &e->counters, &e->nn);
	if (r == 0)
		r = dn_pool_new(e->loop, &e->conf, e->dialer, &e->counters, &e->dns);
	if (r == 0)
		r = names_new(e->loop, &e->conf, e->nn, &e->names);
	if (r == 0)
		r = reads_new(e->loop, &e->conf, e->nn, e->dns, &e->counters, &e->reads);
	if (r == 0)
		r = writes_new(e->loop, &e->conf, e->nn, e->dns, &e->counters, &e->writes);
	if (r < 0) {
		/* The next request tries again. */
		if (e->own_dialer)
			e->dialer = NULL;
		engine_take_down(e);
	}
	return r;
}

int hdfs_engine_start(struct hdfs_engine *e, struct loop **ret)
{
	int r = 0;

	*ret = e->loop;
	if (*ret)
		return 0;
	pthread_mutex_lock(&engines_lock);
	if (!e->loop) {
		r = loop_thread_new("olddog-hdfs", &e->thread);
		if (r == 0)
			e->loop = loop_thread_loop(e->thread);
	}
	pthread_mutex_unlock(&engines_lock);
	*ret = e->loop;
	return r;
}

/* A message to the engine's thread, and the end of it. */
struct take_down {
	struct task task;
	struct hdfs_engine *engine;
};

static void take_down_task(struct task *task)
{
	engine_take_down(container_of(task, struct take_down, task)->engine);
}

void hdfs_engine_put(struct hdfs_engine *e)
{
	struct take_down down = {.task.fn = take_down_task, .engine = e};
	bool last;

	pthread_mutex_lock(&engines_lock);
	last = --e->refs == 0;
	if (last)
		list_del(&e->list);
	pthread_mutex_unlock(&engines_lock);
	if (!last)
		return;
	if (e->thread) {
		loop_post(e->loop, &down.task);
		loop_thread_free(e->thread);
	} else {
		engine_take_down(e);
	}
	pthread_mutex_lock(&engines_lock);
	if (e->key)
		counters_add(&of_ended, &e->counters);
	pthread_mutex_unlock(&engines_lock);
	hdfs_conf_release(&e->conf);
	mem_free(e->key);
	mem_free(e);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The order as a whole: the mixture gives a draw of a source, the source's own order gives the sample. */
#include "plan/order.h"

#include "plan/mix.h"
#include "plan/perm.h"
#include "plan/tree.h"
#include "plan/window.h"

#define N_ATTEMPTS 8

_Static_assert(POSITION_MAX == PERM_MAX, "whatever has a position can be permuted");

struct order {
	unsigned n_sources;
	uint64_t *len;			/* of each source */
	struct window_order **inside;	/* of each source */
	struct mix *mix;
	struct philox_key key_substitute;
};

static int check_lengths(const struct order_conf *conf, struct order *o, struct err *e)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < conf->n_sources; i++) {
		const struct order_source *s = &conf->sources[i];

		o->len[i] = s->n_shards ? s->first[s->n_shards] : 0;
		if (o->len[i] == 0)
			return err_set(e, E_SPEC, "source %u has no samples; take it out, or correct its data", i);
		if (o->len[i] > POSITION_MAX || (sum += o->len[i]) > POSITION_MAX)
			return err_set(e, E_SPEC, "the sources have more than 2^62 samples");
	}
	return 0;
}

static int check_conf(const struct order_conf *conf, struct err *e)
{
	if (conf->n_sources == 0 || conf->n_sources > SPEC_MAX_SOURCES)
		return err_set(e, E_SPEC, "there are %u sources; give 1 to %u", conf->n_sources, SPEC_MAX_SOURCES);
	if (conf->kind == ORDER_WINDOW && (conf->window == 0 || conf->group == 0))
		return err_set(e, E_SPEC, "a shuffle's window and its number of shards are 1 at least");
	return 0;
}

static int new_mix(const struct order_conf *conf, struct order *o, struct err *e)
{
	unsigned n = conf->n_sources;
	AUTO_FREE double *weights = mem_calloc(n, sizeof(*weights));
	AUTO_FREE uint64_t *shares = mem_calloc(n, sizeof(*shares));
	AUTO_FREE struct mix_source *sources = mem_calloc(n, sizeof(*sources));
	/* In a sequential order every source is read front to back: its draws stay in their order. */
	bool blocks = conf->kind != ORDER_SEQUENTIAL;
	int r;

	if (!weights || !shares || !sources)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		weights[i] = conf->sources[i].weight;
	r = tree_weights(weights, n, shares);
	if (r == -EINVAL)
		return err_set(e, E_SPEC,
			"a weight is not above 0, or is less than a 2^32th of all weights together; raise it, or take its "
			"source out");
	if (r < 0)
		return r;
	for (unsigned i = 0; i < n; i++)
		sources[i] = (struct mix_source){
			.len = o->len[i], .weight = shares[i], .on_end = conf->sources[i].on_end};
	r = mix_new(sources, n, blocks, philox_key_of(conf->seed, "order/mix"), &o->mix);
	if (r == -ERANGE)
		return err_set(e, E_SPEC, "with these weights an epoch has more than 2^62 positions; raise the smallest");
	return r;
}

static int new_inside(const struct order_conf *conf, struct order *o)
{
	for (unsigned i = 0; i < conf->n_sources; i++) {
		struct window_conf w = {.first = conf->sources[i].first, .n_shards = conf->sources[i].n_shards,
			.source = i, .kind = conf->kind, .window = conf->window, .group = conf->group,
			.seed = conf->seed};

		o->inside[i] = window_order_new(&w);
		if (!o->inside[i])
			return -ENOMEM;
	}
	return 0;
}

static int new_parts(const struct order_conf *conf, struct order *o, struct err *e)
{
	int r;

	o->len = mem_calloc(conf->n_sources, sizeof(*o->len));
	o->inside = mem_calloc(conf->n_sources, sizeof(*o->inside));
	if (!o->len || !o->inside)
		return -ENOMEM;
	o->n_sources = conf->n_sources;
	o->key_substitute = philox_key_of(conf->seed, "order/substitute");
	r = check_lengths(conf, o, e);
	if (r < 0)
		return r;
	r = new_mix(conf, o, e);
	return r < 0 ? r : new_inside(conf, o);
}

int order_new(const struct order_conf *conf, struct order **ret, struct err *e)
{
	AUTO(order) struct order *o = mem_zalloc(sizeof(*o));
	int r = o ? check_conf(conf, e) : -ENOMEM;

	if (r == 0)
		r = new_parts(conf, o, e);
	if (r == -ENOMEM)
		return err_set(e, r, "no memory for the order of %u sources", conf->n_sources);
	if (r < 0)
		return r;
	*ret = TAKE(o);
	return 0;
}

void order_free(struct order *o)
{
	if (!o)
		return;
	for (unsigned i = 0; i < o->n_sources; i++)
		window_order_free(o->inside[i]);
	mem_free(o->inside);
	mem_free(o->len);
	mix_free(o->mix);
	mem_free(o);
}

uint64_t order_epoch_len(const struct order *o)
{
	return mix_epoch_len(o->mix);
}

static int item_at(struct order *o, uint64_t position, const struct window_other *other, struct order_item *ret)
{
	struct window_place place;
	struct order_item item;
	uint64_t nth;
	int r;

	if (position >= POSITION_MAX)
		return -ERANGE;
	item.position = position;
	item.epoch = position / mix_epoch_len(o->mix);
	item.source = mix_draw(o->mix, position, &nth);
	item.source_epoch = nth / o->len[item.source];
	r = window_order_at(o->inside[item.source], item.source_epoch, nth % o->len[item.source], other, &place);
	if (r < 0)
		return r;
	item.shard = place.shard;
	item.sample = place.sample;
	*ret = item;
	return 0;
}

int order_at(struct order *o, uint64_t position, struct order_item *ret)
{
	return item_at(o, position, NULL, ret);
}

int order_substitute(struct order *o, uint64_t position, unsigned attempt, struct order_item *ret)
{
	struct window_other other = {.key = o->key_substitute, .tweak = position, .attempt = attempt};

	if (attempt < 1 || attempt > N_ATTEMPTS)
		return -EINVAL;
	return item_at(o, position, &other, ret);
}

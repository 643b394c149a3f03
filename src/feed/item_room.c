/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for results. What a picture becomes is known when it has been decoded, and batches are made ahead of need: many
 * huge pictures that were begun in good faith could fill the host. So a result for a batch that is not wanted yet, which
 * would pass the limit of all batches, is dropped, and its sample made again when there is room. Waiting costs nobody
 * anything, neither arena nor a place among those under way, so what is wanted next is never behind it.
 */
#include "feed/item_int.h"

static bool fits(struct item *it, uint64_t n_bytes)
{
	const struct engine *g = engine_of(it);
	uint64_t taken = g->slot_bytes + g->promised_bytes - it->promised_bytes;

	return taken <= g->limits.max_bytes && n_bytes <= g->limits.max_bytes - taken;
}

int item_room(struct item *it, uint64_t n_bytes)
{
	if (!batch_may_grow(it->batch, n_bytes))
		return -E2BIG;
	if (n_bytes == 0 || batch_lead(it->batch) == 0 || fits(it, n_bytes))
		return 0;
	it->no_room = true;
	it->room_bytes = n_bytes;
	return -EAGAIN;
}

void item_unpromise(struct item *it)
{
	engine_of(it)->promised_bytes -= it->promised_bytes;
	it->promised_bytes = 0;
}

void item_park(struct item *it)
{
	struct engine *g = engine_of(it);

	it->r = 0;
	it->no_room = false;
	it->parked = true;
	it->n_pending = 1;
	g->read_bytes -= it->n_bytes;
	it->n_bytes = 0;
	g->n_items--;
	list_add(&g->parked, &it->stalled);
	engine_pump_later(g);
}

void item_unpark(struct item *it)
{
	it->parked = false;
	engine_of(it)->n_items++;
}

void items_unpark(struct engine *g)
{
	struct list *next;

	for (struct list *l = g->parked.next; l != &g->parked; l = next) {
		struct item *it = container_of(l, struct item, stalled);

		next = l->next;
		if (batch_lead(it->batch) > 0 && !fits(it, it->room_bytes))
			continue;
		list_del(l);
		item_unpark(it);
		it->n_bytes = item_encoded_bytes(it);
		it->promised_bytes = it->room_bytes;
		g->promised_bytes += it->promised_bytes;
		item_start(it);
	}
}

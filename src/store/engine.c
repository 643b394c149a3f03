/* SPDX-License-Identifier: Apache-2.0 */
/* What engines and filters share: runs of ranges, listings, places, and a request that goes on below. */
#include "store/engine.h"

#include <errno.h>
#include <string.h>

#include "base/scope.h"

#define HOST_MAX 256

bool store_is_stale(const struct store_file *file, const char *version)
{
	return file && strcmp(file->version, version) != 0;
}

unsigned store_run_length(const struct store_range *ranges, unsigned n)
{
	unsigned i = 1;

	while (i < n && ranges[i].offset >= ranges[i - 1].offset + ranges[i - 1].length &&
		store_gap(&ranges[i - 1]) <= STORE_GAP_MAX)
		i++;
	return i;
}

void store_range_clip(struct store_range *range, uint64_t length)
{
	uint64_t there = range->offset < length ? length - range->offset : 0;

	range->done = MIN(range->length, there);
	range->r = range->done < range->length ? -ENODATA : 0;
}

static int listing_reserve(struct store_listing *l)
{
	size_t cap = MAX(2 * l->cap, 64);
	struct store_entry *p;

	if (l->n < l->cap)
		return 0;
	p = mem_realloc(l->entries, cap, sizeof(*p));
	if (!p)
		return -ENOMEM;
	l->entries = p;
	l->cap = cap;
	return 0;
}

int store_listing_add(struct store_listing *l, const char *name, const struct store_stat *stat)
{
	AUTO_FREE char *copy = mem_strdup(name);

	if (!copy || listing_reserve(l) < 0)
		return -ENOMEM;
	l->entries[l->n++] = (struct store_entry){.name = TAKE(copy), .stat = *stat};
	return 0;
}

void store_listing_release(struct store_listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		mem_free((char *)l->entries[i].name);
	mem_free(l->entries);
	*l = (struct store_listing){NULL};
}

void store_places_release(struct store_places *p)
{
	for (size_t i = 0; i < p->n; i++) {
		for (unsigned h = 0; h < p->ptr[i].n_hosts; h++)
			mem_free(p->ptr[i].hosts[h]);
		mem_free(p->ptr[i].hosts);
	}
	mem_free(p->ptr);
	*p = (struct store_places){NULL};
}

int store_place_here(struct store_req *req, uint64_t length)
{
	struct store_place *place = mem_zalloc(sizeof(*place));
	const struct store_range *range = &req->ranges[0];
	char host[HOST_MAX] = "localhost";

	if (!place)
		return -ENOMEM;
	req->places = (struct store_places){place, 1};
	if (range->offset >= length) {
		store_places_release(&req->places);
		return 0;
	}
	gethostname(host, sizeof(host) - 1);
	place->offset = range->offset;
	place->length = MIN(range->length, length - range->offset);
	place->hosts = mem_zalloc(sizeof(place->hosts[0]));
	if (place->hosts)
		place->hosts[place->n_hosts++] = mem_strdup(host);
	if (place->hosts && place->hosts[0])
		return 0;
	store_places_release(&req->places);
	return -ENOMEM;
}

/* Filters. */

void store_req_below(struct store_req *below, const struct store_req *above)
{
	below->loop = above->loop;
	below->op = above->op;
	below->path = above->path;
	below->to = above->to;
	below->file = above->file;
	below->ranges = above->ranges;
	below->n_ranges = above->n_ranges;
	below->paths = above->paths;
	below->n_paths = above->n_paths;
	below->how = above->how;
	below->set = above->set;
	below->writer = above->writer;
	below->disk = above->disk;
	below->xattr = above->xattr;
	below->deadline_ns = above->deadline_ns;
	below->prio = above->prio;
	below->err = above->err;
}

void store_req_above(struct store_req *above, const struct store_req *below)
{
	above->stat = below->stat;
	above->listing = below->listing;
	above->checksum = below->checksum;
	above->places = below->places;
	above->space = below->space;
	above->summary = below->summary;
	above->xattr = below->xattr;
	if (below->op == STORE_OPEN_WRITER)
		above->writer = below->writer;
}

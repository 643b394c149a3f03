/* SPDX-License-Identifier: Apache-2.0 */
/* What both halves of the rig share, and what is looked at in the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "write_rig.h"

#include "wire/hadoop/crc.h"
#include "wire/hadoop/packet.h"
#include "wire/hadoop/pb.h"

struct rig *rig;

void rig_timer_set(struct timer *t, uint64_t at_ns)
{
	/* The second time it cannot be the one that was to fail. */
	if (timer_set(t, at_ns) < 0)
		assert_int_equal(timer_set(t, at_ns), 0);
}

uint32_t rig_draw(struct rig *g)
{
	uint32_t u[4];

	philox(g->key, g->n_draws++, 0, 0, u);
	return u[0];
}

bool rig_happens(struct rig *g, uint32_t ppm)
{
	return ppm && (uint64_t)rig_draw(g) * 1000000 >> 32 < ppm;
}

unsigned rig_below(struct rig *g, unsigned n)
{
	return (unsigned)((uint64_t)rig_draw(g) * n >> 32);
}

bool rig_fails(struct rig *g, uint32_t ppm)
{
	if (g->n_failures >= g->faults.max_failures || !rig_happens(g, ppm))
		return false;
	g->n_failures++;
	return true;
}

void rig_init(struct rig *g, uint64_t seed, unsigned replication, uint64_t block_bytes, uint32_t packet_bytes)
{
	*g = (struct rig){.key = philox_key_of(seed, "rig"), .stamp = 1000};
	g->conf = (struct hdfs_conf){.socket_timeout_ms = 60000, .block_bytes = block_bytes, .replication = replication,
		.bytes_per_sum = 512, .checksum_kind = CRC_C, .packet_bytes = packet_bytes, .block_retries = 3, .umask = 022,
		.replace_datanode = true};
	assert_int_equal(loop_new_virtual(&g->loop), 0);
	rig = g;
	assert_int_equal(writes_new(g->loop, &g->conf, NULL, NULL, &g->counters, &g->writes), 0);
}

void rig_release(struct rig *g)
{
	writes_free(g->writes);
	assert_int_equal(loop_run(g->loop), 0);
	assert_int_equal(g->n_live, 0);
	loop_free(g->loop);
	for (unsigned i = 0; i < RIG_NODES; i++)
		for (unsigned j = 0; j < RIG_BLOCKS; j++)
			free(g->nodes[i].replicas[j].bytes);
}

unsigned rig_node_of(struct str info)
{
	struct pb p = pb_of(info.p, info.n);

	while (pb_next(&p))
		if (p.field == 1 && p.type == PB_BYTES) {
			struct pb id = pb_of(p.bytes.p, p.bytes.n);

			while (pb_next(&id))
				if (id.field == 4)
					return (unsigned)id.value - 1000;
		}
	fail_msg("a node without a port");
	return 0;
}

struct rig_ref rig_ref_of(struct str message)
{
	struct pb p = pb_of(message.p, message.n);
	struct rig_ref r = {0};

	while (pb_next(&p))
		switch (p.field) {
		case 1:
			assert_true(str_eq(p.bytes, RIG_POOL));
			break;
		case 2:
			r.id = p.value;
			break;
		case 3:
			r.stamp = p.value;
			break;
		case 4:
			r.n_bytes = p.value;
			break;
		}
	assert_false(p.rd.bad);
	assert_true(r.id < RIG_BLOCKS);
	return r;
}

/* What there is in the end. */

static void check_block(struct rig *g, unsigned id, const uint8_t *shadow, uint64_t n, bool finalized)
{
	struct rig_block *b = &g->blocks[id];

	assert_true(b->n_nodes > 0);
	for (unsigned i = 0; i < b->n_nodes; i++) {
		struct rig_replica *r = &g->nodes[b->nodes[i]].replicas[id];

		assert_true(r->is);
		/* While a pipeline is mended replicas are ahead of the NameNode. */
		assert_true(finalized ? r->stamp == b->stamp : r->stamp >= b->stamp);
		assert_true(finalized ? r->n == n && r->finalized : r->n >= n);
		assert_memory_equal(r->bytes, shadow, n);
	}
}

void rig_check(struct rig *g, const uint8_t *shadow, uint64_t n, bool finalized)
{
	uint64_t at = 0;

	for (unsigned i = 0; i < g->n_listed; i++) {
		uint64_t part = MIN(n - at, g->conf.block_bytes);

		check_block(g, g->listed[i], shadow + at, part, finalized);
		at += part;
	}
	assert_int_equal(at, n);
}

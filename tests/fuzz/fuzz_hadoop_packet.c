/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what DataNodes say: delimited messages and packets one behind the other. A head that is read is written the same. */
#include <assert.h>

#include "base/err.h"
#include "base/scope.h"
#include "wire/hadoop/crc.h"
#include "wire/hadoop/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void packet_check(const struct packet *pk)
{
	uint8_t out[PACKET_LENGTHS + PACKET_HEADER_MAX];
	struct packet again;
	unsigned n;

	assert(pk->n_head <= sizeof(out) && pk->n_data <= PACKET_MAX && pk->n_sums <= PACKET_MAX && pk->n_sums % 4 == 0);
	n = packet_put(pk, out);
	assert(packet_parse(out, n, &again) == (int)n);
	assert(again.offset == pk->offset && again.seqno == pk->seqno && again.last == pk->last && again.sync == pk->sync);
	assert(again.n_data == pk->n_data && again.n_sums == pk->n_sums);
}

/* What is behind a head, as far as it is there: checksums, then data. */
static void sums_check(const uint8_t *p, size_t n, const struct packet *pk)
{
	uint32_t bytes_per_sum = 64;

	if (pk->n_sums > n || pk->n_data > n - pk->n_sums)
		return;
	if (pk->n_sums / 4 == (pk->n_data + bytes_per_sum - 1) / bytes_per_sum)
		assert(crc_check(CRC_C, bytes_per_sum, p + pk->n_sums, pk->n_data, p) >= -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct packet pk;
	struct str s;
	int64_t r = transfer_delimited(p, n, &s);

	assert(r >= 0 || r == E_PROTOCOL);
	if (r > 0) {
		assert((size_t)r <= n && s.p + s.n == (const char *)p + r);
		p += r;
		n -= (size_t)r;
	}
	while ((r = packet_parse(p, n, &pk)) > 0) {
		size_t step = MIN((size_t)r + pk.n_sums + pk.n_data, n);

		assert((size_t)r <= n);
		packet_check(&pk);
		sums_check(p + r, n - (size_t)r, &pk);
		p += step;
		n -= step;
	}
	assert(r == 0 || r == E_PROTOCOL);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/cost_policy.h"

#include "base/clock.h"
#include "base/scope.h"

#define COST_BASE_US 200
/* Batches are taken one after another: until the pace is known, in their order. */
#define PERIOD_UNKNOWN_NS NS_PER_S
#define PERIOD_MAX_NS (60 * NS_PER_S)
/* Of a new period's weight, and how far it may lie above what is known. */
#define PACE_SHARE 8
#define PACE_MAX_GROWTH 4
#define AHEAD_NS NS_PER_S
#define AHEAD_MIN 16u
#define AHEAD_MAX 1024u
/* What is wanted next, and all else: apart by more than any time, and a cost can be taken off either. */
#define DUE_NEXT (1ull << 61)
#define DUE_LATER (1ull << 62)

uint32_t decode_cost_us(const struct picture_head *head, uint64_t n_bytes)
{
	/* Tenths of a nanosecond. */
	static const struct {
		uint64_t per_pixel, per_byte;
	} costs[N_PICTURE_CODINGS] = {
		[PICTURE_UNKNOWN] = {0, 70},
		[PICTURE_JPEG] = {9, 70},
		[PICTURE_JPEG_PROGRESSIVE] = {56, 70},
		[PICTURE_PNG] = {60, 115},
		[PICTURE_PNG_INTERLACED] = {90, 115},
		[PICTURE_WEBP] = {60, 120},
		[PICTURE_WEBP_LOSSLESS] = {60, 100},
	};
	uint64_t n_pixels = MIN((uint64_t)head->w * head->h, UINT32_MAX);
	uint64_t ns = (n_pixels * costs[head->coding].per_pixel + MIN(n_bytes, UINT32_MAX) * costs[head->coding].per_byte) / 10;

	return (uint32_t)MIN(COST_BASE_US + ns / NS_PER_US, COST_MAX_US);
}

uint64_t decode_need_bytes(const struct picture_head *head, uint64_t max_pixels)
{
	/* Measured by the peak of the worker's memory at 64 and 169 megapixels (doc/design/0018). */
	static const uint8_t per_pixel[N_PICTURE_CODINGS] = {
		[PICTURE_UNKNOWN] = 12,
		[PICTURE_JPEG] = 3,
		[PICTURE_JPEG_PROGRESSIVE] = 12,
		[PICTURE_PNG] = 3,
		[PICTURE_PNG_INTERLACED] = 6,
		[PICTURE_WEBP] = 8,
		[PICTURE_WEBP_LOSSLESS] = 12,
	};
	uint64_t n_pixels = head->coding == PICTURE_UNKNOWN ? max_pixels : MIN((uint64_t)head->w * head->h, max_pixels);

	return n_pixels * per_pixel[head->coding];
}

void pace_note(struct pace *p, uint64_t now_ns)
{
	uint64_t last_ns = p->last_ns, period_ns;

	p->last_ns = now_ns;
	if (!last_ns)
		return;
	period_ns = MIN(now_ns - last_ns, PERIOD_MAX_NS);
	if (p->period_ns == 0) {
		p->period_ns = MAX(period_ns, 1);
		return;
	}
	period_ns = MIN(period_ns, PACE_MAX_GROWTH * p->period_ns);
	p->period_ns = MAX(((PACE_SHARE - 1) * p->period_ns + period_ns) / PACE_SHARE, 1);
}

bool pace_differs(uint64_t period_ns, uint64_t ranked_by_ns)
{
	return period_ns > ranked_by_ns + ranked_by_ns / 4 || ranked_by_ns > period_ns + period_ns / 4;
}

unsigned pace_ahead(const struct pace *p)
{
	return (unsigned)MAX(AHEAD_MIN, p->period_ns ? MIN(AHEAD_NS / p->period_ns, AHEAD_MAX) : 0);
}

uint64_t decode_due(const struct pace *p, uint64_t now_ns, unsigned lead, uint32_t cost_us)
{
	uint64_t period_ns = p->period_ns ? p->period_ns : PERIOD_UNKNOWN_NS;

	return (lead == 0 ? DUE_NEXT : DUE_LATER + lead * period_ns) + now_ns - cost_us * NS_PER_US;
}

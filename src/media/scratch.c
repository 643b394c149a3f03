/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of scratch.h. */
#include "media/scratch.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static _Thread_local struct {
	void *p;
	size_t n_bytes;
} slots[N_SCRATCH_SLOTS];

static void slot_free(unsigned i)
{
	mem_free(slots[i].p);
	slots[i].p = NULL;
	slots[i].n_bytes = 0;
}

int scratch_get(enum scratch_slot slot, size_t n_bytes, void *ret_p)
{
	void *p;

	if (n_bytes > SCRATCH_MAX_BYTES)
		return E_LIMIT;
	if (n_bytes > slots[slot].n_bytes || !slots[slot].p) {
		slot_free(slot);
		slots[slot].p = mem_alloc(n_bytes + SCRATCH_PADDING + SCRATCH_ALIGN);
		if (!slots[slot].p)
			return -ENOMEM;
		slots[slot].n_bytes = n_bytes;
	}
	p = (void *)(((uintptr_t)slots[slot].p + SCRATCH_ALIGN - 1) & ~(uintptr_t)(SCRATCH_ALIGN - 1));
	memcpy(ret_p, &p, sizeof(void *));
	return 0;
}

void scratch_trim(void)
{
	for (unsigned i = 0; i < N_SCRATCH_SLOTS; i++) {
		if (slots[i].n_bytes > SCRATCH_KEEP_BYTES)
			slot_free(i);
	}
}

void scratch_release(void)
{
	for (unsigned i = 0; i < N_SCRATCH_SLOTS; i++)
		slot_free(i);
}

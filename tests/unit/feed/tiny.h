/* SPDX-License-Identifier: Apache-2.0 */
/* A data set small enough to be read a thousand times: four shards of PNGs, texts and labels in ram:tiny, some bad. */
#ifndef OLDDOG_TESTS_FEED_TINY_H
#define OLDDOG_TESTS_FEED_TINY_H

#include "plan/plan.h"
#include "store/store.h"

#define TINY_EPOCH_LEN 48

/* It lives as long as somebody has the store. */
struct store *tiny_data(void);
struct plan *tiny_plan(void);
/* Of another spec over the same data. */
struct plan *tiny_plan_of(const char *spec_text);
uint64_t tiny_dice(uint64_t *state);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* How values of a spec are written; for plan/spec*.c only. Errors are sticky in the spec_out. */
#ifndef OLDDOG_PLAN_SPEC_WRITE_H
#define OLDDOG_PLAN_SPEC_WRITE_H

#include "plan/spec_table.h"

void spec_write_word(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_u64(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_u32(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_size(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_real(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_pair(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_share(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_group(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_sources(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_data(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_fields(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_order(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_skip(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_from(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_step(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_square(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_shorter(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_normalize(struct spec_out *o, const struct spec_key *k, const void *from);
void spec_write_triple(struct spec_out *o, const struct spec_key *k, const void *from);

bool spec_absent_weight(const struct spec_key *k, const void *from);
bool spec_absent_fields(const struct spec_key *k, const void *from);
bool spec_absent_batch(const struct spec_key *k, const void *from);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains as one line of text, for tests: words split by ';', arguments by ','.
 *
 *	mode=gray;orientation=ignore;random_resized_crop=224,224,bilinear,0.08,1,0.75,1.3333;hflip=0.5
 *
 * mode=rgb|gray|keep  orientation=apply|ignore  resample=13|12  max_pixels=N  max_bytes=N
 * resize=H,W,FILTER (W 0: the shorter side becomes H)  center_crop=H,W  random_crop=H,W  pad=H,W
 * random_resized_crop=H,W,FILTER,AREA,AREA,RATIO,RATIO  hflip=P  vflip=P  grayscale=P
 */
#ifndef OLDDOG_TESTS_CHAIN_H
#define OLDDOG_TESTS_CHAIN_H

#include "wire/recipe.h"

/* A recipe of one image field with these steps; keys and draws as a plan of this seed has them. 0, -EINVAL. */
int chain_parse(const char *text, uint64_t seed, struct recipe *ret);

#endif

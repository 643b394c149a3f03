/* SPDX-License-Identifier: Apache-2.0 */
/* What a field is: by its name, extensions and keys. For plan/spec*.c only. */
#ifndef OLDDOG_PLAN_SPEC_KIND_H
#define OLDDOG_PLAN_SPEC_KIND_H

#include "base/str.h"
#include "wire/recipe.h"

#define SPEC_MAX_FROM 16u

extern const double spec_imagenet_mean[3], spec_imagenet_std[3];

/* By what is behind the last dot, whatever the case; FIELD_BYTES when that says nothing. */
enum field_kind spec_kind_of(const char *extension);
const char *spec_kind_name(enum field_kind kind);
/* The chain of a name such as imagenet_train, or NULL. */
const char *spec_transform_find(struct str name);

#endif

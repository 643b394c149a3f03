/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan's plan.json, as anybody may have left it in a directory: opened or refused with words. Its sum would keep inputs from
 * all that comes behind it, so it is made right first, for those that are JSON.
 */
#include <assert.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/scope.h"
#include "plan/plan.h"

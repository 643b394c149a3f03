/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of users and groups of this host, each asked for once: files have few owners, and who answers may be far away
 * (LDAP). From any thread.
 */
#ifndef OLDDOG_STORE_OWNERS_H
#define OLDDOG_STORE_OWNERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct owner_name {
	uint32_t id;
	char *name;
};

struct owners {
	pthread_mutex_t lock;		/* of what follows */
	VEC(struct owner_name) names[2];	/* users, groups; by id */
};

void owners_init(struct owners *o);
void owners_release(struct owners *o);
/* The number in decimal when there is no name; NULL when there are too many. As long as o. 0 or -ENOMEM. */
int owners_name(struct owners *o, bool group, uint32_t id, const char **ret);
/* The other way, not kept; a number is itself. -ENOENT. */
int owner_id(const char *name, bool group, uint32_t *ret);

#endif

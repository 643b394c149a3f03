/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the ram: store share. Everything here is called with the lock held; paths are clean. */
#ifndef OLDDOG_STORE_RAM_INT_H
#define OLDDOG_STORE_RAM_INT_H

#include <pthread.h>

#include "store/engine.h"
#include "store/ram_tree.h"

struct ram {
	struct ram *next;
	const char *scheme;
	char *name;
	unsigned refs;
	pthread_mutex_t lock;	/* of what follows */
	struct ram_tree tree;
	uint64_t version;	/* the last one given */
	VEC(char *) names;	/* of owners and groups */
};

/* ram_file.c */
int ram_stat(struct ram *ram, const char *path, struct store_stat *ret);
int ram_read(struct ram *ram, const char *path, struct store_req *req);
int ram_list(struct ram *ram, const char *path, struct store_req *req);
int ram_write(struct ram *ram, const char *path, const struct store_range *content, bool exclusive);
int ram_concat(struct ram *ram, const char *path, struct store_req *req);
int ram_checksum(struct ram *ram, const char *path, struct store_checksum *ret);
int ram_locate(struct ram *ram, const char *path, struct store_req *req);

/* ram_writer.c */
int ram_open_writer(struct ram *ram, const char *path, struct store_req *req);
int ram_append(struct ram *ram, struct store_req *req);
/* COMMIT and ABORT. */
int ram_end_writer(struct ram *ram, struct store_req *req);

/* ram_attr.c */
int ram_set(struct ram *ram, const char *path, const struct store_set *set);
int ram_space(struct ram *ram, const char *path, struct store_space *ret);
int ram_summary(struct ram *ram, const char *path, struct store_summary *ret);
int ram_xattr(struct ram *ram, const char *path, struct store_req *req);
void ram_names_release(struct ram *ram);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A site's file: read, and all that a client takes of it. */
#include <assert.h>
#include <stdlib.h>

#include "store/hdfs/conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	AUTO(site) struct site *s = NULL;
	struct hdfs_conf c = {0};
	struct err e = {0};
	int r = site_parse((const char *)p, n, &s, &e);

	assert(r == 0 || r == -ENOMEM || e.words[0]);
	if (r < 0)
		return 0;
	/* Names are not to be asked for while fuzzing. */
	if (site_set(s, "dfs.client.failover.resolve-needed", "false") < 0)
		return 0;
	e = (struct err){0};
	r = hdfs_conf_of(s, "", &c, &e);
	assert(r == 0 || r == -ENOMEM || e.words[0]);
	if (r == 0)
		assert(c.n_namenodes > 0 && c.block_bytes > 0 && c.bytes_per_sum > 0);
	hdfs_conf_release(&c);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the man page olddog-hdfs(5): build/tests/unit/store/hdfs/print_hdfs_page > doc/man/olddog-hdfs.5.scd */
#include <stdio.h>

#include "store/hdfs/conf/conf.h"

int main(void)
{
	struct buf AUTO_BUF page;

	buf_init(&page, 1u << 20);
	hdfs_conf_page(&page);
	return page.r == 0 && fwrite(page.ptr, 1, page.n, stdout) == page.n ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the man page olddog-spec(5): build/tests/unit/plan/print_spec_page > doc/man/olddog-spec.5.scd */
#include <stdio.h>

#include "plan/spec.h"

int main(void)
{
	struct buf AUTO_BUF page;

	buf_init(&page, 1u << 20);
	spec_page(&page);
	return page.r == 0 && fwrite(page.ptr, 1, page.n, stdout) == page.n ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The XML of a site's files, for site.c: properties in the order written, with what is included. */
#ifndef OLDDOG_STORE_HDFS_CONF_SITE_XML_H
#define OLDDOG_STORE_HDFS_CONF_SITE_XML_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* Gets each property; what it fails with ends the reading, with words from e. */
typedef int site_property_fn(void *ctx, struct str name, struct str value, bool final, struct err *e);

/* All that reading a site takes. */
struct site_reading {
	site_property_fn *fn;
	void *ctx;
	unsigned n_files, depth;
	struct err *e;
};

/* -ENOENT without words when there is no such file; -EINVAL with words for what is wrong in it, with its line. */
int site_xml_file(struct site_reading *r, const char *path);
/* Relative includes are looked for in the current directory. */
int site_xml_text(struct site_reading *r, const char *xml, size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a store's URL: SCHEME:REST[#FILTER=VALUE[&FILTER=VALUE]..]. REST is percent-decoded (a '#' in a name is
 * %23, a '%' is %25). What has no scheme is a path of the shell and taken as it is, except that a last part
 * "#FILTER=.." with the name of a filter that exists is a filter here too.
 */
#ifndef OLDDOG_STORE_URL_H
#define OLDDOG_STORE_URL_H

#include "base/err.h"
#include "base/str.h"

struct url {
	char *scheme;	/* "": a path of the shell */
	char *rest;	/* after the colon, or the path */
	char *filters;	/* after the '#', or "" */
};

/* is_filter says which names of filters exist. 0, -ENOMEM, or -EINVAL with words. */
int url_parse(const char *text, bool (*is_filter)(struct str name), struct url *ret, struct err *e);
/* url_parse() with the filters that there are; in store.c. */
int store_url(const char *text, struct url *ret, struct err *e);
void url_release(struct url *u);
/* The next NAME=VALUE of a list of filters; false at the end. Without '=' the value is empty. */
bool url_next_filter(struct str *list, struct str *ret_name, struct str *ret_value);

#define AUTO_URL __attribute__((cleanup(url_release)))

#endif

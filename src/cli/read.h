/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `read`. */
#ifndef OLDDOG_CLI_READ_H
#define OLDDOG_CLI_READ_H

#include "cli/cmd.h"

extern const struct cmd cmd_read;

#endif

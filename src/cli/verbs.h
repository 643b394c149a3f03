/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs, each defined in the file of its name. */
#ifndef OLDDOG_CLI_VERBS_H
#define OLDDOG_CLI_VERBS_H

#include "cli/cmd.h"

extern const struct cmd cmd_cat, cmd_cp, cmd_df, cmd_doctor, cmd_ls, cmd_mkdir, cmd_peek, cmd_plan, cmd_read, cmd_rm, cmd_stat;

#endif

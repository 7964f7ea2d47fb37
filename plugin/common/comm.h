/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --comm=PATTERN of srun, sbatch and salloc: by which a job says
 * that it communicates heavily, and how. */
#ifndef TAUT_PLUGIN_COMMON_COMM_H
#define TAUT_PLUGIN_COMMON_COMM_H

#include "wire/error.h"

#define TAUT_COMM_MAX 200 /* bytes of the value */

/* Look whether a value of --comm has the form NAME[:KEY=VALUE,…], the name of
 * lower case letters, digits and '-', the rest without blanks, quotes or ';'.
 * Which names there are, and what parameters, is known on the controller's
 * host only.
 *   value  NULL when the option had none
 * Returns 0, or -1 with errno EINVAL and 'err' naming value and form. */
int taut_comm_check(const char *value, struct taut_error *err);

#endif

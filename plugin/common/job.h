/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a check or a survey is about: the job and this node. */
#ifndef TAUT_PLUGIN_COMMON_JOB_H
#define TAUT_PLUGIN_COMMON_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/error.h"
#include "wire/protocol.h"

struct taut_job {
    enum taut_purpose purpose;
    uint32_t id; /* 0 for an idle check */
    uint32_t restart;
    uint32_t uid;
    uint32_t step, procid; /* of a survey */
    char *node;            /* this node, as Slurm names it */
    char *nodes;           /* the whole allocation; the step's of a survey */
    char *partition;
    char *slurm; /* version of Slurm */
};

/* All empty.  Returns 0, or -1 with errno ENOMEM. */
int taut_job_init(struct taut_job *job, enum taut_purpose purpose);

void taut_job_fini(struct taut_job *job);

/* Set one field: job, restart, uid, step, procid, node, nodes, partition,
 * slurm.
 *   value  from a user's environment or a command line: checked for the
 *          characters and the range that the field may have; copied
 * Returns 0, or -1 with errno ENOENT (no such field), EINVAL (value) or
 * ENOMEM, and 'err' saying which. */
int taut_job_set(struct taut_job *job, const char *field, const char *value,
                 struct taut_error *err);

/* Fill 'job' from the environment of a Slurm prolog or epilog.  What is
 * missing or malformed is left empty, except that node, nodes and id are
 * needed.
 * Returns 0, or -1 with errno EINVAL and 'err' naming what is missing.
 * Source: prolog and epilog environment of Slurm 22.05 to 26.05; 22.05 has
 * SLURM_NODELIST only, later releases SLURM_JOB_NODELIST as well. */
int taut_job_from_environ(struct taut_job *job, struct taut_error *err);

/* Fill 'job' from the environment of a process that srun started; node,
 * nodes, id, step and procid are needed.
 * Returns 0, or -1 with errno EINVAL and 'err' naming what is missing. */
int taut_job_from_step(struct taut_job *job, struct taut_error *err);

#endif

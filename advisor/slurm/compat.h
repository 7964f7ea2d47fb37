/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed in Slurm's API between 17.02 (the series that ran over ALPS)
 * and 26.05, all in this file.
 * (Flags that are macros are tested with #ifdef where they are used.) */
#ifndef TAUT_ADVISOR_SLURM_COMPAT_H
#define TAUT_ADVISOR_SLURM_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(18, 8, 0)
#define TAUT_SLURM_ALPS 1
typedef slurm_ctl_conf_t slurm_conf_t;

static inline void slurm_init(const char *conf)
{
    (void)conf;
}
#endif

/* The host and address of slurmctld number i, from 0; NULL if there is none.
 * Returns how many there are. */
static inline uint32_t taut_controller(const slurm_conf_t *conf, uint32_t i,
                                       const char **host, const char **addr)
{
#ifdef TAUT_SLURM_ALPS
    *host = i == 0 ? conf->control_machine : conf->backup_controller;
    *addr = i == 0 ? conf->control_addr : conf->backup_addr;
    return conf->backup_controller != NULL ? 2 : 1;
#else
    bool is_there = i < conf->control_cnt;

    *host = is_there ? conf->control_machine[i] : NULL;
    *addr = is_there && conf->control_addr != NULL ? conf->control_addr[i]
                                                   : NULL;
    return conf->control_cnt;
#endif
}

/* Whether slurmctld number i answers. */
static inline bool taut_ping(uint32_t i)
{
#ifdef TAUT_SLURM_ALPS
    i++; /* it counts from 1 */
#endif
    return slurm_ping((int)i) == SLURM_SUCCESS;
}

/* The first job of a heterogeneous one, or 0. */
static inline uint32_t taut_het_job(const slurm_job_info_t *job)
{
#ifdef TAUT_SLURM_ALPS
    (void)job;
    return 0;
#else
    return job->het_job_id;
#endif
}

/* Which component of it this is, from 0. */
static inline uint32_t taut_het_offset(const slurm_job_info_t *job)
{
#ifdef TAUT_SLURM_ALPS
    (void)job;
    return 0;
#else
    return job->het_job_offset;
#endif
}

/* The number of a job: a member of its own until 25.05. */
static inline uint32_t taut_job_id(const slurm_job_info_t *job)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
    return job->step_id.job_id;
#else
    return job->job_id;
#endif
}

/* What an update of job 'id' begins with: nothing changes yet. */
static inline void taut_init_update(job_desc_msg_t *job, uint32_t id)
{
    slurm_init_job_desc_msg(job);
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
    job->step_id.job_id = id;
#else
    job->job_id = id;
#endif
}

/* One job, and of an array all its tasks; slurm_free_job_info_msg frees them.
 * Returns 0, or -1 with errno. */
static inline int taut_load_job(job_info_msg_t **msg, uint32_t id)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    slurm_step_id_t step = SLURM_STEP_ID_INITIALIZER;

    step.job_id = id;
    return slurm_load_job(msg, step, SHOW_ALL);
#else
    return slurm_load_job(msg, id, SHOW_ALL);
#endif
}

static inline void taut_free_conf(slurm_conf_t *conf)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    slurm_free_conf(conf);
#else
    slurm_free_ctl_conf(conf);
#endif
}

/* In the library since 14.11, but in no header, though slurm.h names it as
 * what to free the answer with. */
extern void slurm_free_will_run_response_msg(will_run_response_msg_t *msg);

#endif

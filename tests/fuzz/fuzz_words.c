/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The short texts that a node takes from users, from Slurm and from files: the
 * first byte says which one. */
#include <config.h>

#include <string.h>

#include "plugin/common/address.h"
#include "plugin/common/comm.h"
#include "plugin/common/job.h"
#include "plugin/common/options.h"
#include "plugin/common/text.h"
#include "plugin/probe/locality.h"
#include "tests/fuzz/fuzz.h"

static bool is_clean(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 32 || *text == 127)
            return false;
    }
    return true;
}

/* --comm of srun */
static void try_comm(const char *text)
{
    struct taut_error why = {""};

    if (taut_comm_check(text, &why) == 0)
        FUZZ_CHECK(is_clean(text) && strlen(text) <= TAUT_COMM_MAX);
    else
        FUZZ_CHECK(*why.text && is_clean(why.text));
}

/* What a job is, of the environment */
static void try_job(const char *text)
{
    static const char *const fields[] = {"job",       "node",  "nodes",
                                         "partition", "slurm", "uid"};
    struct taut_job job;

    FUZZ_CHECK(taut_job_init(&job, TAUT_PURPOSE_PROLOG) == 0);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (taut_job_set(&job, fields[i], text, NULL) == 0)
            FUZZ_CHECK(is_clean(text));
    }
    FUZZ_CHECK(is_clean(job.node) && is_clean(job.nodes) &&
               is_clean(job.partition));
    taut_job_fini(&job);
}

/* A word of plugstack.conf or a line of node.conf */
static void try_option(const char *text)
{
    struct taut_options opts;
    struct taut_error why = {""};

    FUZZ_CHECK(taut_options_init(&opts) == 0);
    if (taut_options_set_pair(&opts, text, &why) < 0)
        FUZZ_CHECK(*why.text);
    FUZZ_CHECK(is_clean(opts.probe) && is_clean(opts.rundir));
    taut_options_fini(&opts);
}

/* A list of processors, of /sys */
static void try_locality(const char *text)
{
    char again[TAUT_LOCALITY_TEXT];
    cpu_set_t set;

    if (taut_locality_parse(&set, text) == 0) {
        taut_locality_format(&set, again, sizeof(again));
        FUZZ_CHECK(strlen(again) < sizeof(again));
    }
}

/* A peer, of a PLAN */
static void try_address(const char *text)
{
    struct taut_address address, other;
    char again[TAUT_ADDRESS_TEXT];

    memset(&address, 0, sizeof(address));
    if (taut_address_parse(&address, text, NULL) < 0)
        return;
    taut_address_format(&address, again);
    FUZZ_CHECK(taut_address_parse(&other, again, NULL) == 0);
}

/* What a probe writes, for the log */
static void try_text(char *text)
{
    taut_text_clean(text);
    FUZZ_CHECK(is_clean(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = n > 0 ? malloc(n) : NULL;

    if (text == NULL)
        return 0;
    memcpy(text, data + 1, n - 1);
    text[n - 1] = '\0';
    switch (data[0]) {
    case 'a':
        try_address(text);
        break;
    case 'c':
        try_comm(text);
        break;
    case 'j':
        try_job(text);
        break;
    case 'l':
        try_locality(text);
        break;
    case 'o':
        try_option(text);
        break;
    default:
        try_text(text);
    }
    free(text);
    return 0;
}

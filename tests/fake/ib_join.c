/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Join this port to IPoIB's broadcast group, as a host's network interface
 * does: fake-ib-join SM_LID PORT_GUID. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/umad_sa.h>
#include <infiniband/umad_sa_mcm.h>

#include "advisor/ib/mads.h"
#include "advisor/ib/umad.h"

#define METHOD_SET 2

static int failed = EIO;

static void on_answer(struct taut_mad *mad, int error)
{
    failed = error;
    if (error == EREMOTEIO)
        fprintf(stderr, "refused with status 0x%x\n", taut_mad_status(mad));
}

static struct taut_mad *join(uint16_t sm_lid, uint64_t port)
{
    static const uint8_t mgid[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
                                     0,    0,    0,    0,    0,    0,
                                     0xff, 0xff, 0xff, 0xff};
    struct taut_mad *mad =
        taut_mad_get(TAUT_MAD_SA, UMAD_SA_ATTR_MCMEMBER_REC, 0);
    uint8_t *record = mad->bytes + TAUT_SA_DATA;

    mad->bytes[3] = METHOD_SET;
    taut_be_write(mad->bytes + 48, 8,
                  UMAD_SA_MCM_COMP_MASK_MGID | UMAD_SA_MCM_COMP_MASK_PORT_GID |
                      UMAD_SA_MCM_COMP_MASK_JOIN_STATE);
    memcpy(record, mgid, sizeof(mgid));
    taut_be_write(record + 16, 8, UINT64_C(0xfe80000000000000));
    taut_be_write(record + 24, 8, port);
    record[48] = UMAD_SA_MCM_JOIN_STATE_FULL_MEMBER;
    taut_mad_to(mad, sm_lid, 0);
    mad->done = on_answer;
    return mad;
}

int main(int argc, char **argv)
{
    struct taut_error err = {""};
    struct taut_mad_peer sm = {0};
    const struct taut_mads_options options = {
        .max = 1,
        .per_peer = 1,
        .tries = 3,
        .timeout_ms = 500,
        .time_ns = UINT64_C(10000000000),
    };

    if (argc != 3) {
        fprintf(stderr, "usage: fake-ib-join SM_LID PORT_GUID\n");
        return 2;
    }
    struct taut_umad *umad = taut_umad_open(NULL, 0, &err);
    if (umad == NULL) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    struct taut_mad_port port = taut_umad_port(umad);
    struct taut_mads *mads = taut_mads_create(&port, &options);
    taut_mads_ask(mads, &sm,
                  join((uint16_t)atoi(argv[1]), strtoull(argv[2], NULL, 0)));
    taut_mads_run(mads);
    taut_mads_destroy(mads);
    taut_umad_close(umad);
    return failed == 0 ? 0 : 1;
}

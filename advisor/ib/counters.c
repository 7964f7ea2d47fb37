/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Port counters from the performance management agents.
 *
 * Each node is asked first what it can do (ClassPortInfo), then each port for
 * PortCounters and, where there is such a thing, PortCountersExtended, whose
 * 64 bits are preferred.  Nothing is ever written. */
#include <config.h>

#include <errno.h>

#include <infiniband/mad.h>

#include "advisor/ib/fabric.h"
#include "wire/ib_counters.h"

/* ClassPortInfo's CapabilityMask of performance management (IBA 1, 16.1.3.1),
 * and a bit of its CapabilityMask2. */
#define PM_ALL_PORTS 0x0100
#define PM_EXT_WIDTH 0x0200
#define PM_EXT_WIDTH_NO_IETF 0x0400
#define PM_XMIT_WAIT 0x1000
#define PM2_EXT_ERRORS 0x2

#define ATTR_CLASS_PORT_INFO 1

#define ALL_PORTS 255

#define FIRST_TRAFFIC 13 /* in taut_ib_counter_names */

enum need {
    ALWAYS = 0,
    NEEDS_WAIT,
    NEEDS_IETF,
    NEEDS_ERRORS,
};

static const struct {
    enum MAD_FIELDS field;
    unsigned char counter;
    unsigned char need;
} basic[] =
    {
        {IB_PC_ERR_SYM_F, 0, ALWAYS},
        {IB_PC_LINK_RECOVERS_F, 1, ALWAYS},
        {IB_PC_LINK_DOWNED_F, 2, ALWAYS},
        {IB_PC_ERR_RCV_F, 3, ALWAYS},
        {IB_PC_ERR_PHYSRCV_F, 4, ALWAYS},
        {IB_PC_ERR_SWITCH_REL_F, 5, ALWAYS},
        {IB_PC_XMT_DISCARDS_F, 6, ALWAYS},
        {IB_PC_ERR_XMTCONSTR_F, 7, ALWAYS},
        {IB_PC_ERR_RCVCONSTR_F, 8, ALWAYS},
        {IB_PC_ERR_LOCALINTEG_F, 9, ALWAYS},
        {IB_PC_ERR_EXCESS_OVR_F, 10, ALWAYS},
        {IB_PC_VL15_DROPPED_F, 11, ALWAYS},
        {IB_PC_XMT_WAIT_F, 12, NEEDS_WAIT},
        {IB_PC_XMT_BYTES_F, 13, ALWAYS},
        {IB_PC_RCV_BYTES_F, 14, ALWAYS},
        {IB_PC_XMT_PKTS_F, 15, ALWAYS},
        {IB_PC_RCV_PKTS_F, 16, ALWAYS},
},
  extended[] = {
      {IB_PC_EXT_XMT_BYTES_F, 13, ALWAYS},
      {IB_PC_EXT_RCV_BYTES_F, 14, ALWAYS},
      {IB_PC_EXT_XMT_PKTS_F, 15, ALWAYS},
      {IB_PC_EXT_RCV_PKTS_F, 16, ALWAYS},
      {IB_PC_EXT_XMT_UPKTS_F, 17, NEEDS_IETF},
      {IB_PC_EXT_RCV_UPKTS_F, 18, NEEDS_IETF},
      {IB_PC_EXT_XMT_MPKTS_F, 19, NEEDS_IETF},
      {IB_PC_EXT_RCV_MPKTS_F, 20, NEEDS_IETF},
      {IB_PC_EXT_ERR_SYM_F, 0, NEEDS_ERRORS},
      {IB_PC_EXT_LINK_RECOVERS_F, 1, NEEDS_ERRORS},
      {IB_PC_EXT_LINK_DOWNED_F, 2, NEEDS_ERRORS},
      {IB_PC_EXT_ERR_RCV_F, 3, NEEDS_ERRORS},
      {IB_PC_EXT_ERR_PHYSRCV_F, 4, NEEDS_ERRORS},
      {IB_PC_EXT_ERR_SWITCH_REL_F, 5, NEEDS_ERRORS},
      {IB_PC_EXT_XMT_DISCARDS_F, 6, NEEDS_ERRORS},
      {IB_PC_EXT_ERR_XMTCONSTR_F, 7, NEEDS_ERRORS},
      {IB_PC_EXT_ERR_RCVCONSTR_F, 8, NEEDS_ERRORS},
      {IB_PC_EXT_ERR_LOCALINTEG_F, 9, NEEDS_ERRORS},
      {IB_PC_EXT_ERR_EXCESS_OVR_F, 10, NEEDS_ERRORS},
      {IB_PC_EXT_VL15_DROPPED_F, 11, NEEDS_ERRORS},
      {IB_PC_EXT_XMT_WAIT_F, 12, NEEDS_ERRORS},
};

const char *const taut_ib_counter_names[] = {
    TAUT_IB_COUNTERS,
    NULL,
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

struct reading {
    struct taut_ib_fabric *fabric;
    struct taut_mads *mads;
    bool traffic;
};

static bool can(const struct taut_ib_node *node, unsigned need)
{
    switch (need) {
    case NEEDS_WAIT:
        return node->pm_caps & PM_XMIT_WAIT;
    case NEEDS_IETF:
        return !(node->pm_caps & PM_EXT_WIDTH_NO_IETF);
    case NEEDS_ERRORS:
        return node->pm_caps2 & PM2_EXT_ERRORS;
    default:
        return true;
    }
}

/* Without being asked for, traffic is not told: 32 bits of bytes are full in
 * seconds. */
static bool is_traffic(unsigned counter)
{
    return counter >= FIRST_TRAFFIC;
}

static bool failed(struct taut_ib_port *port, struct taut_mad *mad, int error)
{
    if (error == 0)
        return false;
    port->pm_error = error;
    if (error == EREMOTEIO)
        port->pm_status = (int)taut_mad_status(mad);
    return true;
}

static void on_basic(struct taut_mad *mad, int error)
{
    struct taut_ib_port *port = mad->subject;
    const struct reading *r = mad->owner;

    if (failed(port, mad, error))
        return;
    for (size_t i = 0; i < COUNT(basic); i++) {
        uint64_t bit = UINT64_C(1) << basic[i].counter;
        if ((port->wide & bit) || !can(port->node, basic[i].need) ||
            (is_traffic(basic[i].counter) && !r->traffic))
            continue;
        port->value[basic[i].counter] =
            mad_get_field(mad->bytes + TAUT_PERF_DATA, 0, basic[i].field);
        port->has |= bit;
    }
}

static void on_extended(struct taut_mad *mad, int error)
{
    struct taut_ib_port *port = mad->subject;
    const struct reading *r = mad->owner;

    if (failed(port, mad, error))
        return;
    for (size_t i = 0; i < COUNT(extended); i++) {
        uint64_t bit = UINT64_C(1) << extended[i].counter;
        if (!can(port->node, extended[i].need) ||
            (is_traffic(extended[i].counter) && !r->traffic))
            continue;
        port->value[extended[i].counter] =
            mad_get_field64(mad->bytes + TAUT_PERF_DATA, 0, extended[i].field);
        port->has |= bit;
        port->wide |= bit;
    }
}

/* ---- asking ---- */

static void ask(struct reading *r, struct taut_ib_port *port, unsigned select,
                uint16_t attr, taut_mad_done_f *done)
{
    struct taut_ib_node *node = port->node;
    uint16_t lid = node->type == TAUT_IB_SWITCH ? node->lid : port->lid;
    struct taut_mad *mad = taut_mad_get(TAUT_MAD_PERF, attr, 0);

    if (mad == NULL) {
        r->fabric->no_memory = true;
        return;
    }
    if (attr != ATTR_CLASS_PORT_INFO)
        mad_set_field(mad->bytes + TAUT_PERF_DATA, 0, IB_PC_PORT_SELECT_F,
                      select);
    taut_mad_to(mad, lid, 0);
    mad->done = done;
    mad->owner = r;
    mad->subject = port;
    taut_mads_ask(r->mads, &node->peer, mad);
}

/* LIDs from 0xc000 on are multicast groups.  A switch's port 0 is its own
 * processor: no cable, and mostly no counters. */
static bool is_askable(const struct taut_ib_port *port)
{
    const struct taut_ib_node *node = port->node;
    uint16_t lid = node->type == TAUT_IB_SWITCH ? node->lid : port->lid;

    return port->known && port->number > 0 && lid > 0 && lid < 0xc000;
}

static void ask_counters(struct reading *r, struct taut_ib_node *node)
{
    for (unsigned i = 0; i <= node->num_ports; i++) {
        struct taut_ib_port *port = &node->ports[i];
        if (!is_askable(port))
            continue;
        ask(r, port, port->number, IB_GSI_PORT_COUNTERS, on_basic);
        if ((r->traffic || (node->pm_caps2 & PM2_EXT_ERRORS)) &&
            (node->pm_caps & (PM_EXT_WIDTH | PM_EXT_WIDTH_NO_IETF)))
            ask(r, port, port->number, IB_GSI_PORT_COUNTERS_EXT, on_extended);
    }
}

static bool all_zero(const struct taut_ib_node *node, uint8_t *data)
{
    for (size_t i = 0; i < COUNT(basic); i++)
        if (!is_traffic(basic[i].counter) && can(node, basic[i].need) &&
            mad_get_field(data, 0, basic[i].field) != 0)
            return false;
    return true;
}

/* The sum of a switch's ports; where that is nothing, so is each. */
static void on_sum(struct taut_mad *mad, int error)
{
    struct taut_ib_node *node = ((struct taut_ib_port *)mad->subject)->node;

    if (error != 0 || !all_zero(node, mad->bytes + TAUT_PERF_DATA)) {
        ask_counters(mad->owner, node);
        return;
    }
    for (unsigned i = 0; i <= node->num_ports; i++)
        for (size_t k = 0; k < COUNT(basic); k++)
            if (is_askable(&node->ports[i]) && !is_traffic(basic[k].counter) &&
                can(node, basic[k].need))
                node->ports[i].has |= UINT64_C(1) << basic[k].counter;
}

static void ask_node(struct reading *r, struct taut_ib_port *first)
{
    const struct taut_ib_node *node = first->node;

    if (node->type == TAUT_IB_SWITCH && (node->pm_caps & PM_ALL_PORTS) &&
        !(node->pm_caps2 & PM2_EXT_ERRORS) && !r->traffic)
        ask(r, first, ALL_PORTS, IB_GSI_PORT_COUNTERS, on_sum);
    else
        ask_counters(r, first->node);
}

static void on_abilities(struct taut_mad *mad, int error)
{
    struct taut_ib_port *port = mad->subject;
    struct taut_ib_node *node = port->node;
    uint8_t *info = mad->bytes + TAUT_PERF_DATA;

    if (error == 0) {
        node->pm_caps = (uint16_t)mad_get_field(info, 0, IB_CPI_CAPMASK_F);
        node->pm_caps2 = mad_get_field(info, 0, IB_CPI_CAPMASK2_F);
    } else if (error != EREMOTEIO) {
        for (unsigned i = 0; i <= node->num_ports; i++)
            if (node->ports[i].known)
                node->ports[i].pm_error = error;
        return;
    }
    ask_node(mad->owner, port);
}

static struct taut_ib_port *first_askable(struct taut_ib_node *node)
{
    for (unsigned i = 0; i <= node->num_ports; i++)
        if (is_askable(&node->ports[i]))
            return &node->ports[i];
    return NULL;
}

int taut_ib_read_counters(struct taut_ib_fabric *fabric, struct taut_mads *mads,
                          bool traffic)
{
    struct reading r = {fabric, mads, traffic};

    for (struct taut_ib_node *n = fabric->nodes; n != NULL; n = n->next) {
        struct taut_ib_port *port = first_askable(n);
        /* It may have been deaf on one way and be reached on another. */
        n->peer.unanswered = 0;
        if (port != NULL)
            ask(&r, port, 0, ATTR_CLASS_PORT_INFO, on_abilities);
    }
    return taut_mads_run(mads);
}

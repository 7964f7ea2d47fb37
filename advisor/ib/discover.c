/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Discovery by direct routes, breadth first as far as answers come in.
 *
 * libibnetdisc does the same for ibnetdiscover, but waits without a limit for
 * an answer, ends at the first unexpected one, and trusts the port number in an
 * answer. Here each request is independent, and unclear results are left out
 * and reported. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include <infiniband/mad.h>

#include "advisor/ib/fabric.h"

#define PHYS_LINK_UP 5
#define NI_LOCAL_PORT 36 /* offset in NodeInfo */
#define NI_PORT_GUID 20
#define NI_SAME 12 /* up to here, two answers of one node are the same */

struct sweep {
    struct taut_ib_fabric *fabric;
    struct taut_mads *mads;
    int local_error;
};

static void ask(struct sweep *s, struct taut_mad_peer *peer,
                struct taut_mad *mad, taut_mad_done_f *done, void *subject,
                unsigned number)
{
    mad->done = done;
    mad->owner = s;
    mad->subject = subject;
    mad->number = number;
    taut_mads_ask(s->mads, peer, mad);
}

static struct taut_mad *new_smp(struct sweep *s, const struct taut_ib_node *n,
                                uint16_t attr, uint32_t mod)
{
    struct taut_mad *mad = taut_mad_get(TAUT_MAD_SMP_DIRECT, attr, mod);

    if (mad == NULL)
        s->fabric->no_memory = true;
    else
        taut_mad_route(mad, n->path, n->hops);
    return mad;
}

static void on_desc(struct taut_mad *mad, int error)
{
    struct taut_ib_node *node = mad->subject;

    if (error != 0)
        return;
    memcpy(node->desc, mad->bytes + TAUT_SMP_DATA, TAUT_SMP_DATA_BYTES);
    node->named = true;
}

static void ask_desc(struct sweep *s, struct taut_ib_node *node)
{
    struct taut_mad *mad = new_smp(s, node, IB_ATTR_NODE_DESC, 0);

    if (mad != NULL)
        ask(s, &node->peer, mad, on_desc, node, 0);
}

/* ---- ports ---- */

static void ask_far(struct sweep *s, struct taut_ib_port *port);
static void ask_port(struct sweep *s, struct taut_ib_node *node,
                     unsigned number);

/* A route goes on through a switch, and out of this host's own port. */
static bool leads_on(const struct sweep *s, const struct taut_ib_port *port)
{
    const struct taut_ib_node *node = port->node;

    if (port->number == 0 || port->far != NULL || port->asked ||
        mad_get_field((void *)port->info, 0, IB_PORT_PHYS_STATE_F) !=
            PHYS_LINK_UP)
        return false;
    return node->type == TAUT_IB_SWITCH
               ? node->hops < TAUT_MAD_HOPS
               : node == s->fabric->local &&
                     port->number == s->fabric->local_port;
}

static void on_port(struct taut_mad *mad, int error)
{
    struct sweep *s = mad->owner;
    struct taut_ib_node *node = mad->subject;
    struct taut_ib_port *port = &node->ports[mad->number];

    port->error = error;
    if (error != 0)
        return;
    memcpy(port->info, mad->bytes + TAUT_SMP_DATA, TAUT_SMP_DATA_BYTES);
    port->known = true;
    s->fabric->ports_known++;
    port->lid = (uint16_t)mad_get_field(port->info, 0, IB_PORT_LID_F);
    if (node->type == TAUT_IB_SWITCH && port->number == 0)
        node->lid = port->lid;
    if (leads_on(s, port))
        ask_far(s, port);
}

static void ask_port(struct sweep *s, struct taut_ib_node *node,
                     unsigned number)
{
    struct taut_mad *mad = new_smp(s, node, IB_ATTR_PORT_INFO, number);

    if (mad != NULL)
        ask(s, &node->peer, mad, on_port, node, number);
}

/* ---- nodes ---- */

static void join(struct taut_ib_port *a, struct taut_ib_port *b)
{
    a->far = b->node;
    a->far_port = b->number;
    b->far = a->node;
    b->far_port = a->number;
}

static void ask_node(struct sweep *s, struct taut_ib_node *node)
{
    ask_desc(s, node);
    for (unsigned i = 0; node->type == TAUT_IB_SWITCH && i <= node->num_ports;
         i++)
        ask_port(s, node, i);
}

/* The node that answered, known or new; NULL if the answer makes no sense. */
static struct taut_ib_node *take_node(struct sweep *s, const uint8_t *info,
                                      const uint8_t *path, unsigned hops)
{
    uint64_t guid = taut_be_read(info + 12, 8);
    struct taut_ib_node *node = taut_ib_node_find(s->fabric, guid);

    if (node != NULL)
        return node;
    node = taut_ib_node_add(s->fabric, info, path, hops);
    if (node != NULL)
        ask_node(s, node);
    return node;
}

/* The port of a channel adapter through which it was reached, which only its
 * own NodeInfo tells. */
static struct taut_ib_port *
entry_port(struct sweep *s, struct taut_ib_node *node, const uint8_t *info)
{
    unsigned number = info[NI_LOCAL_PORT];
    struct taut_ib_port *port;

    if (number > node->num_ports ||
        (number == 0 && node->type != TAUT_IB_SWITCH))
        return NULL;
    port = &node->ports[number];
    if (port->guid == 0)
        port->guid = taut_be_read(info + NI_PORT_GUID, 8);
    if (node->type != TAUT_IB_SWITCH && !port->known && !port->asked) {
        port->asked = true;
        ask_port(s, node, number);
    }
    return port;
}

/* Two nodes with one GUID seem to be one, until a port of it has two cables
 * or it looks different from another side. */
static bool clashes(const struct taut_ib_port *from,
                    const struct taut_ib_port *to, const uint8_t *info)
{
    return memcmp(info, to->node->info, NI_SAME) != 0 ||
           (to->far != NULL &&
            (to->far != from->node || to->far_port != from->number));
}

static void on_far(struct taut_mad *mad, int error)
{
    struct sweep *s = mad->owner;
    struct taut_ib_port *from = mad->subject, *to;
    const uint8_t *info = mad->bytes + TAUT_SMP_DATA;
    struct taut_ib_node *node;
    uint8_t path[TAUT_MAD_HOPS + 1];
    unsigned hops = from->node->hops + 1U;

    if (error != 0) {
        from->silent = true;
        return;
    }
    memcpy(path, from->node->path, sizeof(path));
    path[hops] = from->number;
    node = take_node(s, info, path, hops);
    to = node != NULL ? entry_port(s, node, info) : NULL;
    if (to == NULL || to->number == 0) {
        from->silent = true;
    } else if (clashes(from, to, info)) {
        taut_ib_clash_add(
            s->fabric, node->guid, to->number,
            to->far != NULL ? &to->far->ports[to->far_port] : NULL, from);
        from->far = node;
        from->far_port = to->number;
    } else {
        join(from, to);
    }
}

static void ask_far(struct sweep *s, struct taut_ib_port *port)
{
    struct taut_ib_node *node = port->node;
    uint8_t path[TAUT_MAD_HOPS + 1];
    struct taut_mad *mad =
        taut_mad_get(TAUT_MAD_SMP_DIRECT, IB_ATTR_NODE_INFO, 0);

    if (mad == NULL) {
        s->fabric->no_memory = true;
        return;
    }
    memcpy(path, node->path, sizeof(path));
    path[node->hops + 1] = port->number;
    taut_mad_route(mad, path, node->hops + 1U);
    port->asked = true;
    ask(s, &port->beyond, mad, on_far, port, 0);
}

/* ---- this host ---- */

static void on_local(struct taut_mad *mad, int error)
{
    struct sweep *s = mad->owner;
    const uint8_t *info = mad->bytes + TAUT_SMP_DATA;
    static const uint8_t here[TAUT_MAD_HOPS + 1];
    struct taut_ib_node *node;

    if (error == 0 && (node = take_node(s, info, here, 0)) != NULL) {
        s->fabric->local = node;
        s->fabric->local_port = info[NI_LOCAL_PORT];
        if (entry_port(s, node, info) == NULL)
            error = EPROTO;
        /* It was asked for itself, not for its far end. */
        else if (node->type != TAUT_IB_SWITCH)
            node->ports[info[NI_LOCAL_PORT]].asked = false;
    } else if (error == 0) {
        error = errno;
    }
    s->local_error = error;
}

int taut_ib_discover(struct taut_ib_fabric *fabric, struct taut_mads *mads,
                     unsigned local_port)
{
    struct sweep s = {.fabric = fabric, .mads = mads};
    struct taut_mad_peer self = {0};
    static const uint8_t here[TAUT_MAD_HOPS + 1];
    struct taut_mad *mad =
        taut_mad_get(TAUT_MAD_SMP_DIRECT, IB_ATTR_NODE_INFO, local_port);
    int rc;

    if (mad == NULL)
        return -1;
    taut_mad_route(mad, here, 0);
    ask(&s, &self, mad, on_local, NULL, 0);
    rc = taut_mads_run(mads);
    if (rc == 0 && s.local_error != 0) {
        errno = s.local_error;
        rc = -1;
    }
    return rc;
}

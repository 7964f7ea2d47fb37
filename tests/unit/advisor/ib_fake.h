/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric of a few nodes that answers MADs, and misbehaves where it is told
 * to; for tests of advisor/ib. */
#ifndef TAUT_TESTS_UNIT_ADVISOR_IB_FAKE_H
#define TAUT_TESTS_UNIT_ADVISOR_IB_FAKE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "advisor/ib/mads.h"

#define FAKE_NODES 8
#define FAKE_PORTS 8
#define FAKE_QUEUE 512

struct fake_node {
    uint64_t guid;
    uint8_t type, num_ports, lid;
    const char *desc;
    struct {
        int node, port; /* at the other end; node -1: nothing */
    } far[FAKE_PORTS + 1];
    bool deaf;        /* answers nothing */
    bool deaf_pm;     /* answers no performance management */
    uint8_t bad_info; /* NodeInfo: 1 type 9, 2 no ports, 3 bad local port */
    uint32_t symbol_errors[FAKE_PORTS + 1];
};

struct fake {
    struct fake_node nodes[FAKE_NODES];
    int count;
    int under_way, most; /* now, and at most so far */
    int head, tail;
    struct {
        uint8_t bytes[TAUT_MAD_BYTES];
        int status;
    } queue[FAKE_QUEUE];
    bool broken;   /* receiving fails */
    bool strays;   /* each answer comes twice, with a stranger before it */
    unsigned gone; /* after so many MADs node 'goes' is deaf; 0 never */
    unsigned seen;
    int goes;
};

static int fake_add(struct fake *f, uint64_t guid, int type, int num_ports,
                    const char *desc)
{
    struct fake_node *n = &f->nodes[f->count];

    n->guid = guid;
    n->type = (uint8_t)type;
    n->num_ports = (uint8_t)num_ports;
    n->lid = (uint8_t)(f->count + 1);
    n->desc = desc;
    for (int i = 0; i <= FAKE_PORTS; i++)
        n->far[i].node = -1;
    return f->count++;
}

static void fake_link(struct fake *f, int a, int pa, int b, int pb)
{
    f->nodes[a].far[pa].node = b;
    f->nodes[a].far[pa].port = pb;
    f->nodes[b].far[pb].node = a;
    f->nodes[b].far[pb].port = pa;
}

/* Follow a direct route from node 0.  Returns the node, -1 when it ends in
 * nothing; *entry is the port by which it was reached. */
static int fake_route(const struct fake *f, const uint8_t *mad, int *entry)
{
    int at = 0;

    *entry = 1;
    for (int hop = 1; hop <= mad[7]; hop++) {
        int port = mad[128 + hop];
        if (port > FAKE_PORTS || f->nodes[at].far[port].node < 0)
            return -1;
        *entry = f->nodes[at].far[port].port;
        at = f->nodes[at].far[port].node;
    }
    return at;
}

static void fake_node_info(const struct fake_node *n, int entry, uint8_t *data)
{
    data[0] = data[1] = 1;
    data[2] = n->bad_info == 1 ? 9 : n->type;
    data[3] = n->bad_info == 2 ? 0 : n->num_ports;
    taut_be_write(data + 4, 8, n->guid);
    taut_be_write(data + 12, 8, n->guid);
    taut_be_write(data + 20, 8, n->guid + (n->type == 1 ? (unsigned)entry : 0));
    data[36] = (uint8_t)(n->bad_info == 3 ? 200 : entry);
}

static void fake_port_info(const struct fake_node *n, unsigned port,
                           uint8_t *data)
{
    bool up = port == 0 || (port <= FAKE_PORTS && n->far[port].node >= 0);

    mad_set_field(data, 0, IB_PORT_STATE_F, up ? 4 : 1);
    mad_set_field(data, 0, IB_PORT_PHYS_STATE_F, up ? 5 : 2);
    mad_set_field(data, 0, IB_PORT_LID_F,
                  port == 0 || n->type == 1 ? n->lid : 0);
    mad_set_field(data, 0, IB_PORT_LINK_WIDTH_ACTIVE_F, 2);
    mad_set_field(data, 0, IB_PORT_LINK_SPEED_ACTIVE_F, 4);
}

static void fake_counters(const struct fake_node *n, uint16_t attr,
                          uint8_t *data)
{
    unsigned port = data[1];

    if (attr == 1)
        mad_set_field(data, 0, IB_CPI_CAPMASK_F, 0x1200);
    else if (attr == 0x12 && port <= FAKE_PORTS)
        mad_set_field(data, 0, IB_PC_ERR_SYM_F, n->symbol_errors[port]);
}

static void fake_queue(struct fake *f, const uint8_t *bytes, int status)
{
    int at = f->tail++ % FAKE_QUEUE;

    memcpy(f->queue[at].bytes, bytes, TAUT_MAD_BYTES);
    f->queue[at].status = status;
}

static int fake_find(const struct fake *f, const struct taut_mad *mad,
                     int *entry)
{
    *entry = 0;
    if (mad->lid == 0)
        return fake_route(f, mad->bytes, entry);
    return mad->lid <= f->count ? mad->lid - 1 : -1;
}

static int fake_send(void *self, const struct taut_mad *mad,
                     unsigned timeout_ms)
{
    struct fake *f = self;
    uint8_t answer[TAUT_MAD_BYTES];
    uint16_t attr = taut_mad_attr(mad->bytes);
    bool pm = taut_mad_class_of(mad->bytes) == TAUT_MAD_PERF;
    unsigned mod = (unsigned)taut_be_read(mad->bytes + 20, 4);
    int entry, at = fake_find(f, mad, &entry);

    (void)timeout_ms;
    if (f->gone != 0 && ++f->seen == f->gone)
        f->nodes[f->goes].deaf = true;
    f->under_way++;
    if (f->under_way > f->most)
        f->most = f->under_way;
    memcpy(answer, mad->bytes, sizeof(answer));
    if (at < 0 || f->nodes[at].deaf || (pm && f->nodes[at].deaf_pm)) {
        fake_queue(f, answer, ETIMEDOUT);
        return 0;
    }
    answer[3] |= 0x80;
    if (pm)
        fake_counters(&f->nodes[at], attr, answer + 64);
    else if (attr == IB_ATTR_NODE_INFO)
        fake_node_info(&f->nodes[at], entry, answer + 64);
    else if (attr == IB_ATTR_NODE_DESC)
        strncpy((char *)answer + 64, f->nodes[at].desc, 64);
    else if (attr == IB_ATTR_PORT_INFO)
        fake_port_info(&f->nodes[at], mod, answer + 64);
    fake_queue(f, answer, 0);
    return 0;
}

static int fake_receive(void *self, uint8_t *bytes, int *status,
                        unsigned timeout_ms)
{
    struct fake *f = self;

    (void)timeout_ms;
    if (f->broken) {
        errno = ENODEV;
        return -1;
    }
    if (f->head == f->tail)
        return 0;
    int at = f->head++ % FAKE_QUEUE;
    memcpy(bytes, f->queue[at].bytes, TAUT_MAD_BYTES);
    *status = f->queue[at].status;
    if (f->strays && !(bytes[9] & 1)) {
        /* once more later; now as somebody else's */
        f->queue[at].bytes[9] |= 1;
        fake_queue(f, f->queue[at].bytes, *status);
        bytes[15] ^= 0xff;
        return 1;
    }
    f->under_way--;
    return 1;
}

static struct taut_mad_port fake_port(struct fake *f)
{
    return (struct taut_mad_port){f, fake_send, fake_receive};
}

#endif

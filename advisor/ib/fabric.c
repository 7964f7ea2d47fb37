/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/ib/fabric.h"

#define TABLE (sizeof(((struct taut_ib_fabric *)0)->table) / sizeof(void *))

/* Offsets in NodeInfo (IBA 1, 14.2.5.3). */
enum {
    NI_TYPE = 2,
    NI_PORTS = 3,
    NI_SYSTEM_GUID = 4,
    NI_NODE_GUID = 12,
};

struct taut_ib_fabric *taut_ib_fabric_create(void)
{
    return calloc(1, sizeof(struct taut_ib_fabric));
}

void taut_ib_fabric_destroy(struct taut_ib_fabric *fabric)
{
    int saved = errno;

    if (fabric == NULL)
        return;
    for (struct taut_ib_node *n = fabric->nodes, *next; n != NULL; n = next) {
        next = n->next;
        free(n->ports);
        free(n);
    }
    for (struct taut_ib_clash *c = fabric->clashes, *next; c != NULL;
         c = next) {
        next = c->next;
        free(c);
    }
    free(fabric);
    errno = saved;
}

/* GUIDs of one vendor differ in the low bits. */
static size_t hash(uint64_t guid)
{
    return (size_t)((guid * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % TABLE;
}

struct taut_ib_node *taut_ib_node_find(const struct taut_ib_fabric *fabric,
                                       uint64_t guid)
{
    struct taut_ib_node *n = fabric->table[hash(guid)];

    while (n != NULL && n->guid != guid)
        n = n->chain;
    return n;
}

static void insert(struct taut_ib_fabric *fabric, struct taut_ib_node *node)
{
    size_t at = hash(node->guid);

    node->chain = fabric->table[at];
    fabric->table[at] = node;
    if (fabric->last != NULL)
        fabric->last->next = node;
    else
        fabric->nodes = node;
    fabric->last = node;
    fabric->node_count++;
}

static struct taut_ib_node *new_node(unsigned num_ports)
{
    struct taut_ib_node *node = calloc(1, sizeof(*node));

    if (node == NULL)
        return NULL;
    node->ports = calloc(num_ports + 1, sizeof(*node->ports));
    if (node->ports == NULL) {
        free(node);
        return NULL;
    }
    node->num_ports = (uint8_t)num_ports;
    for (unsigned i = 0; i <= num_ports; i++) {
        node->ports[i].node = node;
        node->ports[i].number = (uint8_t)i;
    }
    return node;
}

struct taut_ib_node *taut_ib_node_add(struct taut_ib_fabric *fabric,
                                      const uint8_t *info, const uint8_t *path,
                                      unsigned hops)
{
    struct taut_ib_node *node;

    if (info[NI_TYPE] < TAUT_IB_CA || info[NI_TYPE] > TAUT_IB_ROUTER ||
        info[NI_PORTS] < 1 || info[NI_PORTS] > TAUT_IB_PORTS_MAX) {
        errno = EPROTO;
        return NULL;
    }
    if (fabric->node_count >= TAUT_IB_NODES_MAX) {
        errno = ENOSPC;
        return NULL;
    }
    node = new_node(info[NI_PORTS]);
    if (node == NULL) {
        fabric->no_memory = true;
        return NULL;
    }
    node->type = (enum taut_ib_type)info[NI_TYPE];
    node->guid = taut_be_read(info + NI_NODE_GUID, 8);
    node->system_guid = taut_be_read(info + NI_SYSTEM_GUID, 8);
    memcpy(node->info, info, sizeof(node->info));
    memcpy(node->path, path, hops + 1);
    node->hops = (uint8_t)hops;
    insert(fabric, node);
    return node;
}

void taut_ib_clash_add(struct taut_ib_fabric *fabric, uint64_t guid,
                       unsigned port, struct taut_ib_port *first,
                       struct taut_ib_port *second)
{
    struct taut_ib_clash *clash;

    for (clash = fabric->clashes; clash != NULL; clash = clash->next)
        if (clash->guid == guid && clash->port == port &&
            clash->first == first && clash->second == second)
            return;
    clash = calloc(1, sizeof(*clash));
    if (clash == NULL) {
        fabric->no_memory = true;
        return;
    }
    clash->guid = guid;
    clash->port = (uint8_t)port;
    clash->first = first;
    clash->second = second;
    clash->next = fabric->clashes;
    fabric->clashes = clash;
}

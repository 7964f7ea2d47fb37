/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sweep has seen: nodes by GUID, their ports, what is cabled to what. */
#ifndef TAUT_ADVISOR_IB_FABRIC_H
#define TAUT_ADVISOR_IB_FABRIC_H

#include "advisor/ib/mads.h"

/* A subnet has no more LIDs; a fabric that answers with ever new nodes ends
 * here. */
#define TAUT_IB_NODES_MAX 0xbfff
#define TAUT_IB_VALUES 64
#define TAUT_IB_PORTS_MAX 254 /* 255 means all ports */

enum taut_ib_type {
    TAUT_IB_NONE = 0,
    TAUT_IB_CA = 1,
    TAUT_IB_SWITCH = 2,
    TAUT_IB_ROUTER = 3,
};

struct taut_ib_node;

struct taut_ib_port {
    struct taut_mad_peer beyond; /* whoever is at the other end */
    struct taut_ib_node *node, *far;
    uint64_t guid;
    uint64_t value[TAUT_IB_VALUES]; /* as in taut_ib_counter_names */
    uint64_t has, wide; /* bits: which were read; of those, with 64 bits */
    uint8_t info[TAUT_SMP_DATA_BYTES]; /* PortInfo */
    uint16_t lid;
    uint8_t number, far_port;
    bool known;    /* its PortInfo was read */
    bool silent;   /* link up, but no answer from the other end */
    bool asked;    /* who is at the other end */
    int error;     /* of reading PortInfo; 0 */
    int pm_error;  /* of reading counters; 0 */
    int pm_status; /* what the answer said when pm_error is EREMOTEIO */
};

struct taut_ib_node {
    struct taut_mad_peer peer;
    struct taut_ib_node *next, *chain; /* all of them; same hash */
    struct taut_ib_port *ports;        /* 0..num_ports */
    uint64_t guid, system_guid;
    uint16_t lid; /* of a switch: of all its ports */
    enum taut_ib_type type;
    uint8_t num_ports, hops;
    uint8_t info[TAUT_SMP_DATA_BYTES]; /* NodeInfo */
    uint8_t path[TAUT_MAD_HOPS + 1];
    char desc[TAUT_SMP_DATA_BYTES + 1];
    bool named; /* its description was read */
    uint16_t pm_caps;
    uint32_t pm_caps2;
};

/* Two cables that end in one port, or one GUID with two descriptions: more
 * than one node has this GUID, or a cable was moved during the sweep. */
struct taut_ib_clash {
    struct taut_ib_clash *next;
    uint64_t guid;
    struct taut_ib_port *first, *second; /* who saw it; first may be NULL */
    uint8_t port;                        /* of the node with that GUID */
};

struct taut_ib_fabric {
    struct taut_ib_node *nodes, *last; /* in the order they were found */
    struct taut_ib_node *table[4096];
    struct taut_ib_clash *clashes;
    struct taut_ib_node *local; /* where the sweep started */
    uint8_t local_port;
    unsigned node_count;
    unsigned long ports_known;
    bool no_memory;
};

struct taut_ib_fabric *taut_ib_fabric_create(void);
void taut_ib_fabric_destroy(struct taut_ib_fabric *fabric);

/* Returns NULL if there is none. */
struct taut_ib_node *taut_ib_node_find(const struct taut_ib_fabric *fabric,
                                       uint64_t guid);

/* Add a node out of its NodeInfo.
 *   info  TAUT_SMP_DATA_BYTES, as they came
 *   path  how it was reached, hops + 1 bytes
 * Returns NULL with errno EPROTO (no type, too many ports), ENOSPC (more than
 * TAUT_IB_NODES_MAX) or ENOMEM. */
struct taut_ib_node *taut_ib_node_add(struct taut_ib_fabric *fabric,
                                      const uint8_t *info, const uint8_t *path,
                                      unsigned hops);

/* Note a clash; it is kept once per port and pair. */
void taut_ib_clash_add(struct taut_ib_fabric *fabric, uint64_t guid,
                       unsigned port, struct taut_ib_port *first,
                       struct taut_ib_port *second);

/* Find all nodes, ports and links, beginning at this host's own port.
 * Returns 0, or -1 with errno of taut_mads_run(), or the one with which this
 * host's own port answered; what was found until then is kept. */
int taut_ib_discover(struct taut_ib_fabric *fabric, struct taut_mads *mads,
                     unsigned local_port);

/* Read the counters of all known ports that have a LID to ask.
 *   traffic  also those of bytes and packets, which mostly takes a second
 *            question
 * Returns as taut_mads_run() does. */
int taut_ib_read_counters(struct taut_ib_fabric *fabric, struct taut_mads *mads,
                          bool traffic);

/* Names of the counters, as the kernel has them under
 * /sys/class/infiniband/DEVICE/ports/N/counters; ends with NULL. */
extern const char *const taut_ib_counter_names[];

#endif

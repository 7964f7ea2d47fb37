/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which RDMA port an interface is on, and what the fabric calls that port. */
#ifndef TAUT_PLUGIN_COUNTERS_IB_FIND_H
#define TAUT_PLUGIN_COUNTERS_IB_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "plugin/counters/counters.h"

#define TAUT_IB_CLASS "sys/class/infiniband/"
#define TAUT_IB_DEVICE 40 /* bytes of a device's name */
#define TAUT_IB_GUID 19   /* "0x0002c903000e0b73" */

/* Find the port.
 *   c        its interface; notes what cannot be read
 *   root_fd  the directory that sys is in
 *   device   TAUT_IB_DEVICE bytes
 * Returns 0, or -1: the interface is on none, or it is not known on which. */
int taut_ib_find(struct taut_counters *c, int root_fd, char *device, int *port);

/* The GUID in a hardware address of IPoIB (20 bytes), or in a GID, as sysfs
 * shows them.
 *   guid  written only on success: "0x" and 16 digits
 * Returns 0, or -1: the text is not one, or the GUID is 0. */
int taut_ib_parse_address(const char *text, char guid[TAUT_IB_GUID]);
int taut_ib_parse_gid(const char *text, char guid[TAUT_IB_GUID]);

/* The GUID of a port of a device, out of its first GID.
 * Returns 0, or -1: it is not one of InfiniBand or Omni-Path. */
int taut_ib_guid_at(struct taut_counters *c, int root_fd, const char *device,
                    int port, char guid[TAUT_IB_GUID]);

/* The GUID of the InfiniBand or Omni-Path port that an interface is on: the end
 * of IPoIB's hardware address (RFC 4391, 9.1.1), else of the port's first GID:
 * RoCE makes its GIDs of addresses.
 *   guid  written only on success: "0x" and 16 digits
 * Returns 0, or -1: it is on none, as with RoCE. */
int taut_ib_port_guid(int root_fd, const char *interface,
                      char guid[TAUT_IB_GUID]);

#define TAUT_IB_PLANES 8

/* Ports that are one to whoever sends: planes, each with a cable of its own. */
struct taut_ib_planes {
    char device[TAUT_IB_DEVICE];
    bool is_beside; /* on a device of their own: the data's counts them all */
    size_t count;   /* 1: there are no planes */
    int ports[TAUT_IB_PLANES];
};

/* Find the planes of a port that taut_ib_find() found: ports of one GUID on its
 * device, or of one interface for RoCE. Since Linux 6.11 they may be on a
 * second device that only talks to the subnet manager (type "smi" of `rdma
 * dev`). */
void taut_ib_find_planes(struct taut_counters *c, int root_fd,
                         const char *device, int port,
                         struct taut_ib_planes *planes);

#endif

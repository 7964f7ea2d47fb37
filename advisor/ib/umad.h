/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A port of this host that carries MADs, through libibumad. */
#ifndef TAUT_ADVISOR_IB_UMAD_H
#define TAUT_ADVISOR_IB_UMAD_H

#include "advisor/ib/mads.h"
#include "wire/error.h"

struct taut_umad;

/* Open a port.
 *   ca    device ("mlx5_0"), or NULL for the first one with an active port
 *   port  from 1, or 0 for its first active one
 * Returns NULL with a text in 'err' (no device, no right to /dev/infiniband,
 * no such port). */
struct taut_umad *taut_umad_open(const char *ca, int port,
                                 struct taut_error *err);
void taut_umad_close(struct taut_umad *umad);

struct taut_mad_port taut_umad_port(struct taut_umad *umad);

#endif

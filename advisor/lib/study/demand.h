/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobs send, added up between places: the routers of a machine, or its
 * groups.  Several jobs and several kinds of message add to one demand. */
#ifndef TAUT_ADVISOR_LIB_STUDY_DEMAND_H
#define TAUT_ADVISOR_LIB_STUDY_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAUT_DEMAND_MAX_PAIRS ((size_t)1 << 23)
#define TAUT_STENCIL_MAX_DIMS 6

struct taut_demand_pair {
    uint32_t from, to; /* places, not the same */
    double bytes;
    double messages;
};

struct taut_demand {
    uint32_t places;
    size_t n, room;
    struct taut_demand_pair *pair; /* sealed: ascending, each pair once */
    double inside_bytes, inside_messages; /* that leave no place */
    double bytes, messages;               /* all of it, those included */
    bool is_sealed;
};

/* A demand without traffic.
 *   places  1..2^20
 * Returns it, or NULL with errno ENOMEM.  Give it to taut_demand_destroy. */
struct taut_demand *taut_demand_create(uint32_t places);
void taut_demand_destroy(struct taut_demand *d);

/* 'messages' messages of 'bytes' in all from one place to another, or to
 * itself.
 * Returns 0, or -1 with errno ENOMEM or EOVERFLOW: more than
 * TAUT_DEMAND_MAX_PAIRS. */
int taut_demand_add(struct taut_demand *d, uint32_t from, uint32_t to,
                    double bytes, double messages);

/* Ranks in a grid, each with the same neighbours. */
struct taut_stencil {
    uint32_t dims;
    uint32_t length[TAUT_STENCIL_MAX_DIMS]; /* the last coordinate is fastest */
    bool periodic;         /* the ends of the grid are neighbours */
    uint32_t offsets;      /* neighbours of a rank */
    const int *offset;     /* [offsets * dims] */
    const double *bytes;   /* [offsets] of the message to that neighbour */
    const uint32_t *place; /* [ranks] where each rank is */
};

/* One message of every rank to each of its neighbours; none to itself.
 * Returns as taut_demand_add. */
int taut_demand_stencil(struct taut_demand *d, const struct taut_stencil *s);

/* Everybody to everybody else, one message of 'bytes'.
 *   ranks  [places] how many ranks are there
 * Returns as taut_demand_add. */
int taut_demand_all(struct taut_demand *d, const uint32_t *ranks, double bytes);

/* The most that one place sends to others, or gets from them, in bytes.
 * Returns 0, or -1 with errno ENOMEM. */
int taut_demand_busiest(const struct taut_demand *d, double *bytes);

/* Sort, and add up what is between the same places.  More may be added
 * afterwards; then it has to be sealed again.
 * Returns 0, or -1 with errno ENOMEM. */
int taut_demand_seal(struct taut_demand *d);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/ib/mad.h"

#define METHOD_GET 0x01

/* Offsets in the common header and in that of a direct route. */
enum {
    AT_BASE_VERSION = 0,
    AT_CLASS = 1,
    AT_CLASS_VERSION = 2,
    AT_METHOD = 3,
    AT_STATUS = 4,
    AT_HOP_COUNT = 7,
    AT_TID = 8,
    AT_ATTR = 16,
    AT_MOD = 20,
    AT_DR_SLID = 32,
    AT_DR_DLID = 34,
    AT_PATH = 128,
};

uint64_t taut_be_read(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

void taut_be_write(uint8_t *at, unsigned bytes, uint64_t value)
{
    for (unsigned i = bytes; i-- > 0; value >>= 8)
        at[i] = (uint8_t)value;
}

struct taut_mad *taut_mad_get(enum taut_mad_class class, uint16_t attr,
                              uint32_t mod)
{
    struct taut_mad *mad = calloc(1, sizeof(*mad));

    if (mad == NULL)
        return NULL;
    mad->bytes[AT_BASE_VERSION] = 1;
    mad->bytes[AT_CLASS] = (uint8_t) class;
    mad->bytes[AT_CLASS_VERSION] = class == TAUT_MAD_SA ? 2 : 1;
    mad->bytes[AT_METHOD] = METHOD_GET;
    taut_be_write(mad->bytes + AT_ATTR, 2, attr);
    taut_be_write(mad->bytes + AT_MOD, 4, mod);
    return mad;
}

void taut_mad_route(struct taut_mad *mad, const uint8_t *path, unsigned hops)
{
    mad->lid = 0;
    mad->bytes[AT_HOP_COUNT] = (uint8_t)hops;
    taut_be_write(mad->bytes + AT_DR_SLID, 2, 0xffff);
    taut_be_write(mad->bytes + AT_DR_DLID, 2, 0xffff);
    memcpy(mad->bytes + AT_PATH, path, hops + 1);
}

void taut_mad_to(struct taut_mad *mad, uint16_t lid, uint8_t sl)
{
    mad->lid = lid;
    mad->sl = sl;
}

/* Of a direct route the highest bit says which way the MAD goes. */
unsigned taut_mad_status(const struct taut_mad *mad)
{
    unsigned status = (unsigned)taut_be_read(mad->bytes + AT_STATUS, 2);

    return taut_mad_class_of(mad->bytes) == TAUT_MAD_SMP_DIRECT
               ? status & 0x7fff
               : status;
}

uint8_t taut_mad_method(const uint8_t *bytes)
{
    return bytes[AT_METHOD];
}

uint8_t taut_mad_class_of(const uint8_t *bytes)
{
    return bytes[AT_CLASS];
}

uint16_t taut_mad_attr(const uint8_t *bytes)
{
    return (uint16_t)taut_be_read(bytes + AT_ATTR, 2);
}

/* The upper half belongs to the kernel, which keeps the agent there. */
uint32_t taut_mad_tid(const uint8_t *bytes)
{
    return (uint32_t)taut_be_read(bytes + AT_TID + 4, 4);
}

void taut_mad_set_tid(uint8_t *bytes, uint32_t tid)
{
    taut_be_write(bytes + AT_TID, 8, tid);
}

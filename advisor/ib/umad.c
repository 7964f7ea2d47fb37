/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/umad.h>
#include <infiniband/umad_types.h>

#include "advisor/ib/umad.h"

#define LID_DIRECT 0xffff
/* More than one MAD can only be an unrequested one; it must be read to remove
 * it. */
#define BUFFER_BYTES 65536

struct agent {
    uint8_t class, version;
    int id;
};

struct taut_umad {
    int fd;
    struct agent agents[4];
    struct ib_user_mad *in, *out;
};

static const struct agent wanted[] = {
    {TAUT_MAD_SMP_DIRECT, 1, -1},
    {TAUT_MAD_SMP_LID, 1, -1},
    {TAUT_MAD_PERF, 1, -1},
    {TAUT_MAD_SA, 2, -1},
};

static int send_mad(void *self, const struct taut_mad *mad, unsigned timeout_ms)
{
    struct taut_umad *umad = self;
    uint8_t class = taut_mad_class_of(mad->bytes);
    bool is_smp = class == TAUT_MAD_SMP_DIRECT || class == TAUT_MAD_SMP_LID;
    int agent = -1, rc;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (umad->agents[i].class == class)
            agent = umad->agents[i].id;
    memset(umad->out, 0, umad_size());
    memcpy(umad_get_mad(umad->out), mad->bytes, TAUT_MAD_BYTES);
    umad_set_addr(umad->out, mad->lid != 0 ? mad->lid : LID_DIRECT,
                  is_smp ? 0 : 1, mad->sl, is_smp ? 0 : (int)UMAD_QKEY);
    rc = umad_send(umad->fd, agent, umad->out, TAUT_MAD_BYTES, (int)timeout_ms,
                   0);
    if (rc >= 0)
        return 0;
    errno = rc < -1 ? -rc : errno != 0 ? errno : EIO;
    return -1;
}

static int receive_mad(void *self, uint8_t *bytes, int *status,
                       unsigned timeout_ms)
{
    struct taut_umad *umad = self;
    int length = BUFFER_BYTES, rc;

    errno = 0;
    rc = umad_recv(umad->fd, umad->in, &length, (int)timeout_ms);
    if (rc < 0) {
        if (rc == -ETIMEDOUT || rc == -EWOULDBLOCK || rc == -EINTR ||
            errno == EWOULDBLOCK || errno == ETIMEDOUT || errno == EINTR)
            return 0;
        errno = errno != 0 ? errno : EIO;
        return -1;
    }
    memset(bytes, 0, TAUT_MAD_BYTES);
    memcpy(bytes, umad_get_mad(umad->in),
           length < 0                ? 0
           : length < TAUT_MAD_BYTES ? (size_t)length
                                     : TAUT_MAD_BYTES);
    *status = umad_status(umad->in);
    return 1;
}

struct taut_mad_port taut_umad_port(struct taut_umad *umad)
{
    return (struct taut_mad_port){umad, send_mad, receive_mad};
}

static int register_agents(struct taut_umad *umad)
{
    memcpy(umad->agents, wanted, sizeof(wanted));
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        struct agent *a = &umad->agents[i];
        a->id = umad_register(umad->fd, a->class, a->version, 0, NULL);
        if (a->id < 0)
            return -1;
    }
    return 0;
}

static struct taut_umad *new_umad(void)
{
    struct taut_umad *umad = calloc(1, sizeof(*umad));

    if (umad == NULL)
        return NULL;
    umad->fd = -1;
    /* umad_size() is known only while the port is open. */
    umad->in = calloc(1, sizeof(struct ib_user_mad) + BUFFER_BYTES);
    umad->out = calloc(1, sizeof(struct ib_user_mad) + TAUT_MAD_BYTES);
    if (umad->in != NULL && umad->out != NULL)
        return umad;
    taut_umad_close(umad);
    return NULL;
}

static int explain_open(const char *ca, int port, int rc,
                        struct taut_error *err)
{
    const char *name = ca != NULL ? ca : "any device";
    int saved = rc < -1 ? -rc : errno;

    if (saved == EACCES || saved == EPERM)
        return taut_error_set(err,
                              "%s port %d: %s: the MAD device "
                              "/dev/infiniband/umad* takes root or its group",
                              name, port, strerror(saved));
    return taut_error_set(err,
                          "%s port %d: no InfiniBand port to send MADs from "
                          "(is ib_umad loaded? see /sys/class/infiniband_mad)",
                          name, port);
}

struct taut_umad *taut_umad_open(const char *ca, int port,
                                 struct taut_error *err)
{
    struct taut_umad *umad;
    int rc;

    errno = 0;
    if (umad_init() < 0) {
        explain_open(ca, port, -1, err);
        return NULL;
    }
    umad = new_umad();
    if (umad == NULL) {
        taut_error_set(err, "out of memory");
        return NULL;
    }
    rc = umad_open_port(ca, port);
    if (rc < 0) {
        explain_open(ca, port, rc, err);
        taut_umad_close(umad);
        return NULL;
    }
    umad->fd = rc;
    if (register_agents(umad) == 0)
        return umad;
    taut_error_set(err, "cannot register for MADs: %s", strerror(errno));
    taut_umad_close(umad);
    return NULL;
}

void taut_umad_close(struct taut_umad *umad)
{
    int saved = errno;

    if (umad == NULL)
        return;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (umad->fd >= 0 && umad->agents[i].class != 0 &&
            umad->agents[i].id >= 0)
            umad_unregister(umad->fd, umad->agents[i].id);
    if (umad->fd >= 0)
        umad_close_port(umad->fd);
    free(umad->in);
    free(umad->out);
    free(umad);
    errno = saved;
}

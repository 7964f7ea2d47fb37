/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/transport/ofi/msg.h"

#define LINKS_MAX 2048 /* connections, … */
#define CALLS_MAX 1024 /* … of these at most so many that others began */
#define QUEUE 64       /* of events */
#define LOOK_EVERY 64  /* rounds, where nothing connects: each look is a call */

enum state {
    STATE_CONNECTING = 1,
    STATE_OPEN,
    STATE_OVER,
};

struct link {
    enum state state;
    bool is_own; /* begun by us */
    int error; /* an errno, where it is over */
    struct fid_ep *ep;
    unsigned char name[TAUT_ENDPOINT_BYTES]; /* where the peer listens, as long as
                                                our own */
};

struct taut_msg {
    struct fid_eq *eq;
    struct fid_pep *listener;
    int rounds; /* since the last look at events */
    struct link links[LINKS_MAX];
    int count;
    int calls; /* of these, begun by others */
};

/* What comes with an event: who calls says where it listens itself. */
union event {
    struct fi_eq_cm_entry entry;
    char bytes[sizeof(struct fi_eq_cm_entry) + TAUT_ENDPOINT_BYTES];
};

/* ---- opening ---- */

static int open_events(struct taut_ofi *o, struct taut_error *err)
{
    struct fi_eq_attr attr = {.size = QUEUE, .wait_obj = FI_WAIT_FD};
    int rc = fi_eq_open(o->fabric, &attr, &o->msg->eq, NULL);

    if (rc)
        return taut_ofi_failed(err, "fi_eq_open", rc);
    if (fi_control(&o->msg->eq->fid, FI_GETWAIT, &o->eq_fd) != 0)
        o->eq_fd = -1;
    return 0;
}

static int open_receives(struct taut_ofi *o, struct taut_error *err)
{
    struct fi_rx_attr attr = *o->info->rx_attr;

    attr.size = TAUT_OFI_RECEIVES;
    attr.iov_limit = 1;
    int rc = fi_srx_context(o->domain, &attr, &o->rx, NULL);
    if (rc != -FI_EOPNOTSUPP && rc != -FI_ENOSYS)
        return rc ? taut_ofi_failed(err, "fi_srx_context", rc) : 0;
    taut_error_set(err, "libfabric: this adapter has no shared receive queues "
                        "(SRQ), which connections need");
    errno = EOPNOTSUPP;
    return -1;
}

static int listen_for_peers(struct taut_ofi *o, struct taut_error *err)
{
    struct taut_msg *m = o->msg;
    int rc = fi_passive_ep(o->fabric, o->info, &m->listener, NULL);

    if (rc)
        return taut_ofi_failed(err, "fi_passive_ep", rc);
    rc = fi_pep_bind(m->listener, &m->eq->fid, 0);
    if (rc == 0)
        rc = fi_listen(m->listener);
    if (rc)
        return taut_ofi_failed(err, "fi_listen", rc);
    o->name_length = sizeof(o->name);
    rc = fi_getname(&m->listener->fid, o->name, &o->name_length);
    return rc ? taut_ofi_failed(err, "fi_getname", rc) : 0;
}

int taut_msg_open(struct taut_ofi *o, struct taut_error *err)
{
    o->msg = calloc(1, sizeof(*o->msg));
    if (o->msg == NULL)
        return taut_ofi_failed(err, "connections", -FI_ENOMEM);
    if (open_events(o, err) < 0 || open_receives(o, err) < 0)
        return -1;
    return listen_for_peers(o, err);
}

static void close_fid(struct fid *fid)
{
    if (fid != NULL)
        fi_close(fid);
}

void taut_msg_close(struct taut_ofi *o)
{
    struct taut_msg *m = o->msg;

    if (m == NULL)
        return;
    for (int i = 0; i < m->count; i++)
        close_fid(m->links[i].ep != NULL ? &m->links[i].ep->fid : NULL);
    close_fid(m->listener != NULL ? &m->listener->fid : NULL);
    close_fid(o->rx != NULL ? &o->rx->fid : NULL);
    close_fid(m->eq != NULL ? &m->eq->fid : NULL);
    free(m);
    o->msg = NULL;
    o->rx = NULL;
}

/* ---- connections ---- */

static struct link *new_link(struct taut_msg *m)
{
    return m->count < LINKS_MAX ? &m->links[m->count++] : NULL;
}

static void drop_endpoint(struct link *l)
{
    int saved = errno;

    close_fid(l->ep != NULL ? &l->ep->fid : NULL);
    l->ep = NULL;
    errno = saved;
}

/* An endpoint of its own, ready to connect or to accept.  Returns 0, or -1 with
 * errno; one that was opened is the caller's in either case. */
static int make_endpoint(struct taut_ofi *o, struct fi_info *info,
                         struct fid_ep **ep)
{
    int rc;

    info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
    rc = fi_endpoint(o->domain, info, ep, NULL);
    if (rc == 0)
        rc = fi_ep_bind(*ep, &o->msg->eq->fid, 0);
    if (rc == 0)
        rc = fi_ep_bind(*ep, &o->cq->fid, FI_TRANSMIT | FI_RECV);
    if (rc == 0)
        rc = fi_ep_bind(*ep, &o->rx->fid, 0);
    if (rc == 0)
        rc = fi_enable(*ep);
    errno = -rc;
    return rc == 0 ? 0 : -1;
}

static int begin(struct taut_ofi *o, struct link *l)
{
    struct fi_info *info = fi_dupinfo(o->info);
    void *address = malloc(o->name_length);
    int rc = -1, saved;

    if (info != NULL && address != NULL) {
        memcpy(address, l->name, o->name_length);
        free(info->dest_addr);
        info->dest_addr = address;
        info->dest_addrlen = o->name_length;
        address = NULL;
        rc = make_endpoint(o, info, &l->ep);
        if (rc < 0)
            drop_endpoint(l);
    } else {
        errno = ENOMEM;
    }
    if (rc == 0) {
        rc = fi_connect(l->ep, info->dest_addr, o->name, o->name_length);
        errno = -rc;
    }
    saved = errno;
    free(address);
    fi_freeinfo(info);
    errno = saved;
    return rc == 0 ? 0 : -1;
}

static void end(struct link *l, int error)
{
    l->state = STATE_OVER;
    l->error = error;
}

int taut_msg_peer(struct taut_ofi *o, const unsigned char *name, size_t n,
                  bool is_answer, fi_addr_t *number)
{
    struct taut_msg *m = o->msg;
    struct link *l;

    if (n != o->name_length) {
        errno = EINVAL;
        return -1;
    }
    for (int i = 0; i < m->count; i++) {
        l = &m->links[i];
        if (l->state != STATE_OVER && (is_answer || l->is_own) &&
            memcmp(l->name, name, n) == 0) {
            *number = (fi_addr_t)i;
            return 0;
        }
    }
    /* to connect to whatever a message names may block for seconds */
    l = is_answer ? NULL : new_link(m);
    if (l == NULL) {
        errno = is_answer ? ENOTCONN : ENOBUFS;
        return -1;
    }
    *l = (struct link){.state = STATE_CONNECTING, .is_own = true};
    memcpy(l->name, name, n);
    *number = (fi_addr_t)(l - m->links);
    if (begin(o, l) == 0)
        return 0;
    end(l, errno);
    errno = l->error;
    return -1;
}

struct fid_ep *taut_msg_way(struct taut_ofi *o, fi_addr_t number)
{
    struct link *l = &o->msg->links[number];

    if (l->state == STATE_OPEN)
        return l->ep;
    errno = l->state == STATE_CONNECTING ? EAGAIN
            : l->error                   ? l->error
                                         : ENOTCONN;
    return NULL;
}

/* ---- events ---- */

struct fid *taut_msg_events(struct taut_ofi *o)
{
    return &o->msg->eq->fid;
}

/* Is the caller on the host where he says that he listens? */
static bool is_his_own(const void *caller, const void *name)
{
    const struct sockaddr *a = caller, *b = name;

    if (a == NULL || a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)caller)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)name)->sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)caller)->sin6_addr,
                  &((const struct sockaddr_in6 *)name)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

static void accept_caller(struct taut_ofi *o, const struct fi_eq_cm_entry *e,
                          size_t name_length)
{
    struct taut_msg *m = o->msg;
    struct link *l = NULL;

    if (m->calls < CALLS_MAX && name_length >= o->name_length &&
        is_his_own(e->info->dest_addr, e->data))
        l = new_link(m);
    if (l == NULL) {
        fi_reject(m->listener, e->info->handle, NULL, 0);
        fi_freeinfo(e->info);
        return;
    }
    m->calls++;
    *l = (struct link){.state = STATE_CONNECTING};
    memcpy(l->name, e->data, o->name_length);
    if (make_endpoint(o, e->info, &l->ep) < 0) {
        end(l, errno);
        /* an endpoint has the call, which ends with it: there is no handle then */
        if (l->ep == NULL)
            fi_reject(m->listener, e->info->handle, NULL, 0);
        drop_endpoint(l);
    } else {
        int rc = fi_accept(l->ep, NULL, 0);
        if (rc)
            end(l, -rc);
    }
    fi_freeinfo(e->info);
}

static struct link *link_of(struct taut_msg *m, const struct fid *fid)
{
    for (int i = 0; i < m->count; i++)
        if (m->links[i].ep != NULL && &m->links[i].ep->fid == fid)
            return &m->links[i];
    return NULL;
}

static void take_error(struct taut_msg *m)
{
    struct fi_eq_err_entry why = {0};

    if (fi_eq_readerr(m->eq, &why, 0) <= 0)
        return;
    struct link *l = link_of(m, why.fid);
    if (l != NULL)
        end(l, why.err > 0 ? why.err : ECONNREFUSED);
}

static bool is_connecting(const struct taut_msg *m)
{
    for (int i = 0; i < m->count; i++)
        if (m->links[i].state == STATE_CONNECTING)
            return true;
    return false;
}

void taut_msg_progress(struct taut_ofi *o)
{
    struct taut_msg *m = o->msg;

    if (++m->rounds < LOOK_EVERY && !is_connecting(m))
        return;
    m->rounds = 0;
    for (int i = 0; i < QUEUE; i++) {
        union event e;
        uint32_t kind;
        ssize_t n = fi_eq_read(m->eq, &kind, &e, sizeof(e), 0);

        if (n == -FI_EAVAIL) {
            take_error(m);
            continue;
        }
        if (n < (ssize_t)sizeof(e.entry))
            return;
        struct link *l = link_of(m, e.entry.fid);
        if (kind == FI_CONNREQ)
            accept_caller(o, &e.entry, (size_t)n - sizeof(e.entry));
        else if (kind == FI_CONNECTED && l != NULL)
            l->state = STATE_OPEN;
        else if (kind == FI_SHUTDOWN && l != NULL)
            end(l, ECONNRESET);
    }
}

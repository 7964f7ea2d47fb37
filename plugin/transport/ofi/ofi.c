/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/transport/memlock.h"
#include "plugin/transport/ofi/msg.h"
#include "plugin/transport/ofi/ofi.h"

#define API FI_VERSION(1, 11)
#define PEERS_MAX 1024
#define DEVICES_MAX 64
#define DEVICE_PATH 40
#define RDMA_CM "/dev/infiniband/rdma_cm"

static bool is_verbs(const char *provider)
{
    return strstr(provider, "verbs") != NULL;
}

#define BY_MESSAGES ";msg" /* after a provider's name: connections are wanted */

/* verbs has nothing else. */
static bool is_by_messages(const char *provider)
{
    size_t n = strlen(provider), m = strlen(BY_MESSAGES);

    return strcmp(provider, "verbs") == 0 ||
           (n > m && strcmp(provider + n - m, BY_MESSAGES) == 0);
}

/* As libfabric calls it. */
static char *name_of(const char *provider)
{
    const char *end = strstr(provider, BY_MESSAGES);

    return end == NULL ? strdup(provider)
                       : strndup(provider, (size_t)(end - provider));
}

/* A test's error has TAUT_RESULT_ERROR bytes: the figures are to be among them. */
int taut_ofi_failed(struct taut_error *err, const char *what, long rc)
{
    long kb = taut_memlock_kb();

    if (rc == -FI_ENOMEM && kb >= 0)
        taut_error_set(err,
                       "libfabric: %s: %ld kB of locked memory are allowed "
                       "(RLIMIT_MEMLOCK), a rail needs up to %d kB",
                       what, kb, TAUT_MEMLOCK_RAIL_KB);
    else if (rc == -FI_EPERM)
        taut_error_set(err,
                       "libfabric: %s: %s; a system call that Taut's filter "
                       "does not let through?",
                       what, fi_strerror((int)-rc));
    else
        taut_error_set(err, "libfabric: %s: %s", what, fi_strerror((int)-rc));
    errno = (int)-rc;
    return -1;
}

static struct fi_info *make_hints(const char *provider, const char *domain)
{
    struct fi_info *h = fi_allocinfo();

    if (h == NULL)
        return NULL;
    h->caps = FI_MSG;
    h->mode = FI_CONTEXT | FI_CONTEXT2;
    h->ep_attr->type = is_by_messages(provider) ? FI_EP_MSG : FI_EP_RDM;
    h->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                              FI_MR_VIRT_ADDR | FI_MR_ENDPOINT;
    h->domain_attr->threading = FI_THREAD_DOMAIN;
    h->domain_attr->resource_mgmt = FI_RM_ENABLED;
    h->tx_attr->msg_order = FI_ORDER_SAS;
    h->rx_attr->msg_order = FI_ORDER_SAS;
    if (is_by_messages(provider)) {
        /* a queue pair for each peer: no longer than we have buffers */
        h->tx_attr->size = 2 * TAUT_OFI_SENDS;
        h->rx_attr->size = TAUT_OFI_RECEIVES;
    }
    if (*provider)
        h->fabric_attr->prov_name = name_of(provider);
    if (*domain)
        h->domain_attr->name = strdup(domain);
    return h;
}

/* The names of what there is, for an error. */
static void list_providers(char *text, size_t n)
{
    struct fi_info *hints = make_hints("", ""), *list = NULL;
    size_t used = 0;

    text[0] = '\0';
    if (hints != NULL && fi_getinfo(API, NULL, NULL, 0, hints, &list) == 0) {
        for (struct fi_info *i = list; i != NULL; i = i->next) {
            const char *name = i->fabric_attr->prov_name;

            if (strstr(text, name) == NULL && used + strlen(name) + 2 < n)
                used += (size_t)snprintf(text + used, n - used, "%s%s",
                                         used ? " " : "", name);
        }
    }
    fi_freeinfo(list);
    fi_freeinfo(hints);
}

/* Can the file be opened?  That is asked of the system: a cgroup of devices says no
 * where the file's mode says yes.  Returns 0, or an errno. */
static int try_device(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static void tell_of_file(struct taut_error *err, const char *path, int why)
{
    taut_error_set(err,
                   "cannot open %s as uid %u: %s (rdma-core's udev rules give "
                   "it mode 0666)",
                   path, (unsigned)geteuid(), strerror(why));
}

/* Why there is no device of verbs, where that can be seen; or false.
 *   barred  DEVICE_PATH bytes: a device that the system keeps from us, where it gives
 *           us none; or "" */
static bool tell_of_devices(struct taut_error *err, char *barred)
{
    bool is_any = false, is_ours = false;
    char path[DEVICE_PATH];
    int why;

    barred[0] = '\0';
    for (int i = 0; i < DEVICES_MAX; i++) {
        snprintf(path, sizeof(path), "/dev/infiniband/uverbs%d", i);
        why = try_device(path);
        if (why == EACCES) {
            tell_of_file(err, path, why);
            return true;
        }
        if (why == EPERM && !*barred)
            memcpy(barred, path, sizeof(path));
        is_ours = is_ours || why == 0;
        is_any = is_any || why != ENOENT;
    }
    if (!is_any) {
        taut_error_set(err, "no /dev/infiniband/uverbs*: no RDMA device, or "
                            "the module ib_uverbs is not loaded");
        return true;
    }
    if (is_ours)
        barred[0] = '\0';
    why = try_device(RDMA_CM);
    if (why == ENOENT)
        taut_error_set(err, "no " RDMA_CM ": the module rdma_ucm is not loaded");
    else if (why != 0)
        tell_of_file(err, RDMA_CM, why);
    return why != 0;
}

static int not_there(struct taut_error *err, const char *provider,
                     const char *domain)
{
    char known[100];

    list_providers(known, sizeof(known));
    taut_error_set(err,
                   "libfabric has no provider '%.20s'%s%.20s%s "
                   "(endpoints of type RDM: %s)",
                   *provider ? provider : "any",
                   *domain ? " with domain '" : "", domain, *domain ? "'" : "",
                   *known ? known : "none at all");
    errno = ENODEV;
    return -1;
}

/* verbs understands addresses, so that it takes no other device than the
 * interface's. */
static int no_device(struct taut_error *err, const char *node,
                     const char *provider, const char *domain)
{
    char barred[DEVICE_PATH];

    if (tell_of_devices(err, barred)) {
        errno = ENODEV;
        return -1;
    }
    taut_error_set(err,
                   "libfabric: %.20s: no RDMA device%s%.20s has the address "
                   "%.46s%s%s (%s)",
                   provider, *domain ? " " : "", domain, node,
                   *barred ? ": no permission for " : "", barred,
                   *barred ? "a cgroup of devices, or another network namespace"
                           : "rdma link, ibv_devinfo; GIDs of RoCE v2");
    errno = ENODEV;
    return -1;
}

/* libfabric also takes devices whose names only begin as that of the address'
 * device (mlx5_10 for mlx5_1): the shortest name is its own. */
static void keep_shortest(struct fi_info **list)
{
    struct fi_info **best = list, *own;

    for (struct fi_info **i = list; *i != NULL; i = &(*i)->next)
        if (strlen((*i)->domain_attr->name) <
            strlen((*best)->domain_attr->name))
            best = i;
    own = *best;
    *best = own->next;
    own->next = *list;
    *list = own;
}

/* What the first of a list measures would be told of another interface. */
static int no_domain(struct taut_error *err, const char *provider)
{
    taut_error_set(err,
                   "libfabric: %.20s does not know addresses of interfaces: "
                   "domain= has to name a device for each (fi_info -p)",
                   *provider ? provider : "what there is");
    errno = EINVAL;
    return -1;
}

/* Providers that have addresses of their own do not understand an IP
 * address; the interface is then chosen by the domain. */
static int get_info(struct taut_ofi *o, const struct taut_ofi_place *place,
                    struct taut_error *err)
{
    const char *provider = place->provider, *domain = place->domain;
    struct fi_info *hints = make_hints(provider, domain);
    bool is_by_domain = false;
    int rc;

    if (hints == NULL)
        return taut_ofi_failed(err, "hints", -FI_ENOMEM);
    rc = fi_getinfo(API, place->node, NULL, FI_SOURCE, hints, &o->info);
    if (rc == -FI_ENODATA && !is_verbs(provider)) {
        is_by_domain = true;
        rc = fi_getinfo(API, NULL, NULL, 0, hints, &o->info);
    }
    fi_freeinfo(hints);
    if (rc == -FI_ENODATA && is_verbs(provider))
        return no_device(err, place->node, provider, domain);
    if (rc == -FI_ENODATA)
        return not_there(err, provider, domain);
    if (rc)
        return taut_ofi_failed(err, "fi_getinfo", rc);
    if (is_by_domain && place->shares_domain)
        return no_domain(err, provider);
    if (is_verbs(provider))
        keep_shortest(&o->info);
    return 0;
}

static int open_queue(struct taut_ofi *o, struct taut_error *err)
{
    struct fi_cq_attr attr = {
        .size = 2 * (TAUT_OFI_SENDS + TAUT_OFI_RECEIVES),
        .format = FI_CQ_FORMAT_MSG,
        .wait_obj = FI_WAIT_FD,
    };
    int rc = fi_cq_open(o->domain, &attr, &o->cq, NULL);

    if (rc == 0)
        return fi_control(&o->cq->fid, FI_GETWAIT, &o->wait_fd) == 0
                   ? 0
                   : taut_ofi_failed(err, "FI_GETWAIT", -FI_ENOSYS);
    attr.wait_obj = FI_WAIT_NONE;
    rc = fi_cq_open(o->domain, &attr, &o->cq, NULL);
    return rc ? taut_ofi_failed(err, "fi_cq_open", rc) : 0;
}

static int open_objects(struct taut_ofi *o, struct taut_error *err)
{
    struct fi_av_attr av = {.type = FI_AV_TABLE, .count = PEERS_MAX};
    int rc;

    o->message = o->info->domain_attr->mr_mode & FI_MR_LOCAL
                     ? TAUT_OFI_MESSAGE_PINNED
                     : TAUT_OFI_MESSAGE;
    rc = fi_fabric(o->info->fabric_attr, &o->fabric, NULL);
    if (rc)
        return taut_ofi_failed(err, "fi_fabric", rc);
    rc = fi_domain(o->fabric, o->info, &o->domain, NULL);
    if (rc)
        return taut_ofi_failed(err, "fi_domain", rc);
    if (open_queue(o, err) < 0)
        return -1;
    if (o->info->ep_attr->type == FI_EP_MSG)
        return taut_msg_open(o, err);
    rc = fi_av_open(o->domain, &av, &o->av, NULL);
    if (rc)
        return taut_ofi_failed(err, "fi_av_open", rc);
    rc = fi_endpoint(o->domain, o->info, &o->ep, NULL);
    if (rc)
        return taut_ofi_failed(err, "fi_endpoint", rc);
    rc = fi_ep_bind(o->ep, &o->av->fid, 0);
    if (rc == 0)
        rc = fi_ep_bind(o->ep, &o->cq->fid, FI_TRANSMIT | FI_RECV);
    if (rc == 0)
        rc = fi_enable(o->ep);
    o->rx = o->ep;
    return rc ? taut_ofi_failed(err, "fi_enable", rc) : 0;
}

static int get_name(struct taut_ofi *o, struct taut_error *err)
{
    int rc;

    if (o->msg != NULL)
        return 0;
    o->name_length = sizeof(o->name);
    rc = fi_getname(&o->ep->fid, o->name, &o->name_length);
    if (rc)
        return taut_ofi_failed(err, "fi_getname", rc);
    return 0;
}

static int post(struct taut_ofi *o, struct taut_ofi_buffer *b)
{
    void *desc = o->mr != NULL ? fi_mr_desc(o->mr) : NULL;

    b->begin = 0;
    return (int)fi_recv(o->rx, b->bytes, o->message, desc, FI_ADDR_UNSPEC,
                        &b->context);
}

/* What could not be posted is tried again: each receive that is lost makes
 * the others fewer, until nothing comes in any more. */
static void repost(struct taut_ofi *o)
{
    while (o->unposted != NULL && !o->error) {
        struct taut_ofi_buffer *b = o->unposted;
        int rc = post(o, b);

        if (rc == -FI_EAGAIN)
            return;
        if (rc)
            o->error = -rc;
        else
            o->unposted = b->next;
    }
}

/* With FI_MR_ENDPOINT memory is of no use before it is bound to the endpoint
 * and enabled (fi_mr(3)). */
static int register_area(struct taut_ofi *o, size_t n, struct taut_error *err)
{
    int mode = o->info->domain_attr->mr_mode;
    int rc;

    if (!(mode & FI_MR_LOCAL))
        return 0;
    rc = fi_mr_reg(o->domain, o->area, n, FI_SEND | FI_RECV, 0, 0, 0, &o->mr,
                   NULL);
    if (rc)
        return taut_ofi_failed(err, "fi_mr_reg", rc);
    if (!(mode & FI_MR_ENDPOINT))
        return 0;
    rc = fi_mr_bind(o->mr, &o->ep->fid, 0);
    if (rc == 0)
        rc = fi_mr_enable(o->mr);
    return rc ? taut_ofi_failed(err, "fi_mr_enable", rc) : 0;
}

/* All receives are posted before anybody learns of the endpoint. */
static int make_buffers(struct taut_ofi *o, struct taut_error *err)
{
    size_t n = (TAUT_OFI_SENDS + TAUT_OFI_RECEIVES) * o->message;
    int rc = 0;

    o->area = calloc(1, n);
    o->peers = calloc(PEERS_MAX, sizeof(*o->peers));
    if (o->area == NULL || o->peers == NULL)
        return taut_ofi_failed(err, "buffers", -FI_ENOMEM);
    if (register_area(o, n, err) < 0)
        return -1;
    for (int i = 0; i < TAUT_OFI_SENDS + TAUT_OFI_RECEIVES; i++) {
        struct taut_ofi_buffer *b = &o->buffers[i];

        b->bytes = o->area + (size_t)i * o->message;
        b->is_send = i < TAUT_OFI_SENDS;
        if (b->is_send)
            taut_ofi_give(o, b);
        else
            rc = post(o, b);
        if (rc)
            return taut_ofi_failed(err, "fi_recv", rc);
    }
    return 0;
}

int taut_ofi_open(struct taut_ofi *o, const struct taut_ofi_place *place,
                  struct taut_error *err)
{
    memset(o, 0, sizeof(*o));
    o->wait_fd = o->eq_fd = -1;
    if (get_info(o, place, err) < 0 || open_objects(o, err) < 0 ||
        get_name(o, err) < 0)
        return -1;
    return make_buffers(o, err);
}

static void close_fid(struct fid *fid)
{
    if (fid != NULL)
        fi_close(fid);
}

void taut_ofi_close(struct taut_ofi *o)
{
    taut_msg_close(o);
    close_fid(o->ep != NULL ? &o->ep->fid : NULL);
    close_fid(o->mr != NULL ? &o->mr->fid : NULL);
    close_fid(o->cq != NULL ? &o->cq->fid : NULL);
    close_fid(o->av != NULL ? &o->av->fid : NULL);
    close_fid(o->domain != NULL ? &o->domain->fid : NULL);
    close_fid(o->fabric != NULL ? &o->fabric->fid : NULL);
    fi_freeinfo(o->info);
    free(o->area);
    free(o->peers);
    memset(o, 0, sizeof(*o));
    o->wait_fd = o->eq_fd = -1;
}

int taut_ofi_peer(struct taut_ofi *o, const unsigned char *name, size_t n,
                  bool is_answer, fi_addr_t *address)
{
    unsigned char whole[TAUT_ENDPOINT_BYTES] = {0};

    if (o->msg != NULL) {
        if (taut_msg_peer(o, name, n, is_answer, address) < 0)
            return -1;
        o->peer_count = 1; /* it had connections */
        return 0;
    }
    if (n != o->name_length) {
        errno = EINVAL;
        return -1;
    }
    memcpy(whole, name, n);
    for (size_t i = 0; i < o->peer_count; i++) {
        if (memcmp(o->peers[i].name, whole, sizeof(whole)) == 0) {
            *address = o->peers[i].address;
            return 0;
        }
    }
    if (o->peer_count == PEERS_MAX) {
        errno = ENOBUFS;
        return -1;
    }
    if (fi_av_insert(o->av, whole, 1, address, 0, NULL) != 1) {
        errno = EINVAL;
        return -1;
    }
    memcpy(o->peers[o->peer_count].name, whole, sizeof(whole));
    o->peers[o->peer_count++].address = *address;
    return 0;
}

struct taut_ofi_buffer *taut_ofi_take(struct taut_ofi *o, int reserve)
{
    struct taut_ofi_buffer *b = o->free_sends;

    if (b == NULL || o->free_send_count <= reserve)
        return NULL;
    o->free_sends = b->next;
    o->free_send_count--;
    b->next = NULL;
    return b;
}

int taut_ofi_send(struct taut_ofi *o, struct taut_ofi_buffer *buffer,
                  fi_addr_t to)
{
    void *desc = o->mr != NULL ? fi_mr_desc(o->mr) : NULL;
    struct fid_ep *ep = o->msg != NULL ? taut_msg_way(o, to) : o->ep;
    long rc = ep == NULL ? -errno
                         : fi_send(ep, buffer->bytes, buffer->length, desc, to,
                                   &buffer->context);

    if (rc == 0)
        return 0;
    taut_ofi_give(o, buffer);
    errno = rc == -FI_EAGAIN ? EAGAIN : (int)-rc;
    return -1;
}

bool taut_ofi_next(struct taut_ofi *o, struct taut_ofi_event *event)
{
    struct fi_cq_msg_entry entry;
    struct fi_cq_err_entry why = {0};
    long rc;

    repost(o);
    rc = fi_cq_read(o->cq, &entry, 1);
    if (o->msg != NULL)
        taut_msg_progress(o);
    if (rc == 1) {
        event->buffer = entry.op_context;
        event->error = 0;
        if (!event->buffer->is_send)
            event->buffer->length = entry.len;
        return true;
    }
    if (rc != -FI_EAVAIL || fi_cq_readerr(o->cq, &why, 0) != 1 ||
        why.op_context == NULL)
        return false;
    event->buffer = why.op_context;
    event->error = why.err ? why.err : EIO;
    return true;
}

void taut_ofi_give(struct taut_ofi *o, struct taut_ofi_buffer *buffer)
{
    if (!buffer->is_send) {
        buffer->next = o->unposted;
        o->unposted = buffer;
        repost(o);
        return;
    }
    buffer->next = o->free_sends;
    o->free_sends = buffer;
    o->free_send_count++;
}

bool taut_ofi_may_sleep(struct taut_ofi *o)
{
    struct fid *fids[2] = {&o->cq->fid, NULL};
    int n = 1;

    if (o->msg != NULL)
        fids[n++] = taut_msg_events(o);
    return o->wait_fd >= 0 && (o->msg == NULL || o->eq_fd >= 0) &&
           o->unposted == NULL &&
           fi_trywait(o->fabric, fids, n) == FI_SUCCESS;
}

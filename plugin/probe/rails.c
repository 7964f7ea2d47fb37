/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/probe/rails.h"

#define NET "sys/class/net"

void taut_rails_init(struct taut_rails *rails)
{
    memset(rails, 0, sizeof(*rails));
    for (size_t i = 0; i < TAUT_PLAN_RAILS; i++)
        taut_gauge_init(&rails->list[i].gauge);
}

void taut_rails_close(struct taut_rails *rails)
{
    for (size_t i = 0; i < rails->endpoint_count; i++) {
        struct taut_endpoint *ep = &rails->endpoints[i];

        if (ep->transport != NULL)
            ep->transport->close(ep);
    }
    rails->endpoint_count = 0;
}

void taut_rails_fini(struct taut_rails *rails)
{
    taut_rails_close(rails);
    for (size_t i = 0; i < rails->count; i++)
        taut_gauge_close(&rails->list[i].gauge);
}

/* ---- finding them ---- */

static void add(struct taut_rails *rails, const char *name, size_t n,
                const struct taut_address *server)
{
    struct taut_rail *r = &rails->list[rails->count++];

    r->guid[0] = '\0';
    snprintf(r->interface, sizeof(r->interface), "%.*s", (int)n, name);
    if (taut_address_local(&r->local, r->interface, server, &r->why) < 0)
        r->local.length = 0;
}

static void add_list(struct taut_rails *rails, const char *interfaces,
                     const struct taut_address *server)
{
    for (const char *p = interfaces; rails->count < TAUT_PLAN_RAILS;) {
        size_t n = strcspn(p, ",");

        add(rails, p, n, server);
        if (p[n] == '\0')
            return;
        p += n + 1;
    }
}

/* A number in a file of an interface, or -1. */
static int64_t read_number(int root_fd, const char *name, const char *file)
{
    char path[320];
    int64_t value = -1;
    int fd;

    snprintf(path, sizeof(path), NET "/%s/%s", name, file);
    fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (taut_counter_poll(fd, &value) < 0)
            value = -1;
        close(fd);
    }
    return value;
}

/* Mbit/s of an interface that is hardware and has a carrier; else -1. */
static int64_t speed_of(int root_fd, const char *name)
{
    char path[320];

    snprintf(path, sizeof(path), NET "/%s/device", name);
    if (name[0] == '.' || strlen(name) >= IFNAMSIZ ||
        faccessat(root_fd, path, F_OK, 0) < 0 ||
        read_number(root_fd, name, "carrier") != 1)
        return -1;
    return read_number(root_fd, name, "speed");
}

/* The names below NET in the order of their numbers: hsn2 before hsn10. */
static int list_names(int root_fd, struct dirent ***names)
{
    return scandirat(root_fd, NET, names, NULL, versionsort);
}

#define LOWER "lower_"
#define LEVELS 4 /* a VLAN on a bridge on a bond on a card */

/* The highest speed of the hardware below an interface: the members of a bond or
 * a bridge, what a VLAN is on; -1: there is none. */
static int64_t speed_below(int root_fd, const char *name, int levels)
{
    struct dirent **entries = NULL;
    char path[320];
    int64_t most = -1;

    snprintf(path, sizeof(path), NET "/%s", name);
    int n = levels > 0 && name[0] != '.'
                ? scandirat(root_fd, path, &entries, NULL, NULL)
                : -1;
    for (int i = 0; i < n; i++) {
        const char *lower = entries[i]->d_name + strlen(LOWER);
        if (strncmp(entries[i]->d_name, LOWER, strlen(LOWER)) == 0) {
            int64_t own = speed_of(root_fd, lower);
            int64_t below = speed_below(root_fd, lower, levels - 1);
            most = own > most ? own : most;
            most = below > most ? below : most;
        }
        free(entries[i]);
    }
    free(entries);
    return most;
}

static bool add_with_address(struct taut_rails *rails, const char *name,
                             const struct taut_address *server)
{
    if (rails->count >= TAUT_PLAN_RAILS)
        return false;
    add(rails, name, strlen(name), server);
    if (rails->list[rails->count - 1].local.length > 0)
        return true;
    rails->count--; /* a member of a bond, or not set up */
    return false;
}

/* What auto has looked at, and why none of it is a rail. */
static void tell_why(struct taut_error *err, int root_fd,
                     struct dirent **names, int n, int64_t fastest)
{
    char list[160] = "";
    size_t used = 0;

    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        if (speed_of(root_fd, name) == fastest && used + IFNAMSIZ < sizeof(list))
            used += (size_t)snprintf(list + used, sizeof(list) - used, " %s",
                                     name);
    }
    taut_error_set(err,
                   "interface auto: the fastest (%lld Mbit/s):%s, and nothing "
                   "above them has an address; 'interface' can name one",
                   (long long)fastest, list);
}

/* Those of the highest speed, so that a service network stays out; where these
 * have no address, what is above them (a bond, a VLAN).  Returns 0, or -1:
 * there is fast hardware, and none of it can be used. */
static int add_auto(struct taut_rails *rails, int root_fd,
                    const struct taut_address *server, struct taut_error *err)
{
    struct dirent **names = NULL;
    int n = list_names(root_fd, &names);
    int64_t fastest = 0;

    for (int i = 0; i < n; i++) {
        int64_t speed = speed_of(root_fd, names[i]->d_name);

        fastest = speed > fastest ? speed : fastest;
    }
    for (int i = 0; fastest > 0 && i < n; i++)
        if (speed_of(root_fd, names[i]->d_name) == fastest)
            add_with_address(rails, names[i]->d_name, server);
    for (int i = 0, none = rails->count == 0; fastest > 0 && none && i < n; i++)
        if (speed_below(root_fd, names[i]->d_name, LEVELS) == fastest)
            add_with_address(rails, names[i]->d_name, server);
    if (fastest > 0 && rails->count == 0)
        tell_why(err, root_fd, names, n, fastest);
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    errno = EADDRNOTAVAIL;
    return fastest > 0 && rails->count == 0 ? -1 : 0;
}

int taut_rails_find(struct taut_rails *rails, const char *interfaces,
                    const struct taut_address *server, int root_fd,
                    struct taut_error *err)
{
    rails->count = 0;
    if (strcmp(interfaces, "auto") == 0) {
        if (add_auto(rails, root_fd, server, err) < 0)
            return -1;
        interfaces = "";
    }
    if (rails->count == 0)
        add_list(rails, interfaces, server);
    for (size_t i = 0; i < rails->count; i++)
        taut_ib_port_guid(root_fd, rails->list[i].interface, rails->list[i].guid);
    for (size_t i = 0; i < rails->count; i++) {
        if (rails->list[i].local.length > 0)
            return 0;
    }
    errno = EADDRNOTAVAIL;
    return taut_error_set(err, "%s", rails->list[0].why.text);
}

/* ---- opening them ---- */

/* Entry 'i' of a list; a list of one is for all. */
static void entry(char *text, size_t room, const char *list, size_t i)
{
    if (strchr(list, ',') == NULL)
        i = 0;
    for (; i > 0 && *list; i--) {
        list += strcspn(list, ",");
        list += *list == ',';
    }
    snprintf(text, room, "%.*s", (int)strcspn(list, ","), list);
}

/* Has another rail that can be used the domain of rail 'i', or none as well? */
static bool shares_domain(const struct taut_rails *rails, const char *list,
                          const char *domain, size_t i)
{
    char other[256];

    for (size_t k = 0; k < rails->count; k++) {
        if (k == i || rails->list[k].local.length == 0)
            continue;
        entry(other, sizeof(other), list, k);
        if (strcmp(other, domain) == 0)
            return true;
    }
    return false;
}

static void prepare(struct taut_rails *rails, size_t i,
                    struct taut_endpoint *ep)
{
    struct taut_rail *r = &rails->list[i];

    r->why.text[0] = '\0';
    memset(ep, 0, sizeof(*ep));
    ep->rail = (int)i;
    ep->fd = -1;
    ep->local = r->local;
    ep->gauge = &r->gauge;
    if (rails->count > 1)
        snprintf(ep->interface, sizeof(ep->interface), "%.*s",
                 (int)strcspn(r->interface, ":"), r->interface);
}

int taut_rails_open(struct taut_rails *rails, enum taut_transport_kind kind,
                    const struct taut_transport_options *options,
                    struct taut_error *err)
{
    const struct taut_transport *transport = taut_transport_of(kind);
    size_t before = rails->endpoint_count;
    const char *list = options != NULL ? options->domain : "";
    char domain[256];
    struct taut_transport_options own = {"", domain, "", "", false};
    struct taut_error why;
    int saved = EADDRNOTAVAIL;

    if (options != NULL)
        own = *options;
    own.domain = domain;
    for (size_t i = 0; i < rails->count; i++) {
        struct taut_rail *r = &rails->list[i];
        struct taut_endpoint *ep = &rails->endpoints[rails->endpoint_count];

        if (r->local.length == 0)
            continue;
        prepare(rails, i, ep);
        entry(domain, sizeof(domain), list, i);
        own.shares_domain = shares_domain(rails, list, domain, i);
        if (transport->open(ep, &own, &why) == 0) {
            rails->endpoint_count++;
            continue;
        }
        saved = errno;
        taut_error_set(&r->why, "interface %s: %.180s", r->interface, why.text);
        taut_error_set(err, "%s", r->why.text);
    }
    errno = saved;
    return rails->endpoint_count > before ? 0 : -1;
}

void taut_rails_load(struct taut_rails *rails)
{
    for (size_t i = 0; i < rails->endpoint_count; i++) {
        if (rails->endpoints[i].transport->kind == TAUT_TRANSPORT_OFI)
            taut_transport_ofi_load(&rails->endpoints[i]);
    }
}

void taut_rails_open_gauges(struct taut_rails *rails, int root_fd)
{
    for (size_t i = 0; i < rails->count; i++)
        taut_gauge_open(&rails->list[i].gauge, root_fd,
                        rails->list[i].interface);
}

/* ---- telling of them ---- */

static const struct taut_endpoint *
find(const struct taut_rails *rails, size_t rail, enum taut_transport_kind kind)
{
    for (size_t i = 0; i < rails->endpoint_count; i++) {
        const struct taut_endpoint *ep = &rails->endpoints[i];

        if (ep->transport != NULL && ep->rail == (int)rail &&
            ep->transport->kind == kind)
            return ep;
    }
    return NULL;
}

const char *taut_rails_first(const struct taut_rails *rails)
{
    const struct taut_endpoint *ep = find(rails, 0, TAUT_TRANSPORT_TCP);

    return ep != NULL ? ep->name : "";
}

json_t *taut_rails_endpoints_to_json(const struct taut_rails *rails)
{
    json_t *array = json_array();

    for (size_t i = 0; i < rails->count; i++) {
        json_t *object = json_object();

        json_object_set_new(object, "if",
                            json_string(rails->list[i].interface));
        for (int k = TAUT_TRANSPORT_TCP; k <= TAUT_TRANSPORT_OFI; k++) {
            const struct taut_endpoint *ep = find(rails, i, k);

            if (ep != NULL)
                json_object_set_new(object, taut_transport_name(k),
                                    json_string(ep->name));
        }
        if (rails->list[i].guid[0])
            json_object_set_new(object, "guid",
                                json_string(rails->list[i].guid));
        json_array_append_new(array, object);
    }
    return array;
}

bool taut_rails_are_loading(struct taut_rails *rails)
{
    for (size_t i = 0; i < rails->endpoint_count; i++) {
        struct taut_endpoint *ep = &rails->endpoints[i];

        if (ep->transport != NULL &&
            ep->transport->kind == TAUT_TRANSPORT_OFI &&
            taut_transport_ofi_wait(ep, 0, NULL) < 0 && errno == ETIMEDOUT)
            return true;
    }
    return false;
}

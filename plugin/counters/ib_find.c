/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/counters/file.h"
#include "plugin/counters/ib_find.h"

#define PORTS_MOST 64
#define DEVICES_MOST 16 /* of a node: eight GPUs have one each */
#define GIDS_MOST 32 /* of a port: the first are the network device's own, … */
#define GAP_MOST 4   /* … those of VLANs come behind, and so many unused ones end them */

static bool has_port(int root_fd, const char *device, int port)
{
    char path[128];

    snprintf(path, sizeof(path), TAUT_IB_CLASS "%.40s/ports/%d", device, port);
    return faccessat(root_fd, path, F_OK, 0) == 0;
}

/* Does the port carry the interface?  The GIDs of RoCE each name the network
 * device that they are of, as `rdma link` shows; those of InfiniBand none.
 *   is_named  set where a GID of the port names any */
static bool carries(struct taut_counters *c, int root_fd, const char *device,
                    int port, bool *is_named)
{
    size_t length = strcspn(c->interface, ":");
    char path[128], text[IFNAMSIZ + 1];

    for (int i = 0, gap = 0; i < GIDS_MOST && gap < GAP_MOST; i++) {
        snprintf(path, sizeof(path),
                 TAUT_IB_CLASS "%.40s/ports/%d/gid_attrs/ndevs/%d", device,
                 port, i);
        if (taut_counters_slurp(c, root_fd, path, text, sizeof(text)) <= 0) {
            gap++;
            continue;
        }
        gap = 0;
        *is_named = true;
        if (strlen(text) == length && strncmp(text, c->interface, length) == 0)
            return true;
    }
    return false;
}

/* A card with several ports has one device for all of them, and a network
 * device for each: dev_port, and dev_id before there was one, count from 0. */
static int by_number(struct taut_counters *c, int root_fd)
{
    static const char *const files[] = {"/dev_port", "/dev_id"};
    char path[96], text[32];
    int64_t number;

    for (int i = 0; i < 2; i++) {
        taut_counters_path(path, sizeof(path), c->interface, files[i]);
        if (taut_counters_slurp(c, root_fd, path, text, sizeof(text)) < 0)
            continue;
        if (taut_counters_parse(strncmp(text, "0x", 2) != 0 ? text : text + 2,
                                &number) == 0 &&
            number > 0 && number < 255)
            return (int)number + 1;
    }
    return 1;
}

/* The port of a device with several, or -1: its ports name other interfaces.
 * Where planes, or representors of a switch, share a device, numbers tell
 * nothing. */
static int port_of(struct taut_counters *c, int root_fd, const char *device)
{
    bool is_named = false;

    for (int port = 1; port <= PORTS_MOST && has_port(root_fd, device, port);
         port++) {
        if (carries(c, root_fd, device, port, &is_named))
            return port;
    }
    return is_named ? -1 : by_number(c, root_fd);
}

/* The device of a bond or a VLAN is that of the cards below it, and soft RoCE and
 * soft iWARP are devices over a network device: the first of which a port names the
 * interface. */
static int find_by_gid(struct taut_counters *c, int root_fd, char *device,
                         size_t room)
{
    int fd = openat(root_fd, TAUT_IB_CLASS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    bool is_named, is_found = false;

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    for (int n = 0; n < DEVICES_MOST && !is_found && (e = readdir(dir));) {
        if (e->d_name[0] == '.' || strlen(e->d_name) >= room)
            continue;
        n++;
        is_found = carries(c, root_fd, e->d_name, 1, &is_named) ||
                   (has_port(root_fd, e->d_name, 2) &&
                    carries(c, root_fd, e->d_name, 2, &is_named));
        if (is_found)
            snprintf(device, room, "%s", e->d_name);
    }
    closedir(dir);
    return is_found ? 0 : -1;
}

/* ---- which device is the interface's ---- */

/* Bit 10 of a port's capabilities: another device speaks to the subnet manager
 * for it, one for each plane (libibumad of rdma-core tells them so). */
#define IS_SM_DISABLED 0x400

static bool is_spoken_for(struct taut_counters *c, int root_fd,
                          const char *device)
{
    char path[128], text[32];

    snprintf(path, sizeof(path), TAUT_IB_CLASS "%.40s/ports/1/cap_mask",
             device);
    return taut_counters_slurp(c, root_fd, path, text, sizeof(text)) > 0 &&
           (strtoul(text, NULL, 16) & IS_SM_DISABLED) != 0;
}

/* The first device of the card that the interface is on; of several, the first
 * that another one speaks for: that one carries no data. */
static int device_of(struct taut_counters *c, int root_fd, char *device)
{
    struct dirent **names = NULL;
    char path[96];
    int n, count = 0;

    taut_counters_path(path, sizeof(path), c->interface, "/device/infiniband");
    c->opens++;
    n = scandirat(root_fd, path, &names, NULL, alphasort);
    device[0] = '\0';
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;

        if (name[0] == '.' || strlen(name) >= TAUT_IB_DEVICE)
            continue;
        count++;
        if (count == 1 ||
            (count == 2 && !is_spoken_for(c, root_fd, device) &&
             is_spoken_for(c, root_fd, name)))
            snprintf(device, TAUT_IB_DEVICE, "%s", name);
    }
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return device[0] ? 0 : -1;
}

static int port_on(struct taut_counters *c, int root_fd, const char *device)
{
    return has_port(root_fd, device, 2) ? port_of(c, root_fd, device) : 1;
}

int taut_ib_find(struct taut_counters *c, int root_fd, char *device, int *port)
{
    if (device_of(c, root_fd, device) < 0 &&
        find_by_gid(c, root_fd, device, TAUT_IB_DEVICE) < 0)
        return -1;
    *port = port_on(c, root_fd, device);
    return *port < 0 ? -1 : 0;
}

/* ---- what the fabric knows it by ---- */

#define HARDWARE_DIGITS 40 /* of an IPoIB address: a queue pair, and a GID */
#define GUID_DIGITS 16

/* The last 64 bits of a text of hex digits and colons, which has to have as
 * many digits. */
static int take_guid(char *guid, const char *text, size_t digits)
{
    char own[HARDWARE_DIGITS + 1] = "";
    size_t n = 0;

    for (const char *p = text; *p; p++) {
        if (*p == ':')
            continue;
        if (strchr("0123456789abcdefABCDEF", *p) == NULL || n == digits)
            return -1;
        own[n++] = (char)(*p >= 'A' && *p <= 'F' ? *p - 'A' + 'a' : *p);
    }
    own[n] = '\0';
    if (n != digits || strspn(own + n - GUID_DIGITS, "0") == GUID_DIGITS)
        return -1;
    snprintf(guid, TAUT_IB_GUID, "0x%s", own + n - GUID_DIGITS);
    return 0;
}

int taut_ib_parse_address(const char *text, char guid[TAUT_IB_GUID])
{
    return take_guid(guid, text, HARDWARE_DIGITS);
}

int taut_ib_parse_gid(const char *text, char guid[TAUT_IB_GUID])
{
    return take_guid(guid, text, 2 * GUID_DIGITS);
}

int taut_ib_guid_at(struct taut_counters *c, int root_fd, const char *device,
                    int port, char guid[TAUT_IB_GUID])
{
    char path[128], text[64];

    snprintf(path, sizeof(path), TAUT_IB_CLASS "%.40s/ports/%d/link_layer",
             device, port);
    if (taut_counters_slurp(c, root_fd, path, text, sizeof(text)) < 0 ||
        strcmp(text, "InfiniBand") != 0)
        return -1;
    snprintf(path, sizeof(path), TAUT_IB_CLASS "%.40s/ports/%d/gids/0", device,
             port);
    if (taut_counters_slurp(c, root_fd, path, text, sizeof(text)) < 0)
        return -1;
    return taut_ib_parse_gid(text, guid);
}

static int guid_of_port(struct taut_counters *c, int root_fd, char *guid)
{
    char device[TAUT_IB_DEVICE];
    int port = device_of(c, root_fd, device) < 0 ? -1
                                                 : port_on(c, root_fd, device);

    return port < 0 ? -1 : taut_ib_guid_at(c, root_fd, device, port, guid);
}

int taut_ib_port_guid(int root_fd, const char *interface,
                      char guid[TAUT_IB_GUID])
{
    struct taut_counters c;
    char path[96], text[96];

    memset(&c, 0, offsetof(struct taut_counters, texts));
    snprintf(c.interface, sizeof(c.interface), "%s", interface);
    taut_counters_path(path, sizeof(path), interface, "/address");
    if (taut_counters_slurp(&c, root_fd, path, text, sizeof(text)) >= 0 &&
        taut_ib_parse_address(text, guid) == 0)
        return 0;
    return guid_of_port(&c, root_fd, guid);
}

/* ---- planes ---- */

static void add_plane(struct taut_ib_planes *p, int port)
{
    if (p->count < TAUT_IB_PLANES)
        p->ports[p->count++] = port;
}

/* Ports of a device that have this GUID. */
static void with_guid(struct taut_counters *c, int root_fd,
                      struct taut_ib_planes *p, const char *guid)
{
    char own[TAUT_IB_GUID];

    for (int port = 1;
         port <= PORTS_MOST && has_port(root_fd, p->device, port); port++) {
        if (taut_ib_guid_at(c, root_fd, p->device, port, own) == 0 &&
            strcmp(own, guid) == 0)
            add_plane(p, port);
    }
}

/* Ports of a device that name the interface. */
static void with_interface(struct taut_counters *c, int root_fd,
                           struct taut_ib_planes *p)
{
    bool is_named;

    for (int port = 1;
         port <= PORTS_MOST && has_port(root_fd, p->device, port); port++) {
        if (carries(c, root_fd, p->device, port, &is_named))
            add_plane(p, port);
    }
}

/* Another device of the same card, with ports of the same GUID: most cards have
 * no other, and nothing is read then. */
static void beside(struct taut_counters *c, int root_fd, const char *device,
                   int port, struct taut_ib_planes *p)
{
    struct dirent **names = NULL;
    char path[96], guid[TAUT_IB_GUID] = "";
    int n;

    snprintf(path, sizeof(path), TAUT_IB_CLASS "%.40s/device/infiniband",
             device);
    c->opens++;
    n = scandirat(root_fd, path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;

        if (p->count > 0 || name[0] == '.' || strcmp(name, device) == 0 ||
            strlen(name) >= sizeof(p->device) ||
            (guid[0] == '\0' &&
             taut_ib_guid_at(c, root_fd, device, port, guid) < 0))
            continue;
        snprintf(p->device, sizeof(p->device), "%s", name);
        with_guid(c, root_fd, p, guid);
    }
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

void taut_ib_find_planes(struct taut_counters *c, int root_fd,
                         const char *device, int port,
                         struct taut_ib_planes *p)
{
    char guid[TAUT_IB_GUID];

    *p = (struct taut_ib_planes){.count = 0};
    snprintf(p->device, sizeof(p->device), "%s", device);
    if (!has_port(root_fd, device, 2)) {
        beside(c, root_fd, device, port, p);
        p->is_beside = p->count > 0;
    } else if (taut_ib_guid_at(c, root_fd, device, port, guid) == 0) {
        with_guid(c, root_fd, p, guid);
    } else {
        with_interface(c, root_fd, p);
    }
    if (p->count < 2) {
        *p = (struct taut_ib_planes){.count = 1, .ports = {port}};
        snprintf(p->device, sizeof(p->device), "%s", device);
    }
}

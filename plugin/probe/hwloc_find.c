/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut-hwloc.so: what hwloc knows of a device's place. */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <hwloc.h>
#include <hwloc/glibc-sched.h>

#include "plugin/probe/locality.h"

__attribute__((visibility("default"))) taut_locality_find_f taut_locality_find;

/* Devices and what they hang on; caches, instructions and memory details
 * would only cost time. */
static int load(hwloc_topology_t *topology, const char *root)
{
    bool is_recorded = strcmp(root, "/") != 0;

    if (is_recorded)
        setenv("HWLOC_FSROOT", root, 1);
    if (hwloc_topology_init(topology) < 0)
        return -1;
    hwloc_topology_set_cache_types_filter(*topology,
                                          HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_icache_types_filter(*topology,
                                           HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_io_types_filter(*topology,
                                       HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_type_filter(*topology, HWLOC_OBJ_MISC,
                                   HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(*topology) == 0)
        return 0;
    hwloc_topology_destroy(*topology);
    return -1;
}

static bool is_named(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (name != NULL && strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

int taut_locality_find(cpu_set_t *near, const char *const *names, size_t count,
                       const char *root)
{
    hwloc_topology_t topology;
    hwloc_obj_t device = NULL;
    hwloc_bitmap_t all = hwloc_bitmap_alloc();
    int rc = -1;

    if (all == NULL || load(&topology, root) < 0) {
        hwloc_bitmap_free(all);
        return -1;
    }
    while ((device = hwloc_get_next_osdev(topology, device))) {
        if (is_named(device->name, names, count))
            hwloc_bitmap_or(
                all, all,
                hwloc_get_non_io_ancestor_obj(topology, device)->cpuset);
    }
    if (hwloc_bitmap_iszero(all))
        errno = ENOENT;
    else
        rc = hwloc_cpuset_to_glibc_sched_affinity(topology, all, near,
                                                  sizeof(*near));
    hwloc_bitmap_free(all);
    hwloc_topology_destroy(topology);
    return rc;
}

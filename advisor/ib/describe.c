/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/mad.h>

#include "advisor/ib/describe.h"

static void put(json_t *object, const char *key, uint64_t value)
{
    /* Lua's and jansson's integers are signed; no counter gets that far. */
    if (value > INT64_MAX)
        value = INT64_MAX;
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

json_t *taut_ib_guid(uint64_t guid)
{
    char text[32];

    snprintf(text, sizeof(text), "0x%016" PRIx64, guid);
    return json_string(text);
}

json_t *taut_ib_text(const char *text)
{
    char copy[256];
    json_t *value;
    size_t n = strnlen(text, sizeof(copy) - 1);

    for (size_t i = 0; i < n; i++)
        copy[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
    while (n > 0 && copy[n - 1] == ' ')
        n--;
    value = json_stringn(copy, n);
    for (size_t i = 0; value == NULL && i < n; i++)
        if ((unsigned char)copy[i] >= 0x80)
            copy[i] = '?';
    return value != NULL ? value : json_stringn(copy, n);
}

json_t *taut_ib_why(int error, int status)
{
    char text[48];

    switch (error) {
    case ETIMEDOUT:
        return json_string("no answer");
    case EHOSTUNREACH:
        return json_string("not asked: others went unanswered");
    case ECANCELED:
        return json_string("not asked: the sweep's time was up");
    case EREMOTEIO:
        snprintf(text, sizeof(text), "refused with status 0x%x",
                 (unsigned)status);
        return json_string(text);
    default:
        return json_string(strerror(error));
    }
}

/* ---- ports ---- */

static const struct {
    const char *key;
    enum MAD_FIELDS field;
} port_fields[] = {
    {"state", IB_PORT_STATE_F},
    {"phys", IB_PORT_PHYS_STATE_F},
    {"width", IB_PORT_LINK_WIDTH_ACTIVE_F},
    {"width_enabled", IB_PORT_LINK_WIDTH_ENABLED_F},
    {"width_supported", IB_PORT_LINK_WIDTH_SUPPORTED_F},
    {"speed", IB_PORT_LINK_SPEED_ACTIVE_F},
    {"speed_enabled", IB_PORT_LINK_SPEED_ENABLED_F},
    {"speed_supported", IB_PORT_LINK_SPEED_SUPPORTED_F},
    {"ext_speed", IB_PORT_LINK_SPEED_EXT_ACTIVE_F},
    {"ext_speed_enabled", IB_PORT_LINK_SPEED_EXT_ENABLED_F},
    {"ext_speed_supported", IB_PORT_LINK_SPEED_EXT_SUPPORTED_F},
    {"lid", IB_PORT_LID_F},
    {"sm_lid", IB_PORT_SMLID_F},
    {"caps", IB_PORT_CAPMASK_F},
};

static void add_info(json_t *out, const struct taut_ib_port *port)
{
    for (size_t i = 0; i < sizeof(port_fields) / sizeof(port_fields[0]); i++) {
        uint32_t v = mad_get_field((void *)port->info, 0, port_fields[i].field);
        if (v != 0)
            put(out, port_fields[i].key, v);
    }
}

/* Zeros are left out: a counter that was read and is not there is 0. */
static void add_counters(json_t *out, const struct taut_ib_port *port)
{
    json_t *narrow = json_object(), *wide = json_object();

    for (int i = 0; taut_ib_counter_names[i] != NULL; i++) {
        uint64_t bit = UINT64_C(1) << i;
        if ((port->has & bit) && port->value[i] != 0)
            put(port->wide & bit ? wide : narrow, taut_ib_counter_names[i],
                port->value[i]);
    }
    if (port->has != 0)
        json_object_set(out, "counters", narrow);
    if (port->wide != 0)
        json_object_set(out, "counters64", wide);
    json_decref(narrow);
    json_decref(wide);
}

static void add_far(json_t *out, const struct taut_ib_port *port)
{
    if (port->far != NULL) {
        json_object_set_new(out, "far", taut_ib_guid(port->far->guid));
        put(out, "far_port", port->far_port);
    } else if (port->silent) {
        json_object_set_new(out, "silent", json_true());
    }
}

static json_t *describe_port(const struct taut_ib_port *port)
{
    json_t *out = json_object();

    put(out, "port", port->number);
    if (port->guid != 0)
        json_object_set_new(out, "guid", taut_ib_guid(port->guid));
    if (port->known)
        add_info(out, port);
    if (port->known && (port->node->type != TAUT_IB_SWITCH || !port->number))
        json_object_set_new(out, "gid_prefix",
                            taut_ib_guid(mad_get_field64(
                                (void *)port->info, 0, IB_PORT_GID_PREFIX_F)));
    if (port->error != 0)
        json_object_set_new(out, "error", taut_ib_why(port->error, 0));
    add_far(out, port);
    add_counters(out, port);
    if (port->pm_error != 0)
        json_object_set_new(out, "pm_error",
                            taut_ib_why(port->pm_error, port->pm_status));
    return out;
}

/* ---- nodes ---- */

static const char *type_name(enum taut_ib_type type)
{
    return type == TAUT_IB_SWITCH ? "switch"
           : type == TAUT_IB_CA   ? "ca"
                                  : "router";
}

static json_t *describe_path(const struct taut_ib_node *node)
{
    char text[4 * (TAUT_MAD_HOPS + 2)];
    size_t n = (size_t)snprintf(text, sizeof(text), "0");

    for (unsigned i = 1; i <= node->hops; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, ",%u", node->path[i]);
    return json_string(text);
}

json_t *taut_ib_describe_node(const struct taut_ib_node *node)
{
    json_t *out = json_object(), *ports = json_array();

    json_object_set_new(out, "guid", taut_ib_guid(node->guid));
    json_object_set_new(out, "type", json_string(type_name(node->type)));
    if (node->named)
        json_object_set_new(out, "desc", taut_ib_text(node->desc));
    put(out, "num_ports", node->num_ports);
    put(out, "lid", node->lid);
    json_object_set_new(out, "system_guid", taut_ib_guid(node->system_guid));
    put(out, "device", mad_get_field((void *)node->info, 0, IB_NODE_DEVID_F));
    put(out, "vendor",
        mad_get_field((void *)node->info, 0, IB_NODE_VENDORID_F));
    json_object_set_new(out, "path", describe_path(node));
    for (unsigned i = 0; i <= node->num_ports; i++) {
        const struct taut_ib_port *port = &node->ports[i];
        if (port->known || port->error != 0 || port->far != NULL)
            json_array_append_new(ports, describe_port(port));
    }
    json_object_set_new(out, "ports", ports);
    return out;
}

static json_t *describe_end(const struct taut_ib_port *port)
{
    json_t *out;

    if (port == NULL)
        return json_null();
    out = json_object();
    json_object_set_new(out, "guid", taut_ib_guid(port->node->guid));
    put(out, "port", port->number);
    return out;
}

json_t *taut_ib_describe_clashes(const struct taut_ib_fabric *fabric)
{
    json_t *list = json_array();

    for (const struct taut_ib_clash *c = fabric->clashes; c != NULL;
         c = c->next) {
        json_t *out = json_object();
        json_object_set_new(out, "guid", taut_ib_guid(c->guid));
        put(out, "port", c->port);
        json_object_set_new(out, "first", describe_end(c->first));
        json_object_set_new(out, "second", describe_end(c->second));
        json_array_append_new(list, out);
    }
    return list;
}

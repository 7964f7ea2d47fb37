/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/mad.h>

#include "advisor/ib/describe.h"

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

/* ---- printing ---- */

static void print_guid(FILE *out, const char *key, uint64_t guid)
{
    fprintf(out, ",\"%s\":\"0x%016" PRIx64 "\"", key, guid);
}

static void print_json(FILE *out, const char *key, json_t *value)
{
    fprintf(out, ",\"%s\":", key);
    json_dumpf(value, out, JSON_ENCODE_ANY);
    json_decref(value);
}

/* In the order that doc/internals/fabric.md gives. */
static const enum MAD_FIELDS port_fields[] = {
    IB_PORT_STATE_F,
    IB_PORT_PHYS_STATE_F,
    IB_PORT_LINK_WIDTH_ACTIVE_F,
    IB_PORT_LINK_WIDTH_ENABLED_F,
    IB_PORT_LINK_WIDTH_SUPPORTED_F,
    IB_PORT_LINK_SPEED_ACTIVE_F,
    IB_PORT_LINK_SPEED_ENABLED_F,
    IB_PORT_LINK_SPEED_SUPPORTED_F,
    IB_PORT_LINK_SPEED_EXT_ACTIVE_F,
    IB_PORT_LINK_SPEED_EXT_ENABLED_F,
    IB_PORT_LINK_SPEED_EXT_SUPPORTED_F,
};

/* Extended speeds of a second kind (XDR), byte 56 of PortInfo: two bits active,
 * two supported, three enabled, after one that is reserved (as rdma-core reads
 * it in libibmad).  libibmad before version 54 does not name them.  As there,
 * they stand above the five bits of the first kind. */
#define SPEED_EXT2_BYTE 56
#define SPEED_EXT2_SHIFT 5

/* The extended speed of the second kind in a field; 0: none. */
static uint32_t second_speed(const struct taut_ib_port *port,
                             enum MAD_FIELDS field)
{
    unsigned byte = ((const uint8_t *)port->info)[SPEED_EXT2_BYTE];

    switch (field) {
    case IB_PORT_LINK_SPEED_EXT_ACTIVE_F:
        return (byte >> 5 & 3) << SPEED_EXT2_SHIFT;
    case IB_PORT_LINK_SPEED_EXT_SUPPORTED_F:
        return (byte >> 3 & 3) << SPEED_EXT2_SHIFT;
    case IB_PORT_LINK_SPEED_EXT_ENABLED_F:
        return (byte & 3) << SPEED_EXT2_SHIFT;
    default:
        return 0;
    }
}

/* The number of a field.  What is active is of one kind only. */
static uint32_t port_number(const struct taut_ib_port *port,
                            enum MAD_FIELDS field)
{
    uint32_t first = mad_get_field((void *)port->info, 0, field);
    uint32_t second = second_speed(port, field);

    return field == IB_PORT_LINK_SPEED_EXT_ACTIVE_F && second != 0
               ? second
               : first | second;
}

/* What is each port's own, and of a switch only its processor's. */
static void print_address(FILE *out, const struct taut_ib_port *port)
{
    fprintf(out, ",\"lid\":%u,\"sm_lid\":%u,\"caps\":%u", port->lid,
            mad_get_field((void *)port->info, 0, IB_PORT_SMLID_F),
            mad_get_field((void *)port->info, 0, IB_PORT_CAPMASK_F));
    print_guid(out, "gid_prefix",
               mad_get_field64((void *)port->info, 0, IB_PORT_GID_PREFIX_F));
}

/* As text: most ports of a fabric have the same, and a reader then looks at
 * it once. */
static void print_info(FILE *out, const struct taut_ib_port *port)
{
    fputs(",\"info\":\"", out);
    for (size_t i = 0; i < sizeof(port_fields) / sizeof(port_fields[0]); i++)
        fprintf(out, i == 0 ? "%u" : " %u", port_number(port, port_fields[i]));
    fputc('"', out);
    if (port->node->type != TAUT_IB_SWITCH || port->number == 0)
        print_address(out, port);
}

/* Zeros are left out.  Lua's integers are signed; no counter gets that far. */
static void print_form(FILE *out, const char *key,
                       const struct taut_ib_port *port, uint64_t which)
{
    const char *between = "";
    uint64_t v;

    fprintf(out, ",\"%s\":{", key);
    for (int i = 0; taut_ib_counter_names[i] != NULL; i++) {
        v = port->value[i] < INT64_MAX ? port->value[i] : INT64_MAX;
        if (!(which & UINT64_C(1) << i) || v == 0)
            continue;
        fprintf(out, "%s\"%s\":%" PRIu64, between, taut_ib_counter_names[i], v);
        between = ",";
    }
    fputc('}', out);
}

static void print_counters(FILE *out, const struct taut_ib_port *port)
{
    uint64_t set = 0;

    for (unsigned i = 0; taut_ib_counter_names[i] != NULL; i++)
        if (port->value[i] != 0)
            set |= UINT64_C(1) << i;
    if (port->has != 0)
        fprintf(out, ",\"read\":%d", port->wide != 0 ? 64 : 32);
    if (set & port->has & ~port->wide)
        print_form(out, "counters", port, port->has & ~port->wide);
    if (set & port->wide)
        print_form(out, "counters64", port, port->wide);
    if (port->pm_error != 0)
        print_json(out, "pm_error",
                   taut_ib_why(port->pm_error, port->pm_status));
}

static void print_port(FILE *out, const struct taut_ib_port *port)
{
    fprintf(out, "{\"port\":%u", port->number);
    if (port->guid != 0)
        print_guid(out, "guid", port->guid);
    if (port->known)
        print_info(out, port);
    if (port->error != 0)
        print_json(out, "error", taut_ib_why(port->error, 0));
    if (port->far != NULL) {
        print_guid(out, "far", port->far->guid);
        fprintf(out, ",\"far_port\":%u", port->far_port);
    } else if (port->silent) {
        fputs(",\"silent\":true", out);
    }
    print_counters(out, port);
    fputc('}', out);
}

static const char *type_name(enum taut_ib_type type)
{
    return type == TAUT_IB_SWITCH ? "switch"
           : type == TAUT_IB_CA   ? "ca"
                                  : "router";
}

static void print_path(FILE *out, const struct taut_ib_node *node)
{
    fputs(",\"path\":\"0", out);
    for (unsigned i = 1; i <= node->hops; i++)
        fprintf(out, ",%u", node->path[i]);
    fputc('"', out);
}

void taut_ib_print_node(FILE *out, const struct taut_ib_node *node)
{
    const char *between = "";

    fprintf(out, "{\"type\":\"%s\",\"num_ports\":%u,\"lid\":%u",
            type_name(node->type), node->num_ports, node->lid);
    print_guid(out, "guid", node->guid);
    print_guid(out, "system_guid", node->system_guid);
    if (node->named)
        print_json(out, "desc", taut_ib_text(node->desc));
    fprintf(out, ",\"device\":%u,\"vendor\":%u",
            mad_get_field((void *)node->info, 0, IB_NODE_DEVID_F),
            mad_get_field((void *)node->info, 0, IB_NODE_VENDORID_F));
    print_path(out, node);
    fputs(",\"ports\":[", out);
    for (unsigned i = 0; i <= node->num_ports; i++) {
        const struct taut_ib_port *port = &node->ports[i];
        if (!port->known && port->error == 0 && port->far == NULL)
            continue;
        fputs(between, out);
        print_port(out, port);
        between = ",";
    }
    fputs("]}", out);
}

/* ---- clashes ---- */

static json_t *describe_end(const struct taut_ib_port *port)
{
    json_t *out;

    if (port == NULL)
        return json_null();
    out = json_object();
    json_object_set_new(out, "guid", taut_ib_guid(port->node->guid));
    json_object_set_new(out, "port", json_integer(port->number));
    return out;
}

json_t *taut_ib_describe_clashes(const struct taut_ib_fabric *fabric)
{
    json_t *list = json_array();

    for (const struct taut_ib_clash *c = fabric->clashes; c != NULL;
         c = c->next) {
        json_t *out = json_object();
        json_object_set_new(out, "guid", taut_ib_guid(c->guid));
        json_object_set_new(out, "port", json_integer(c->port));
        json_object_set_new(out, "first", describe_end(c->first));
        json_object_set_new(out, "second", describe_end(c->second));
        json_array_append_new(list, out);
    }
    return list;
}

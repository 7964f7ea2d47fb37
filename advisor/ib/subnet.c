/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to subnet managers: who they are, and who is in a group. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>
#include <infiniband/umad_sa.h>
#include <infiniband/umad_sa_mcm.h>

#include "advisor/ib/describe.h"
#include "advisor/ib/request.h"
#include "advisor/ib/umad.h"

#define LIDS_MAX 0xbfff
#define SA_NO_RECORDS 0x0300
#define AT_SM_KEY 36 /* in an SA MAD */
#define AT_COMP_MASK 48
#define SA_DEADLINE_NS UINT64_C(60000000000)

struct asked {
    json_t *list;
    struct taut_mad_peer peer;
};

/* ---- sm ---- */

static void add_number(json_t *out, const char *key, uint64_t value)
{
    json_object_set_new(out, key, json_integer((json_int_t)value));
}

static void on_sminfo(struct taut_mad *mad, int error)
{
    struct asked *asked = mad->owner;
    uint8_t *info = mad->bytes + TAUT_SMP_DATA;
    json_t *out = json_object();

    add_number(out, "lid", mad->lid);
    if (error != 0) {
        json_object_set_new(out, "error",
                            taut_ib_why(error, error == EREMOTEIO
                                                   ? (int)taut_mad_status(mad)
                                                   : 0));
    } else {
        json_object_set_new(
            out, "guid",
            taut_ib_guid(mad_get_field64(info, 0, IB_SMINFO_GUID_F)));
        add_number(out, "activity", mad_get_field(info, 0, IB_SMINFO_ACT_F));
        add_number(out, "priority", mad_get_field(info, 0, IB_SMINFO_PRIO_F));
        add_number(out, "state", mad_get_field(info, 0, IB_SMINFO_STATE_F));
    }
    json_array_append_new(asked->list, out);
}

static int ask_sm(struct taut_mads *mads, struct asked *all, struct asked *one,
                  const json_t *lid, struct taut_error *err)
{
    json_int_t n = json_integer_value(lid);
    struct taut_mad *mad;

    if (n < 1 || n > LIDS_MAX)
        return taut_error_set(err, "lids: %lld is not a LID from 1 to %d",
                              (long long)n, LIDS_MAX);
    mad = taut_mad_get(TAUT_MAD_SMP_LID, IB_ATTR_SMINFO, 0);
    if (mad == NULL)
        return taut_error_set(err, "out of memory");
    taut_mad_to(mad, (uint16_t)n, 0);
    mad->done = on_sminfo;
    mad->owner = all;
    taut_mads_ask(mads, &one->peer, mad);
    return 0;
}

/* Ask the subnet managers at these LIDs; one that is not there is no error of
 * the request. */
int taut_ib_sm(const json_t *request, json_t *reply, struct taut_error *err)
{
    const json_t *lids = json_object_get(request, "lids");
    size_t count = json_array_size(lids);
    struct asked all = {.list = json_array()};
    struct asked *each = calloc(count + 1, sizeof(*each));
    struct taut_umad *umad = NULL;
    struct taut_mads *mads = NULL;
    int rc = each != NULL ? taut_ib_begin(request, &umad, &mads, err)
                          : taut_error_set(err, "out of memory");

    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = ask_sm(mads, &all, &each[i], json_array_get(lids, i), err);
    if (rc == 0)
        taut_mads_run(mads);
    json_object_set(reply, "sms", all.list);
    json_decref(all.list);
    taut_mads_destroy(mads);
    taut_umad_close(umad);
    free(each);
    return rc;
}

/* ---- mcast ---- */

struct group {
    uint64_t mask, sm_key, prefix;
    uint8_t mgid[16];
    uint16_t mlid, sm_lid;
    uint8_t sm_sl;
};

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = strchr(digits, c);

    return c != '\0' && at != NULL ? (int)(at - digits) : -1;
}

/* 'digits' hex digits to bytes; 0 if there is anything else. */
static int unhex(const char *text, uint8_t *out, size_t digits)
{
    if (text == NULL || strlen(text) != digits)
        return 0;
    for (size_t i = 0; i < digits; i++) {
        int d = hex_digit(text[i]);
        if (d < 0)
            return 0;
        out[i / 2] = (uint8_t)(out[i / 2] << 4 | d);
    }
    return 1;
}

static int take_hex(const json_t *request, const char *key, uint64_t *value,
                    struct taut_error *err)
{
    const char *text = json_string_value(json_object_get(request, key));
    uint8_t bytes[8] = {0};

    if (!unhex(text, bytes, 16))
        return taut_error_set(err, "%s: expected 16 hex digits, got %s", key,
                              text != NULL ? text : "none");
    *value = taut_be_read(bytes, 8);
    return 0;
}

static int take_group(const json_t *request, struct group *g,
                      struct taut_error *err)
{
    const char *mgid = json_string_value(json_object_get(request, "mgid"));
    long mlid, sm_lid, sm_sl;

    if (taut_ib_number(request, "mlid", 0xc000, 0xfffe, 0, &mlid, err) != 0 ||
        taut_ib_number(request, "sm_lid", 1, LIDS_MAX, 0, &sm_lid, err) != 0 ||
        taut_ib_number(request, "sm_sl", 0, 15, 0, &sm_sl, err) != 0 ||
        take_hex(request, "sm_key", &g->sm_key, err) != 0 ||
        take_hex(request, "prefix", &g->prefix, err) != 0)
        return -1;
    g->mlid = (uint16_t)mlid;
    g->sm_lid = (uint16_t)sm_lid;
    g->sm_sl = (uint8_t)sm_sl;
    if (mlid != 0)
        g->mask = UMAD_SA_MCM_COMP_MASK_MLID;
    else if (unhex(mgid, g->mgid, 32))
        g->mask = UMAD_SA_MCM_COMP_MASK_MGID;
    else
        return taut_error_set(err, "expected mlid, or mgid of 32 hex digits");
    if (sm_lid == 0)
        return taut_error_set(err, "sm_lid: there is no subnet manager");
    return 0;
}

/* A record of one port's membership; all-zero port: of the group itself.  One
 * question per port stays below one MAD, and so needs no segmentation. */
static struct taut_mad *new_question(const struct group *g, uint64_t port)
{
    struct taut_mad *mad =
        taut_mad_get(TAUT_MAD_SA, UMAD_SA_ATTR_MCMEMBER_REC, 0);
    struct umad_sa_mcmember_record record = {0};
    uint64_t mask = g->mask;

    if (mad == NULL)
        return NULL;
    memcpy(record.mgid, g->mgid, sizeof(record.mgid));
    taut_be_write((uint8_t *)&record.mlid, 2, g->mlid);
    if (port != 0) {
        taut_be_write(record.portgid, 8, g->prefix);
        taut_be_write(record.portgid + 8, 8, port);
        mask |= UMAD_SA_MCM_COMP_MASK_PORT_GID;
    }
    /* To one who has its key a subnet manager lists members, and a group
     * without any is nothing; to others it tells of the group. */
    if (port != 0)
        taut_be_write(mad->bytes + AT_SM_KEY, 8, g->sm_key);
    taut_be_write(mad->bytes + AT_COMP_MASK, 8, mask);
    memcpy(mad->bytes + TAUT_SA_DATA, &record, sizeof(record));
    taut_mad_to(mad, g->sm_lid, g->sm_sl);
    return mad;
}

struct member {
    uint64_t guid;
    int error, status;
    unsigned join_state;
};

struct question {
    struct taut_mad_peer sa;
    struct member group, *members;
    uint8_t record[sizeof(struct umad_sa_mcmember_record)]; /* the group's */
};

static void on_member(struct taut_mad *mad, int error)
{
    struct member *m = mad->subject;
    const struct umad_sa_mcmember_record *record =
        (const void *)(mad->bytes + TAUT_SA_DATA);
    struct question *q = mad->owner;

    /* One that does not answer must not keep the others from being asked:
     * they all go to the same place. */
    q->sa.unanswered = 0;
    m->error = error;
    m->status = error == EREMOTEIO ? (int)taut_mad_status(mad) : 0;
    if (error != 0)
        return;
    m->join_state = record->scope_state & 0xf;
    if (m == &q->group)
        memcpy(q->record, record, sizeof(q->record));
}

static int ask_member(struct taut_mads *mads, const struct group *g,
                      struct question *q, struct member *m,
                      struct taut_error *err)
{
    struct taut_mad *mad = new_question(g, m->guid);

    if (mad == NULL)
        return taut_error_set(err, "out of memory");
    mad->done = on_member;
    mad->owner = q;
    mad->subject = m;
    taut_mads_ask(mads, &q->sa, mad);
    return 0;
}

static void describe_group(json_t *reply, const struct question *q)
{
    const struct umad_sa_mcmember_record *r = (const void *)q->record;
    char mgid[33];

    for (int i = 0; i < 16; i++) {
        mgid[2 * i] = "0123456789abcdef"[r->mgid[i] >> 4];
        mgid[2 * i + 1] = "0123456789abcdef"[r->mgid[i] & 15];
    }
    mgid[32] = '\0';
    json_object_set_new(reply, "mgid", json_string(mgid));
    add_number(reply, "mlid", taut_be_read((const uint8_t *)&r->mlid, 2));
    add_number(reply, "pkey", taut_be_read((const uint8_t *)&r->pkey, 2));
}

static json_t *describe_member(const struct member *m)
{
    json_t *out = json_object();
    bool absent = m->error == EREMOTEIO && m->status == SA_NO_RECORDS;

    json_object_set_new(out, "guid", taut_ib_guid(m->guid));
    json_object_set_new(out, "member", json_boolean(m->error == 0));
    if (m->error == 0)
        add_number(out, "join_state", m->join_state);
    else if (!absent)
        json_object_set_new(out, "error", taut_ib_why(m->error, m->status));
    return out;
}

static int ask_ports(struct taut_mads *mads, const struct group *g,
                     struct question *q, const json_t *ports,
                     struct taut_error *err)
{
    size_t count = json_array_size(ports);

    q->members = calloc(count + 1, sizeof(*q->members));
    if (q->members == NULL)
        return taut_error_set(err, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(ports, i));
        uint8_t bytes[8] = {0};
        if (!unhex(text, bytes, 16))
            return taut_error_set(err, "ports: expected 16 hex digits, got %s",
                                  text != NULL ? text : "none");
        q->members[i].guid = taut_be_read(bytes, 8);
        if (ask_member(mads, g, q, &q->members[i], err) != 0)
            return -1;
    }
    return 0;
}

static int run_mcast(const json_t *request, struct taut_mads *mads,
                     struct question *q, json_t *reply, struct taut_error *err)
{
    const json_t *ports = json_object_get(request, "ports");
    json_t *list = json_array();
    struct group g = {0};
    int rc = take_group(request, &g, err);

    json_object_set_new(reply, "members", list);
    if (rc != 0 || ask_member(mads, &g, q, &q->group, err) != 0)
        return -1;
    taut_mads_run(mads);
    if (q->group.error == EREMOTEIO && q->group.status == SA_NO_RECORDS)
        return taut_error_set(err, "the subnet manager has no such group");
    if (q->group.error != 0)
        return taut_error_set(err, "the subnet manager at LID %u: %s", g.sm_lid,
                              q->group.error == EREMOTEIO
                                  ? "it refused the question"
                                  : strerror(q->group.error));
    describe_group(reply, q);
    rc = ask_ports(mads, &g, q, ports, err);
    taut_mads_run(mads);
    for (size_t i = 0; rc == 0 && i < json_array_size(ports); i++)
        json_array_append_new(list, describe_member(&q->members[i]));
    return rc;
}

int taut_ib_mcast(const json_t *request, json_t *reply, struct taut_error *err)
{
    struct question q = {.group = {.guid = 0}};
    struct taut_umad *umad = NULL;
    struct taut_mads *mads = NULL;
    int rc = taut_ib_begin(request, &umad, &mads, err);

    if (rc == 0)
        rc = run_mcast(request, mads, &q, reply, err);
    taut_mads_destroy(mads);
    taut_umad_close(umad);
    free(q.members);
    return rc;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric that answers each MAD with whatever comes next in the input: a
 * byte that says how, then the attribute. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "advisor/ib/describe.h"
#include "advisor/ib/fabric.h"
#include "tests/fuzz/fuzz.h"

#define QUEUE 64 /* more than twice what can be under way */

struct input {
    const uint8_t *data;
    size_t n;
    struct {
        uint8_t bytes[TAUT_MAD_BYTES];
        int status;
    } queue[QUEUE];
    unsigned head, tail;
};

static size_t take(struct input *in, uint8_t *out, size_t n)
{
    if (n > in->n)
        n = in->n;
    memcpy(out, in->data, n);
    in->data += n;
    in->n -= n;
    return n;
}

static uint8_t *append(struct input *in, const struct taut_mad *mad, int status)
{
    unsigned at = in->tail++ % QUEUE;

    FUZZ_CHECK(in->tail - in->head <= QUEUE);
    memcpy(in->queue[at].bytes, mad->bytes, TAUT_MAD_BYTES);
    in->queue[at].status = status;
    return in->queue[at].bytes;
}

/* Without input left there are no answers, so that each sweep ends. */
static int send_mad(void *self, const struct taut_mad *mad, unsigned ms)
{
    struct input *in = self;
    uint8_t *bytes, how = 0;

    (void)ms;
    if (take(in, &how, 1) == 0 || how == 0xff) {
        append(in, mad, ETIMEDOUT);
        return 0;
    }
    bytes = append(in, mad, 0);
    bytes[3] |= 0x80;
    if (how & 1) {
        /* Header and all; as nobody may know it, the request is handed back
         * besides. */
        take(in, bytes, TAUT_MAD_BYTES);
        append(in, mad, ETIMEDOUT);
    } else {
        take(in, bytes + TAUT_SMP_DATA, TAUT_SMP_DATA_BYTES);
    }
    return 0;
}

static int receive_mad(void *self, uint8_t *bytes, int *status, unsigned ms)
{
    struct input *in = self;

    (void)ms;
    if (in->head == in->tail)
        return -1;
    memcpy(bytes, in->queue[in->head % QUEUE].bytes, TAUT_MAD_BYTES);
    *status = in->queue[in->head % QUEUE].status;
    in->head++;
    return 1;
}

static void print(const struct taut_ib_fabric *fabric)
{
    static FILE *nowhere;
    unsigned count = 0;

    if (nowhere == NULL)
        nowhere = fopen("/dev/null", "w");
    for (struct taut_ib_node *n = fabric->nodes; n != NULL; n = n->next) {
        taut_ib_print_node(nowhere, n);
        FUZZ_CHECK(taut_ib_node_find(fabric, n->guid) == n);
        FUZZ_CHECK(n->hops <= TAUT_MAD_HOPS);
        for (unsigned i = 0; i <= n->num_ports; i++)
            FUZZ_CHECK(n->ports[i].far == NULL ||
                       n->ports[i].far_port <= n->ports[i].far->num_ports);
        count++;
    }
    FUZZ_CHECK(count == fabric->node_count);
    json_decref(taut_ib_describe_clashes(fabric));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct input in;
    const struct taut_mad_port port = {&in, send_mad, receive_mad};
    const struct taut_mads_options options = {
        .max = 16,
        .per_peer = 4,
        .tries = 1,
        .timeout_ms = 1,
        .time_ns = UINT64_C(100000000),
    };
    struct taut_mads *mads = taut_mads_create(&port, &options);
    struct taut_ib_fabric *fabric = taut_ib_fabric_create();

    FUZZ_CHECK(mads != NULL && fabric != NULL);
    memset(&in, 0, sizeof(in));
    in.data = data;
    in.n = n;
    taut_ib_discover(fabric, mads, 0);
    taut_ib_read_counters(fabric, mads, true);
    print(fabric);
    taut_mads_destroy(mads);
    taut_ib_fabric_destroy(fabric);
    return 0;
}

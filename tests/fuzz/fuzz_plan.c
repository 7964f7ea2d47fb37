/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A PLAN's JSON text, as it comes out of its seal. */
#include <config.h>

#include "plugin/common/plan.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct taut_plan plan;
    struct taut_error err = {""};

    if (taut_plan_parse(&plan, (const char *)data, n, &err) < 0) {
        FUZZ_CHECK(err.text[0] != '\0');
        return 0;
    }
    FUZZ_CHECK(plan.count <= TAUT_PLAN_TESTS);
    for (size_t i = 0; i < plan.count; i++) {
        FUZZ_CHECK(plan.tests[i].streams >= 1);
        FUZZ_CHECK(plan.tests[i].streams <= TAUT_PLAN_STREAMS);
        FUZZ_CHECK(plan.tests[i].dur_ms >= 5);
        FUZZ_CHECK(plan.tests[i].rail >= 0);
        FUZZ_CHECK(plan.tests[i].rail < TAUT_PLAN_RAILS);
        FUZZ_CHECK(plan.tests[i].mode != TAUT_MODE_NONE);
        FUZZ_CHECK(plan.tests[i].mode != TAUT_MODE_LATENCY ||
                   plan.tests[i].streams == 1);
        FUZZ_CHECK(*taut_transport_name(plan.tests[i].transport));
        FUZZ_CHECK(plan.tests[i].role == TAUT_ROLE_RECV || *plan.tests[i].peer);
    }
    return 0;
}

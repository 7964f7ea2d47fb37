/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/state.h"

#define NODE_NAME_MAX 255

const char *taut_node_base(uint32_t state)
{
    static const char *const names[] = {
        [NODE_STATE_UNKNOWN] = "unknown", [NODE_STATE_DOWN] = "down",
        [NODE_STATE_IDLE] = "idle",       [NODE_STATE_ALLOCATED] = "allocated",
        [NODE_STATE_ERROR] = "error",     [NODE_STATE_MIXED] = "mixed",
        [NODE_STATE_FUTURE] = "future",
    };
    uint32_t base = state & NODE_STATE_BASE;

    if (base >= sizeof(names) / sizeof(names[0]))
        return "unknown";
    return names[base];
}

void taut_node_format(char *out, size_t size, uint32_t state)
{
    snprintf(out, size, "%s%s%s%s", taut_node_base(state),
             state & NODE_STATE_DRAIN ? "+drain" : "",
             state & NODE_STATE_FAIL ? "+fail" : "",
             state & NODE_STATE_MAINT ? "+maint" : "");
}

bool taut_reason_is_ours(const char *reason)
{
    return reason != NULL &&
           strncmp(reason, TAUT_REASON_PREFIX, strlen(TAUT_REASON_PREFIX)) == 0;
}

int taut_reason_check(const char *reason, struct taut_error *err)
{
    size_t n = reason != NULL ? strlen(reason) : 0;

    errno = EINVAL;
    if (!taut_reason_is_ours(reason))
        return taut_error_set(err, "reason does not begin with '%s'",
                              TAUT_REASON_PREFIX);
    if (n > TAUT_REASON_MAX)
        return taut_error_set(err, "reason of %zu bytes is longer than %d", n,
                              TAUT_REASON_MAX);
    for (size_t i = 0; i < n; i++)
        if (reason[i] < ' ' || reason[i] > '~' || reason[i] == '|')
            return taut_error_set(err, "reason has byte 0x%02x at %zu",
                                  (unsigned char)reason[i], i + 1);
    errno = 0;
    return 0;
}

int taut_node_name_check(const char *name, struct taut_error *err)
{
    size_t n = name != NULL ? strlen(name) : 0;

    errno = EINVAL;
    if (n == 0 || n > NODE_NAME_MAX)
        return taut_error_set(err, "a node's name has 1 to %d bytes, not %zu",
                              NODE_NAME_MAX, n);
    if (strcspn(name, "[], \t\r\n|=\"'") != n)
        return taut_error_set(err, "'%s' is not the name of one node", name);
    errno = 0;
    return 0;
}

/* Before Slurm 20.11 one flag stood for both, and others for power. */
#ifdef NODE_STATE_REBOOT_ISSUED
#define REBOOTING (NODE_STATE_REBOOT_REQUESTED | NODE_STATE_REBOOT_ISSUED)
#else
#define REBOOTING NODE_STATE_REBOOT
#endif

#ifdef NODE_STATE_POWER_DRAIN
#define POWER_DRAIN NODE_STATE_POWER_DRAIN
#else
#define POWER_DRAIN 0
#endif

#ifdef NODE_STATE_POWERED_DOWN
#define OFF                                                                    \
    (NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_DOWN |                      \
     NODE_STATE_POWER_DOWN | NODE_STATE_POWERING_UP | NODE_STATE_POWER_UP |    \
     POWER_DRAIN)
#else
#define OFF (NODE_STATE_POWER_SAVE | NODE_STATE_POWER_UP)
#endif

bool taut_node_is_rebooting(uint32_t state)
{
    return (state & REBOOTING) != 0;
}

bool taut_node_is_off(uint32_t state)
{
    return (state & OFF) != 0;
}

const char *taut_node_bar(uint32_t state)
{
    if (state & NODE_STATE_FAIL)
        return "failing";
    if (state & NODE_STATE_NO_RESPOND)
        return "not responding";
#ifdef NODE_STATE_INVALID_REG /* by 22.05 */
    if (state & NODE_STATE_INVALID_REG)
        return "registered with other than slurm.conf has";
#endif
#ifdef NODE_STATE_BLOCKED /* by 24.11 */
    if (state & NODE_STATE_BLOCKED)
        return "blocked by a job that has its part of the topology alone";
#endif
#ifdef NODE_STATE_EXTERNAL /* by 25.11 */
    if (state & NODE_STATE_EXTERNAL)
        return "external, without slurmd";
#endif
    return NULL;
}

static bool is_down(uint32_t state)
{
    return (state & NODE_STATE_BASE) == NODE_STATE_DOWN;
}

const char *taut_drain_refusal(uint32_t state, const char *reason)
{
    if (state & NODE_STATE_MAINT)
        return "in a MAINT reservation";
    if (state & NODE_STATE_DRAIN)
        return taut_reason_is_ours(reason) ? NULL : "drained already";
    if (state & NODE_STATE_FAIL)
        return "failing already";
    if (is_down(state))
        return "down already";
    return NULL;
}

const char *taut_resume_refusal(uint32_t state, const char *reason)
{
    if (!(state & NODE_STATE_DRAIN))
        return "not drained";
    if (!taut_reason_is_ours(reason))
        return "drained by somebody else";
    if (is_down(state))
        return "down";
    return NULL;
}

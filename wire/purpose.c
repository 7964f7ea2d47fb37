/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of the purposes. */
#include <config.h>

#include <string.h>

#include "wire/protocol.h"

bool taut_purpose_is_survey(enum taut_purpose purpose)
{
    return purpose == TAUT_PURPOSE_AUDIT || purpose == TAUT_PURPOSE_MATRIX;
}

const char *taut_purpose_name(enum taut_purpose purpose)
{
    switch (purpose) {
    case TAUT_PURPOSE_PROLOG:
        return "prolog";
    case TAUT_PURPOSE_EPILOG:
        return "epilog";
    case TAUT_PURPOSE_IDLE:
        return "idle";
    case TAUT_PURPOSE_AUDIT:
        return "audit";
    case TAUT_PURPOSE_MATRIX:
        return "matrix";
    case TAUT_PURPOSE_NONE:
        break;
    }
    return "none";
}

enum taut_purpose taut_purpose_parse(const char *name)
{
    for (int i = TAUT_PURPOSE_NONE + 1; i <= TAUT_PURPOSE_LAST; i++) {
        if (strcmp(name, taut_purpose_name(i)) == 0)
            return i;
    }
    return TAUT_PURPOSE_NONE;
}

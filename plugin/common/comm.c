/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "plugin/common/comm.h"
#include "plugin/common/text.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-"

static int refuse(const char *value, struct taut_error *err)
{
    struct taut_error shown;

    taut_error_set(&shown, "%.40s", value != NULL ? value : "");
    taut_text_clean(shown.text);
    taut_error_set(err,
                   "--comm=%s: expected a pattern such as halo3d or "
                   "halo3d:bytes=1M,compute=0.3, at most %d bytes",
                   shown.text, TAUT_COMM_MAX);
    errno = EINVAL;
    return -1;
}

int taut_comm_check(const char *value, struct taut_error *err)
{
    size_t name;

    if (value == NULL || strlen(value) > TAUT_COMM_MAX)
        return refuse(value, err);
    name = strspn(value, NAME_CHARS);
    if (!name || value[0] == '-' || (value[name] && value[name] != ':'))
        return refuse(value, err);
    if (value[name] &&
        !taut_text_is_made_of(value + name + 1, "=,.+-_/:", TAUT_COMM_MAX))
        return refuse(value, err);
    return 0;
}

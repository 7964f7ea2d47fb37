/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Error text that names the value and the limit that failed. */
#include <config.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "wire/error.h"

int taut_error_set(struct taut_error *err, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;

    if (err == NULL)
        return -1;
    va_start(ap, fmt);
    if (vsnprintf(err->text, sizeof(err->text), fmt, ap) < 0)
        err->text[0] = '\0';
    va_end(ap);
    errno = saved;
    return -1;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A MUNGE credential of whoever runs this program, for one other user. */
#ifndef TAUT_ADVISOR_LIB_OS_MUNGE_SIGN_H
#define TAUT_ADVISOR_LIB_OS_MUNGE_SIGN_H

#include <stddef.h>
#include <sys/types.h>

#include "wire/error.h"

/* Make a credential around 'n' bytes that 'uid' alone can open.
 *   socket  of munged; NULL is libmunge's own
 * Blocks up to about 10 s where munged hangs.
 * Returns it as a text, to free(), or NULL with 'err'. */
char *taut_munge_sign(const void *bytes, size_t n, uid_t uid,
                      const char *socket, struct taut_error *err);

#endif

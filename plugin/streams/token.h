/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the receiver of a stream answers to its token, so that the sender knows
 * that a receiver is there and not somebody else's service: nothing of the test
 * is sent before. */
#ifndef TAUT_PLUGIN_STREAMS_TOKEN_H
#define TAUT_PLUGIN_STREAMS_TOKEN_H

#include "wire/protocol.h"

/* The answer to a token.  A service that sends back what it gets does not give
 * it.
 *   answer  TAUT_TOKEN bytes, the caller's
 *   token   TAUT_TOKEN bytes of the plan */
static inline void taut_token_answer(unsigned char *answer,
                                     const unsigned char *token)
{
    for (int i = 0; i < TAUT_TOKEN; i++)
        answer[i] = (unsigned char)~token[i];
}

#endif

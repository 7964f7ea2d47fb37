/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A REPORT's text, as it comes out of its seal: what is taken is one line that
 * the program which reads it can read again. */
#include <config.h>

#include <string.h>

#include "plugin/probe/survey.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);

    FUZZ_CHECK(text != NULL);
    memcpy(text, data, n);
    text[n] = '\0';
    if (taut_survey_is_report(text, n)) {
        FUZZ_CHECK(strlen(text) == n);
        FUZZ_CHECK(strchr(text, '\n') == NULL);
        FUZZ_CHECK(strchr(text, '{') != NULL && strrchr(text, '}') != NULL);
    }
    free(text);
    return 0;
}

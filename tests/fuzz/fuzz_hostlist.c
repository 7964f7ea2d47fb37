/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host list: what is taken must be sound, and survive the way there and
 * back. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "wire/hostlist.h"

#define MOST 512 /* names; each is looked for among all: keeps one input short */

static bool holds(const struct taut_hostlist *list, const char *name)
{
    for (size_t i = 0; i < taut_hostlist_count(list); i++)
        if (strcmp(taut_hostlist_name(list, i), name) == 0)
            return true;
    return false;
}

/* All names of 'list' are in 'other'. */
static void check_within(const struct taut_hostlist *list,
                         const struct taut_hostlist *other)
{
    for (size_t i = 0; i < taut_hostlist_count(list); i++)
        FUZZ_CHECK(holds(other, taut_hostlist_name(list, i)));
}

static void check_names(const struct taut_hostlist *list)
{
    size_t n = taut_hostlist_count(list);

    FUZZ_CHECK(n <= MOST);
    FUZZ_CHECK(taut_hostlist_name(list, n) == NULL);
    for (size_t i = 0; i < n; i++) {
        const char *name = taut_hostlist_name(list, i);
        FUZZ_CHECK(taut_hostname_is_valid(name));
    }
}

static void check_format(const struct taut_hostlist *list)
{
    const char *names[MOST];
    size_t n = taut_hostlist_count(list);

    for (size_t i = 0; i < n; i++)
        names[i] = taut_hostlist_name(list, i);
    char *text = taut_hostlist_format(names, n);
    FUZZ_CHECK(text != NULL);
    struct taut_hostlist *back = taut_hostlist_parse(text, MOST, NULL);
    FUZZ_CHECK(back != NULL);
    check_within(list, back);
    check_within(back, list);

    /* Sorted and each once: a second time nothing changes. */
    n = taut_hostlist_count(back);
    for (size_t i = 0; i < n; i++)
        names[i] = taut_hostlist_name(back, i);
    char *again = taut_hostlist_format(names, n);
    FUZZ_CHECK(again != NULL && strcmp(text, again) == 0);
    free(again);
    taut_hostlist_destroy(back);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct taut_error err = {""};
    char *text = malloc(n + 1);

    FUZZ_CHECK(text != NULL);
    if (n > 0)
        memcpy(text, data, n);
    text[n] = '\0';
    errno = 0;
    struct taut_hostlist *list = taut_hostlist_parse(text, MOST, &err);
    if (list != NULL) {
        check_names(list);
        check_format(list);
    } else {
        FUZZ_CHECK(errno == EINVAL || errno == E2BIG);
        FUZZ_CHECK(err.text[0] != '\0');
        for (const char *c = err.text; *c; c++)
            FUZZ_CHECK(*c >= ' ' && *c < 0x7f); /* it goes into a log */
    }
    taut_hostlist_destroy(list);
    free(text);
    return 0;
}

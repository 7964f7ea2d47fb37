/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of counters, of all forms: the first byte says which. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "plugin/counters/file.h"
#include "plugin/counters/ib_find.h"
#include "tests/fuzz/fuzz.h"

static struct taut_counters c;

static void check_text(const char *text)
{
    size_t n = strnlen(text, TAUT_COUNTER_TEXT);

    FUZZ_CHECK(n < TAUT_COUNTER_TEXT);
}

/* It goes into a log, and into a message. */
static void check_reading(void)
{
    FUZZ_CHECK(c.count <= TAUT_COUNTER_MAX);
    FUZZ_CHECK(strlen(c.why) < sizeof(c.why));
    for (const char *p = c.why; *p; p++)
        FUZZ_CHECK(*p >= ' ' && *p < 0x7f);
    for (size_t i = 0; i < c.count; i++) {
        FUZZ_CHECK(c.list[i].value >= 0);
        FUZZ_CHECK(strnlen(c.list[i].name, TAUT_COUNTER_NAME) <
                   TAUT_COUNTER_NAME);
    }
}

/* What is refused has an errno; what is taken is not negative. */
static void check_number(int rc, int64_t value)
{
    FUZZ_CHECK(rc == 0 || errno == EINVAL || errno == ERANGE);
    FUZZ_CHECK(rc == 0 ? value >= 0 : value == -1);
}

static int try_rate(const char *text, int64_t *value)
{
    char width[TAUT_COUNTER_TEXT] = "", speed[TAUT_COUNTER_TEXT] = "";
    int rc = taut_counters_parse_rate(text, value, width, speed);

    check_text(width);
    check_text(speed);
    taut_counters_put_text(&c, "width", width);
    return rc;
}

/* A hardware address, or a GID: what is taken is a GUID. */
static int try_guid(int (*parse)(const char *, char[TAUT_IB_GUID]),
                    const char *text, int64_t *value)
{
    char guid[TAUT_IB_GUID] = "";

    if (parse(text, guid) == 0)
        FUZZ_CHECK(strlen(guid) == TAUT_IB_GUID - 1 &&
                   strspn(guid + 2, "0123456789abcdef") == 16 &&
                   strncmp(guid, "0x", 2) == 0);
    else
        FUZZ_CHECK(guid[0] == '\0');
    *value = 0;
    return 0;
}

static int try_form(char how, char *text, int64_t *value)
{
    int64_t t_ns = -1;
    int rc;

    switch (how) {
    case 'n':
        return taut_counters_parse(text, value);
    case 's':
        rc = taut_counters_parse_stamped(text, value, &t_ns);
        FUZZ_CHECK(t_ns >= -1);
        return rc;
    case 't':
        return taut_counters_parse_transfers(text, value);
    case 'r':
        return try_rate(text, value);
    case 'a':
        return try_guid(taut_ib_parse_address, text, value);
    case 'g':
        return try_guid(taut_ib_parse_gid, text, value);
    case 'k':
        return taut_counters_parse_keyed(text, "TOTAL_ERR_COR", value);
    default:
        taut_counters_parse_gpcdr(&c, "links/metrics", text);
        FUZZ_CHECK(c.t_ns >= -1);
        *value = 0;
        return 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    int64_t value = -1;
    char *text;
    int rc;

    if (n == 0)
        return 0;
    text = malloc(n);
    FUZZ_CHECK(text != NULL);
    memcpy(text, data + 1, n - 1);
    text[n - 1] = '\0';
    memset(&c, 0, sizeof(c));
    c.t_ns = -1;
    taut_counters_note(&c, "file", "what it is", text);
    taut_counters_put(&c, text, 1);
    taut_counters_put_text(&c, "state", text);
    errno = 0;
    rc = try_form((char)data[0], text, &value);
    check_number(rc, value);
    check_reading();
    for (size_t i = 0; i < c.text_count; i++)
        check_text(c.texts[i].value);
    free(text);
    return 0;
}

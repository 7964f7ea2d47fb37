/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/common/clock.h"
#include "plugin/counters/counters.h"

const struct taut_counter_source *const
    taut_counter_sources[TAUT_COUNTER_SOURCES] = {
        &taut_counters_netdev, &taut_counters_ib,   &taut_counters_cxi,
        &taut_counters_gpcdr,  &taut_counters_pcie,
};

/* Not the lists: they are large, and the counts say what is in them. */
static void clear(struct taut_counters *c,
                  const struct taut_counter_source *source,
                  const char *interface)
{
    memset(c, 0, offsetof(struct taut_counters, texts));
    c->source = source->name;
    c->t_ns = -1;
    snprintf(c->interface, IFNAMSIZ, "%s", interface);
}

/* Several names can mean one device, and several devices one link. */
static bool take_from_earlier(struct taut_counters *sets, size_t i)
{
    char interface[IFNAMSIZ];

    for (size_t k = 0; k < i; k++) {
        if (strcmp(sets[k].place, sets[i].place) != 0)
            continue;
        memcpy(interface, sets[i].interface, IFNAMSIZ);
        sets[i] = sets[k];
        sets[i].opens = sets[i].reads = sets[i].bad = 0;
        memcpy(sets[i].interface, interface, IFNAMSIZ);
        return true;
    }
    return false;
}

void taut_counters_read(const struct taut_counter_source *source,
                        struct taut_counters *sets, size_t i, int root_fd,
                        const char *interface)
{
    clear(&sets[i], source, interface);
    if (source->is_nodes && i > 0)
        return;
    if (source->find(&sets[i], root_fd) == 0 && !take_from_earlier(sets, i))
        source->read(&sets[i], root_fd);
}

/* ---- as HELLO and RESULT have them ---- */

/* A text without what would end it: blanks too, where it is a name. */
static void put_clean(FILE *out, const char *text, char first)
{
    for (const char *p = text; *p; p++)
        putc(*p < first || *p > '~' || *p == '\'' ? '?' : *p, out);
}

static void put_line(FILE *out, const struct taut_counters *c)
{
    fprintf(out, "%s ", c->source);
    put_clean(out, c->interface, '!');
    for (size_t i = 0; i < c->count; i++)
        fprintf(out, " %s=%" PRId64, c->list[i].name, c->list[i].value);
    for (size_t i = 0; i < c->text_count; i++) {
        fprintf(out, " %s='", c->texts[i].name);
        put_clean(out, c->texts[i].value, ' ');
        putc('\'', out);
    }
    if (c->t_ns >= 0)
        fprintf(out, " t=%" PRId64 ".%09" PRId64, c->t_ns / TAUT_S_NS,
                c->t_ns % TAUT_S_NS);
}

char *taut_readings_text(const struct taut_readings *readings)
{
    char *text = NULL;
    size_t length, numbers = 0;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return NULL;
    for (size_t i = 0; i < readings->count; i++) {
        numbers += readings->list[i]->count;
        if (numbers > TAUT_READINGS_NUMBERS)
            break;
        if (i > 0)
            putc('\n', out);
        put_line(out, readings->list[i]);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

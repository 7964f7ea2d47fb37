/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdio.h>
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

static json_t *to_json(const struct taut_counters *c)
{
    json_t *object = json_object();

    json_object_set_new(object, "if", json_string(c->interface));
    json_object_set_new(object, "source", json_string(c->source));
    for (size_t i = 0; i < c->count; i++)
        json_object_set_new(object, c->list[i].name,
                            json_integer(c->list[i].value));
    for (size_t i = 0; i < c->text_count; i++)
        json_object_set_new(object, c->texts[i].name,
                            json_string(c->texts[i].value));
    if (c->t_ns >= 0)
        json_object_set_new(object, "t",
                            json_real((double)c->t_ns / (double)TAUT_S_NS));
    return object;
}

json_t *taut_readings_to_json(const struct taut_readings *readings)
{
    json_t *array = json_array();
    size_t numbers = 0;

    for (size_t i = 0; i < readings->count; i++) {
        const struct taut_counters *c = readings->list[i];

        numbers += c->count;
        if (numbers > TAUT_READINGS_NUMBERS)
            break;
        json_array_append_new(array, to_json(c));
    }
    return array;
}

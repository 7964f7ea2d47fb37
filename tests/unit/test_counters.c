/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters and the gauge, on a recorded /sys. */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/counters.h"
#include "plugin/gauge.h"
#include "tests/unit/unit.h"

static char dir[32];
static int root;

static void put(const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/sys/class/net/hsn0/%s", dir, name);
    unit_write(path, text);
}

static void setup(void)
{
    char command[128];

    unit_dir(dir);
    snprintf(command, sizeof command,
             "mkdir -p %s/sys/class/net/hsn0/statistics", dir);
    ck_assert_int_eq(system(command), 0);
    root = open(dir, O_PATH | O_DIRECTORY);
    put("statistics/rx_bytes", "1000\n");
    put("statistics/tx_bytes", "18446744073709551615\n");
    put("statistics/rx_errors", "lots\n");
    put("carrier_changes", "3\n");
    put("speed", "-1\n");
}

static void teardown(void)
{
    close(root);
    unit_remove(dir);
}

static int64_t value_of(const struct taut_counters *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++) {
        if (!strcmp(c->list[i].name, name))
            return c->list[i].value;
    }
    return -1;
}

START_TEST(what_cannot_be_read_is_left_out)
{
    struct taut_counters c;

    taut_counters_netdev.read(&c, root, "hsn0");
    ck_assert_str_eq(c.interface, "hsn0");
    ck_assert_uint_eq(c.count, 2);
    ck_assert_int_eq(value_of(&c, "rx_bytes"), 1000);
    ck_assert_int_eq(value_of(&c, "carrier_changes"), 3);
    taut_counters_netdev.read(&c, root, "nothing");
    ck_assert_uint_eq(c.count, 0);
}
END_TEST

START_TEST(a_label_belongs_to_its_device)
{
    struct taut_counters c;

    taut_counters_netdev.read(&c, root, "hsn0:1");
    ck_assert_int_eq(value_of(&c, "rx_bytes"), 1000);
}
END_TEST

START_TEST(own_traffic_is_not_foreign)
{
    struct taut_gauge_mark a = {.delay_ns = 10}, b = {.delay_ns = 25};

    b.port_rx = 1046000;
    b.own_rx = 1000000;
    b.port_tx = 23000;
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0), 0);
    ck_assert_int_eq(taut_gauge_delay(&a, &b), 15);
    b.port_tx += 500000;
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0), 473000);
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 473000), 0);
}
END_TEST

START_TEST(foreign_in_one_direction_is_not_hidden_by_the_other)
{
    struct taut_gauge_mark a = {0}, b = {0};

    b.own_rx = 10000000;
    b.port_rx = 1000;
    b.port_tx = 600000;
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0), 100000);
}
END_TEST

START_TEST(without_counters_nothing_is_known)
{
    struct taut_gauge gauge;
    struct taut_gauge_mark a, b;

    taut_gauge_open(&gauge, &taut_counters_netdev, root, "nothing");
    taut_gauge_mark(&gauge, &a, 0, 0);
    taut_gauge_mark(&gauge, &b, 0, 0);
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0), -1);
    taut_gauge_close(&gauge);
    taut_gauge_mark(&gauge, &b, 0, 0);
    ck_assert_int_eq(taut_gauge_delay(&a, &b), -1);
}
END_TEST

START_TEST(the_gauge_follows_the_files)
{
    struct taut_gauge gauge;
    struct taut_gauge_mark a, b;

    put("statistics/tx_bytes", "0\n");
    taut_gauge_open(&gauge, &taut_counters_netdev, root, "hsn0");
    taut_gauge_mark(&gauge, &a, 0, 0);
    put("statistics/rx_bytes", "5000\n");
    taut_gauge_mark(&gauge, &b, 0, 0);
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0), 4000);
    taut_gauge_close(&gauge);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("counters");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_cannot_be_read_is_left_out);
    tcase_add_test(tc, a_label_belongs_to_its_device);
    tcase_add_test(tc, own_traffic_is_not_foreign);
    tcase_add_test(tc, foreign_in_one_direction_is_not_hidden_by_the_other);
    tcase_add_test(tc, without_counters_nothing_is_known);
    tcase_add_test(tc, the_gauge_follows_the_files);
    return unit_run("counters", tc);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interfaces and processors: found in a recorded tree, opened on loopback. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/probe/locality.h"
#include "plugin/probe/rails.h"
#include "tests/unit/unit.h"

static struct taut_rails rails;
static struct taut_address server;
static char dir[32];
static int root_fd;

/* dir/sys/class/net/NAME, the way the kernel shows a card. */
static void make_interface(const char *name, const char *carrier,
                           const char *speed)
{
    char command[400];

    snprintf(command, sizeof(command),
             "d='%s/sys/class/net/%s'; mkdir -p $d/device && "
             "echo %s >$d/carrier && echo %s >$d/speed",
             dir, name, carrier, speed);
    ck_assert_int_eq(system(command), 0);
}

static void setup(void)
{
    unit_dir(dir);
    root_fd = open(dir, O_PATH | O_DIRECTORY);
    ck_assert_int_ge(root_fd, 0);
    taut_rails_init(&rails);
    ck_assert_int_eq(taut_address_parse(&server, "127.0.0.1:1", NULL), 0);
}

static void teardown(void)
{
    taut_rails_fini(&rails);
    close(root_fd);
    unit_remove(dir);
}

static int find(const char *interfaces, struct taut_error *err)
{
    return taut_rails_find(&rails, interfaces, &server, root_fd, err);
}

START_TEST(by_route_when_nothing_is_said)
{
    ck_assert_int_eq(find("", NULL), 0);
    ck_assert_uint_eq(rails.count, 1);
    ck_assert_str_eq(rails.list[0].interface, "lo");
}
END_TEST

START_TEST(an_unusable_one_of_several_keeps_its_place)
{
    ck_assert_int_eq(find("nosuchif,lo,lo", NULL), 0);
    ck_assert_uint_eq(rails.count, 3);
    ck_assert_uint_eq(rails.list[0].local.length, 0);
    ck_assert_msg(strstr(rails.list[0].why.text, "nosuchif"), "%s",
                  rails.list[0].why.text);
    ck_assert_uint_gt(rails.list[1].local.length, 0);
    ck_assert_int_eq(
        taut_rails_open(&rails, TAUT_TRANSPORT_TCP, NULL, NULL), 0);
    ck_assert_uint_eq(rails.endpoint_count, 2);
    ck_assert_int_eq(rails.endpoints[0].rail, 1);
    ck_assert_str_eq(rails.endpoints[0].interface, "lo");
    ck_assert_str_ne(rails.endpoints[0].name, rails.endpoints[1].name);
    ck_assert_str_eq(taut_rails_first(&rails), "");
}
END_TEST

/* Past bug: one rail that did not open left the node without any. */
START_TEST(a_rail_that_does_not_open_leaves_the_others)
{
    struct taut_address *first = &rails.list[0].local;

    ck_assert_int_eq(find("lo,lo", NULL), 0);
    ck_assert_int_eq(taut_address_parse(first, "192.0.2.1:1", NULL), 0);
    taut_address_set_port(first, 0);
    ck_assert_int_eq(
        taut_rails_open(&rails, TAUT_TRANSPORT_TCP, NULL, NULL), 0);
    ck_assert_uint_eq(rails.endpoint_count, 1);
    ck_assert_int_eq(rails.endpoints[0].rail, 1);
    ck_assert_str_ne(rails.list[0].why.text, "");
    ck_assert_str_eq(rails.list[1].why.text, "");
}
END_TEST

START_TEST(rails_of_which_none_opens_are_an_error)
{
    struct taut_error why = {""};

    ck_assert_int_eq(find("lo", NULL), 0);
    ck_assert_int_eq(
        taut_address_parse(&rails.list[0].local, "192.0.2.1:1", NULL), 0);
    ck_assert_int_eq(
        taut_rails_open(&rails, TAUT_TRANSPORT_TCP, NULL, &why), -1);
    ck_assert_int_eq(errno, EADDRNOTAVAIL);
    ck_assert_msg(strstr(why.text, "interface lo: cannot listen"), "%s",
                  why.text);
}
END_TEST

START_TEST(none_that_can_be_used_is_an_error)
{
    struct taut_error err = {""};

    ck_assert_int_eq(find("nosuchif,nosuchif2", &err), -1);
    ck_assert_int_eq(errno, EADDRNOTAVAIL);
    ck_assert_msg(strstr(err.text, "nosuchif has no usable"), "%s", err.text);
}
END_TEST

/* lo stands for a card here: it has an address. */
START_TEST(auto_takes_the_fastest_that_are_up_and_have_an_address)
{
    make_interface("eth0", "1", "1000");
    make_interface("lo", "1", "200000");
    make_interface("hsn1", "1", "200000"); /* without an address */
    make_interface("hsn2", "0", "400000"); /* without a cable */
    ck_assert_int_eq(find("auto", NULL), 0);
    ck_assert_uint_eq(rails.count, 1);
    ck_assert_str_eq(rails.list[0].interface, "lo");
}
END_TEST

/* dir/sys/class/net/NAME above LOWER. */
static void put_above(const char *name, const char *lower)
{
    char command[400];

    snprintf(command, sizeof(command),
             "d='%s/sys/class/net/%s'; mkdir -p $d && ln -s ../%s $d/lower_%s",
             dir, name, lower, lower);
    ck_assert_int_eq(system(command), 0);
}

/* Past bug: the members of a bond have no address, so the management network was
 * taken for the fabric.  lo stands for what is above. */
START_TEST(auto_takes_what_is_above_the_fastest)
{
    make_interface("eth0", "1", "1000");
    make_interface("ens1f0", "1", "100000");
    make_interface("ens1f1", "1", "100000");
    put_above("lo", "bond0"); /* a VLAN on a bond */
    put_above("bond0", "ens1f0");
    put_above("bond0", "ens1f1");
    put_above("eth0.5", "eth0");
    ck_assert_int_eq(find("auto", NULL), 0);
    ck_assert_uint_eq(rails.count, 1);
    ck_assert_str_eq(rails.list[0].interface, "lo");
}
END_TEST

START_TEST(auto_takes_no_slower_network_instead)
{
    struct taut_error err = {""};

    make_interface("lo", "1", "1000"); /* has an address */
    make_interface("ens1f0", "1", "100000");
    make_interface("ens1f1", "1", "100000");
    put_above("bond0", "ens1f0");
    put_above("bond0", "bond0"); /* round in a circle */
    ck_assert_int_eq(find("auto", &err), -1);
    ck_assert_int_eq(errno, EADDRNOTAVAIL);
    ck_assert_msg(strstr(err.text, "(100000 Mbit/s): ens1f0 ens1f1, and"), "%s",
                  err.text);
}
END_TEST

/* dir/sys/class/net/lo/FILE, or another file. */
static void put(const char *path, const char *text)
{
    char command[600];

    snprintf(command, sizeof(command),
             "f='%s/sys/class/%s'; mkdir -p ${f%%/*} && echo '%s' >$f", dir, path,
             text);
    ck_assert_int_eq(system(command), 0);
}

/* What HELLO says of the GUID of lo, which stands for a card. */
static const char *told(void)
{
    static char guid[32];
    json_t *list;

    taut_rails_close(&rails);
    ck_assert_int_eq(find("lo", NULL), 0);
    list = taut_rails_endpoints_to_json(&rails);
    ck_assert_uint_eq(json_array_size(list), 1);
    const char *text =
        json_string_value(json_object_get(json_array_get(list, 0), "guid"));
    snprintf(guid, sizeof(guid), "%s", text != NULL ? text : "none");
    json_decref(list);
    return guid;
}

START_TEST(the_guid_of_a_port_is_in_the_address_of_ipoib)
{
    put("net/lo/address", "00:00:10:86:fe:80:00:00:00:00:00:00:00:02:C9:03:"
                          "00:0e:0b:73");
    ck_assert_str_eq(told(), "0x0002c903000e0b73");
    put("net/lo/address", "98:03:9b:9f:5c:d0"); /* Ethernet */
    ck_assert_str_eq(told(), "none");
    put("net/lo/address", "00:00:10:86:fe:80:00:00:00:00:00:00:00:00:00:00:"
                          "00:00:00:00");
    ck_assert_str_eq(told(), "none");
    put("net/lo/address", "nonsense");
    ck_assert_str_eq(told(), "none");
}
END_TEST

START_TEST(else_it_is_in_the_first_gid_of_its_port)
{
    put("net/lo/address", "98:03:9b:9f:5c:d0");
    put("net/lo/device/infiniband/hfi1_0/x", "");
    put("infiniband/hfi1_0/ports/1/link_layer", "InfiniBand");
    put("infiniband/hfi1_0/ports/1/gids/0",
        "fe80:0000:0000:0000:0011:7501:0166:aa01");
    ck_assert_str_eq(told(), "0x001175010166aa01");
    put("infiniband/hfi1_0/ports/1/gids/0", "fe80::1");
    ck_assert_str_eq(told(), "none");
    /* RoCE's GIDs are made of addresses */
    put("infiniband/hfi1_0/ports/1/gids/0",
        "fe80:0000:0000:0000:9a03:9bff:fe9f:5cd0");
    put("infiniband/hfi1_0/ports/1/link_layer", "Ethernet");
    ck_assert_str_eq(told(), "none");
}
END_TEST

START_TEST(auto_without_hardware_goes_by_route)
{
    ck_assert_int_eq(find("auto", NULL), 0);
    ck_assert_uint_eq(rails.count, 1);
    ck_assert_str_eq(rails.list[0].interface, "lo");
}
END_TEST

static const struct {
    const char *text, *again; /* NULL: refused */
} lists[] = {
    {"0", "0"},
    {"0-3", "0-3"},
    {"0-3,8,10-11", "0-3,8,10-11"},
    {"1,0", "0-1"},
    {"7\n", "7"},
    {"", ""},
    {"0-", NULL},
    {"3-1", NULL},
    {"a", NULL},
    {"0-1024", NULL},
    {"0 1", NULL},
    {"-1", NULL},
    {"99999999999999999999", NULL},
};

START_TEST(lists_of_processors)
{
    char text[TAUT_LOCALITY_TEXT];
    cpu_set_t set;
    int rc = taut_locality_parse(&set, lists[_i].text);

    ck_assert_int_eq(rc, lists[_i].again ? 0 : -1);
    if (rc < 0)
        return;
    taut_locality_format(&set, text, sizeof(text));
    ck_assert_str_eq(text, lists[_i].again);
}
END_TEST

START_TEST(a_long_list_is_cut)
{
    char text[40];
    cpu_set_t set;

    CPU_ZERO(&set);
    for (size_t i = 0; i < CPU_SETSIZE; i += 2)
        CPU_SET(i, &set);
    taut_locality_format(&set, text, sizeof(text));
    ck_assert_uint_lt(strlen(text), sizeof(text));
}
END_TEST

/* Nothing is loaded where every processor is as near as the others. */
START_TEST(without_a_difference_nothing_is_bound)
{
    struct taut_locality l = {0};
    const char *names[] = {"hsn0"};
    char text[TAUT_LOCALITY_TEXT];

    taut_locality_ask(&l, names, 1, root_fd, dir, "/nonexistent");
    taut_locality_begin(&l);
    ck_assert_ptr_null(l.search);
    ck_assert_int_eq(taut_locality_bind(&l, text), 0);
    ck_assert_str_eq(text, "");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("rails");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, by_route_when_nothing_is_said);
    tcase_add_test(tc, an_unusable_one_of_several_keeps_its_place);
    tcase_add_test(tc, a_rail_that_does_not_open_leaves_the_others);
    tcase_add_test(tc, rails_of_which_none_opens_are_an_error);
    tcase_add_test(tc, none_that_can_be_used_is_an_error);
    tcase_add_test(tc, auto_takes_the_fastest_that_are_up_and_have_an_address);
    tcase_add_test(tc, the_guid_of_a_port_is_in_the_address_of_ipoib);
    tcase_add_test(tc, else_it_is_in_the_first_gid_of_its_port);
    tcase_add_test(tc, auto_without_hardware_goes_by_route);
    tcase_add_test(tc, auto_takes_what_is_above_the_fastest);
    tcase_add_test(tc, auto_takes_no_slower_network_instead);
    tcase_add_loop_test(tc, lists_of_processors, 0,
                        sizeof(lists) / sizeof(*lists));
    tcase_add_test(tc, a_long_list_is_cut);
    tcase_add_test(tc, without_a_difference_nothing_is_bound);
    return unit_run("rails", tc);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "plugin/common/address.h"
#include "tests/unit/unit.h"

static const char *const bad[] = {
    "",
    ":",
    "10.0.0.1",
    "10.0.0.1:",
    "10.0.0.1:0",
    "10.0.0.1:65536",
    "10.0.0.1:80x",
    "localhost:80",
    "[::1]",
    "[::1:80",
    "[::1]80",
    "::1:80",
    "[]:80",
    "10.0.0.1:0000080",
};

START_TEST(bad_text_is_refused)
{
    struct taut_address addr;
    struct taut_error err;

    ck_assert_int_eq(taut_address_parse(&addr, bad[_i], &err), -1);
    ck_assert_int_eq(errno, EINVAL);
}
END_TEST

START_TEST(text_comes_back)
{
    static const char *const good[] = {"10.0.1.9:40213", "[fd00::9]:1"};
    struct taut_address addr;
    char text[TAUT_ADDRESS_TEXT];

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(taut_address_parse(&addr, good[i], NULL), 0);
        taut_address_format(&addr, text);
        ck_assert_str_eq(text, good[i]);
    }
}
END_TEST

START_TEST(servers_are_taken_in_order)
{
    struct taut_address a[4];
    char text[TAUT_ADDRESS_TEXT];

    ck_assert_int_eq(taut_address_resolve(a, 4, "", NULL), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(taut_address_resolve(a, 4, "127.0.0.1:99999,a:b:c]", NULL),
                     -1);
    ck_assert_int_eq(
        taut_address_resolve(a, 4, "127.0.0.2:70,,127.0.0.1:x,[::1],127.0.0.3",
                             NULL),
        3);
    taut_address_format(&a[0], text);
    ck_assert_str_eq(text, "127.0.0.2:70");
    taut_address_format(&a[1], text);
    ck_assert_str_eq(text, "[::1]:6824");
    taut_address_format(&a[2], text);
    ck_assert_str_eq(text, "127.0.0.3:6824");
    ck_assert_int_eq(taut_address_resolve(a, 1, "127.0.0.2,127.0.0.3", NULL),
                     1);
}
END_TEST

START_TEST(the_interface_is_found_by_route)
{
    struct taut_address server, local;
    char interface[IFNAMSIZ] = "";

    taut_address_parse(&server, "127.0.0.1:6824", NULL);
    ck_assert_int_eq(taut_address_local(&local, interface, &server, NULL), 0);
    ck_assert_str_eq(interface, "lo");
    strcpy(interface, "nosuchif");
    ck_assert_int_eq(taut_address_local(&local, interface, &server, NULL), -1);
    ck_assert_int_eq(errno, EADDRNOTAVAIL);
    strcpy(interface, "lo");
    ck_assert_int_eq(taut_address_local(&local, interface, &server, NULL), 0);
}
END_TEST

/* Where a plan must not send this node to. */
START_TEST(what_is_this_host_itself_is_known)
{
    static const struct {
        const char *text;
        bool is_loopback, is_own;
    } cases[] = {
        {"127.0.0.1:1", true, true},          {"127.255.0.9:1", true, true},
        {"[::1]:1", true, true},              {"[::ffff:127.0.0.1]:1", true, true},
        {"[::127.0.0.1]:1", true, true},      {"192.0.2.1:1", false, false},
        {"[::ffff:192.0.2.1]:1", false, false}, {"[2001:db8::1]:1", false, false},
    };
    struct taut_address addr;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(taut_address_parse(&addr, cases[i].text, NULL), 0);
        ck_assert_int_eq(taut_address_is_loopback(&addr), cases[i].is_loopback);
        ck_assert_int_eq(taut_address_is_own(&addr), cases[i].is_own);
        ck_assert_uint_eq(taut_address_port(&addr), 1);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("address");

    tcase_add_loop_test(tc, bad_text_is_refused, 0,
                        sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(tc, text_comes_back);
    tcase_add_test(tc, servers_are_taken_in_order);
    tcase_add_test(tc, the_interface_is_found_by_route);
    tcase_add_test(tc, what_is_this_host_itself_is_known);
    return unit_run("address", tc);
}

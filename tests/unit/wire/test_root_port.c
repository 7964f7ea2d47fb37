/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/root_port.h"

#define COUNT (TAUT_ROOT_PORT_LAST - TAUT_ROOT_PORT_FIRST + 1)

static const int families[] = {AF_INET, AF_INET6};

/* A network of its own has all ports free.  Returns false where it cannot be
 * had. */
static bool has_own_network(void)
{
    return unshare(CLONE_NEWNET) == 0;
}

static int new_socket(int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        ck_assert_int_eq(errno, EAFNOSUPPORT);
    return fd;
}

static int port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t length = sizeof(at);

    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    return ntohs(at.ss_family == AF_INET6
                     ? ((struct sockaddr_in6 *)&at)->sin6_port
                     : ((struct sockaddr_in *)&at)->sin_port);
}

START_TEST(each_port_once_and_then_none)
{
    struct taut_error err = {""};
    bool taken[COUNT] = {false};
    int fd = -1;

    if (!has_own_network())
        return;
    for (int i = 0; i <= COUNT; i++) {
        fd = new_socket(families[_i]);
        if (fd < 0)
            return;
        if (i == COUNT)
            break;
        ck_assert_int_eq(taut_root_port_bind(fd, families[_i], &err), 0);
        int n = port_of(fd) - TAUT_ROOT_PORT_FIRST;
        ck_assert(n >= 0 && n < COUNT && !taken[n]);
        taken[n] = true;
    }
    ck_assert_int_eq(taut_root_port_bind(fd, families[_i], &err), -1);
    ck_assert_int_eq(errno, EADDRINUSE);
    ck_assert_str_eq(err.text, "a port from 665 to 1023: none is free");
}
END_TEST

START_TEST(a_user_gets_none_and_keeps_the_socket)
{
    struct taut_error err = {""};
    struct sockaddr_in any = {.sin_family = AF_INET};

    if (!has_own_network()) /* there a user's ports begin at 1024 */
        return;
    ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
    int fd = new_socket(AF_INET);
    ck_assert_int_eq(taut_root_port_bind(fd, AF_INET, &err), -1);
    ck_assert_int_eq(errno, EACCES);
    ck_assert_str_eq(err.text, "a port from 665 to 1023: Permission denied");
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
}
END_TEST

START_TEST(the_first_port_of_users_is_read)
{
    static const struct {
        const char *text;
        int port;
    } cases[] = {{"1024\n", 1024}, {"0\n", 0},      {"80\n", 80},
                 {"2000\n", 1024}, {"-1\n", 1024},  {"x\n", 1024},
                 {"", 1024},       {NULL, 1024}};
    char root[] = "/tmp/taut-root-XXXXXX", path[128];

    ck_assert_ptr_nonnull(mkdtemp(root));
    int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof(path), "mkdir -p %s/proc/sys/net/ipv4", root);
    ck_assert_int_eq(system(path), 0);
    snprintf(path, sizeof(path),
             "%s/proc/sys/net/ipv4/ip_unprivileged_port_start", root);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FILE *file = cases[i].text != NULL ? fopen(path, "w") : NULL;

        if (file != NULL) {
            fputs(cases[i].text, file);
            fclose(file);
        } else {
            unlink(path);
        }
        ck_assert_int_eq(taut_user_port(root_fd), cases[i].port);
    }
    ck_assert_int_eq(taut_user_port(-1), 1024);
    close(root_fd);
    snprintf(path, sizeof(path), "rm -r %s", root);
    ck_assert_int_eq(system(path), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("root_port");
    TCase *tc = tcase_create("root_port");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tc, each_port_once_and_then_none, 0, 2);
    tcase_add_test(tc, a_user_gets_none_and_keeps_the_socket);
    tcase_add_test(tc, the_first_port_of_users_is_read);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

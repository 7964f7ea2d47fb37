/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a confined process still can do, each in a process of its own. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/common/confine.h"
#include "tests/unit/unit.h"

static bool has_landlock, has_seccomp;

/* An action returns 0, or errno. */
typedef int action_f(void);

static int opens(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : errno;
}

static int read_passwd(void)
{
    return opens("/etc/passwd", O_RDONLY);
}

static int read_sys(void)
{
    return opens("/sys/class/net/lo/mtu", O_RDONLY);
}

static int write_file(void)
{
    return opens("confined.out", O_WRONLY | O_CREAT);
}

static int makes_socket(int family, int type)
{
    int fd = socket(family, type, 0);

    return fd >= 0 ? 0 : errno;
}

static int stream_socket(void)
{
    return makes_socket(AF_INET, SOCK_STREAM);
}

static int packet_socket(void)
{
    return makes_socket(AF_PACKET, SOCK_RAW);
}

static int execute(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return errno;
}

static int trace(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : errno;
}

static void *in_thread(void *arg)
{
    free(malloc(1 << 20));
    return arg;
}

static int start_thread(void)
{
    pthread_t thread;
    int rc = pthread_create(&thread, NULL, in_thread, NULL);

    return rc ? rc : pthread_join(thread, NULL);
}

static int leaves_nothing(void)
{
    struct rlimit core;

    if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max != 0)
        return 1;
    return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : 2;
}

/* Returns errno of the action, or minus the signal that ended it. */
static int confined(enum taut_confinement kind, action_f *action)
{
    char text[TAUT_CONFINE_TEXT];
    int status, root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        taut_confine(kind, root, text);
        _exit(action());
    }
    close(root);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int find_out(void)
{
    return 0;
}

START_TEST(everybody_lives_and_leaves_nothing)
{
    for (int kind = TAUT_CONFINE_READER; kind <= TAUT_CONFINE_MODULES; kind++) {
        ck_assert_int_eq(confined(kind, find_out), 0);
        ck_assert_int_eq(confined(kind, start_thread), 0);
        ck_assert_int_eq(confined(kind, leaves_nothing), 0);
    }
}
END_TEST

START_TEST(who_may_open_what)
{
    ck_assert_int_eq(confined(TAUT_CONFINE_READER, read_sys), 0);
    ck_assert_int_eq(confined(TAUT_CONFINE_MODULES, read_passwd), 0);
    if (has_landlock) {
        ck_assert_int_eq(confined(TAUT_CONFINE_READER, read_passwd), EACCES);
        ck_assert_int_eq(confined(TAUT_CONFINE_READER, write_file), EACCES);
        ck_assert_int_eq(confined(TAUT_CONFINE_MODULES, write_file), EACCES);
    }
    if (has_landlock || has_seccomp) {
        ck_assert_int_eq(confined(TAUT_CONFINE_STREAMS, read_passwd), EACCES);
        ck_assert_int_eq(confined(TAUT_CONFINE_STREAMS, write_file), EACCES);
    }
}
END_TEST

/* A filter that the kernel does not take would confine nobody. */
START_TEST(the_filters_of_the_build_are_taken)
{
#ifdef HAVE_SECCOMP
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0)
        ck_assert(has_seccomp);
#endif
}
END_TEST

START_TEST(a_call_out_of_the_list_is_the_end)
{
    if (!has_seccomp)
        return;
    ck_assert_int_eq(confined(TAUT_CONFINE_STREAMS, stream_socket), 0);
    ck_assert_int_eq(confined(TAUT_CONFINE_STREAMS, packet_socket), -SIGSYS);
    ck_assert_int_eq(confined(TAUT_CONFINE_STREAMS, execute), -SIGSYS);
    ck_assert_int_eq(confined(TAUT_CONFINE_STREAMS, trace), -SIGSYS);
    ck_assert_int_eq(confined(TAUT_CONFINE_READER, stream_socket), -SIGSYS);
    ck_assert_int_eq(confined(TAUT_CONFINE_READER, execute), -SIGSYS);
}
END_TEST

START_TEST(of_modules_it_fails_only)
{
    if (!has_seccomp)
        return;
    ck_assert_int_eq(confined(TAUT_CONFINE_MODULES, stream_socket), 0);
    ck_assert_int_eq(confined(TAUT_CONFINE_MODULES, execute), EPERM);
    ck_assert_int_eq(confined(TAUT_CONFINE_MODULES, trace), EPERM);
}
END_TEST

/* What this kernel and this build have; a sanitizer's has nothing. */
static void look(void)
{
    char text[TAUT_CONFINE_TEXT];
    int status, ends[2];
    pid_t pid;

    if (pipe(ends) < 0 || (pid = fork()) < 0)
        exit(1);
    if (pid == 0) {
        taut_confine(TAUT_CONFINE_STREAMS, AT_FDCWD, text);
        _exit(write(ends[1], text, sizeof(text)) == sizeof(text) ? 0 : 1);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0 ||
        read(ends[0], text, sizeof(text)) != sizeof(text))
        exit(1);
    close(ends[0]);
    close(ends[1]);
    has_landlock = strstr(text, "Landlock") != NULL;
    has_seccomp = strstr(text, "seccomp") != NULL;
    printf("# confined by: %s\n", text);
}

int main(void)
{
    TCase *tc = tcase_create("confine");

    if (getenv("TAUT_TEST_WRAPPER") != NULL) {
        printf("1..0 # skip valgrind makes calls of its own\n");
        return EXIT_SUCCESS;
    }
    look();
    tcase_add_test(tc, the_filters_of_the_build_are_taken);
    if (has_seccomp || has_landlock) {
        tcase_add_test(tc, everybody_lives_and_leaves_nothing);
        tcase_add_test(tc, who_may_open_what);
        tcase_add_test(tc, a_call_out_of_the_list_is_the_end);
        tcase_add_test(tc, of_modules_it_fails_only);
    }
    return unit_run("confine", tc);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advisor/lib/os/child_start.h"

void taut_child_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Give up what a program of somebody else's need not have.  Returns 0, or
 * -1 with errno. */
static int become(const struct taut_child_how *how)
{
    if (how->session && setsid() < 0)
        return -1;
    if (how->has_user &&
        (setgroups(0, NULL) != 0 || setresgid(how->gid, how->gid, how->gid) ||
         setresuid(how->uid, how->uid, how->uid) != 0))
        return -1;
    if (!how->quiet)
        return 0;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
        return -1;
    return chdir("/");
}

static int execute(char *const *argv, const struct taut_child_how *how)
{
    static char *const path[] = {
        (char *)(uintptr_t) "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};

    if (how == NULL)
        return execvp(argv[0], argv);
    if (become(how) != 0)
        return -1;
    return how->quiet ? execve(argv[0], argv, path) : execvp(argv[0], argv);
}

/* In the child: only what is safe after fork().  'fds' are stdin, stdout and
 * the pipe that tells the parent why exec failed. */
static void run_child(char *const *argv, const struct taut_child_how *how,
                      const int *fds)
{
    static const int ours[] = {SIGCHLD, SIGHUP,  SIGINT,
                               SIGPIPE, SIGTERM, SIGUSR1};
    sigset_t none;

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        signal(ours[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(fds[0], STDIN_FILENO) >= 0 && dup2(fds[1], STDOUT_FILENO) >= 0)
        execute(argv, how);
    int error = errno;
    ssize_t n = write(fds[2], &error, sizeof(error));
    _exit(n == sizeof(error) ? 127 : 126);
}

/* A pipe above the standard descriptors, so that dup2() in the child cannot
 * meet its own source.  Returns 0, or -1 with errno. */
static int open_pipe(int *ends)
{
    int raw[2];

    ends[0] = ends[1] = -1;
    if (pipe2(raw, O_CLOEXEC) != 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, 3);
        close(raw[i]);
    }
    return ends[0] >= 0 && ends[1] >= 0 ? 0 : -1;
}

/* Fork with all signals blocked: libevent's handlers in the child would
 * write into the parent's pipe. */
static pid_t fork_quietly(void)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t pid = fork();
    if (pid != 0) {
        int saved = errno;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        errno = saved;
    }
    return pid;
}

/* Why exec failed, or 0: the pipe ends without a word when it did not. */
static int exec_error(int fd)
{
    int error = 0;
    ssize_t n;

    do
        n = read(fd, &error, sizeof(error));
    while (n < 0 && errno == EINTR);
    return n == sizeof(error) ? error : 0;
}

static void set_nonblocking(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

pid_t taut_child_start(char *const *argv, const struct taut_child_how *how,
                       int *in, int *out)
{
    int p_in[2] = {-1, -1}, p_out[2] = {-1, -1}, p_fail[2] = {-1, -1};
    pid_t pid = -1;
    int error = 0;

    if (open_pipe(p_in) != 0 || open_pipe(p_out) != 0 ||
        open_pipe(p_fail) != 0 || (pid = fork_quietly()) < 0)
        error = errno;
    else if (pid == 0)
        run_child(argv, how, (int[]){p_in[0], p_out[1], p_fail[1]});
    taut_child_close(&p_in[0]);
    taut_child_close(&p_out[1]);
    taut_child_close(&p_fail[1]);
    if (error == 0 && (error = exec_error(p_fail[0])) != 0)
        waitpid(pid, NULL, 0);
    taut_child_close(&p_fail[0]);
    if (error != 0) {
        taut_child_close(&p_in[1]);
        taut_child_close(&p_out[0]);
        pid = -1;
    } else {
        set_nonblocking(p_in[1]);
        set_nonblocking(p_out[0]);
    }
    *in = p_in[1];
    *out = p_out[0];
    errno = error;
    return pid;
}

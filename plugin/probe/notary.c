/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/probe/hello.h"
#include "plugin/probe/notary.h"
#include "wire/frame.h"

/* The answer begins with one of these. */
#define SIGNED '+'
#define FAILED '-'

static int send_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -1;
        text += sent;
        n -= (size_t)sent;
    }
    return 0;
}

static bool wait_for(int fd, int64_t deadline_ns)
{
    struct pollfd pfd = {.fd = fd, .events = POLLIN};

    while (taut_now_ns() < deadline_ns) {
        if (poll(&pfd, 1, taut_left_ms(deadline_ns)) > 0)
            return true;
    }
    errno = ETIMEDOUT;
    return false;
}

/* All that comes until the other side has said it.  Returns a string to
 * free(), or NULL with errno. */
static char *receive_all(int fd, int64_t deadline_ns)
{
    size_t room = 4096, used = 0;
    char *text = malloc(room);

    while (text != NULL && wait_for(fd, deadline_ns)) {
        ssize_t n = recv(fd, text + used, room - used - 1, 0);

        if (n == 0) {
            text[used] = '\0';
            return text;
        }
        if (n < 0 && errno != EINTR)
            break;
        used += n > 0 ? (size_t)n : 0;
        if (room - used < 2) {
            char *more = room < TAUT_FRAME_MAX ? realloc(text, 2 * room) : NULL;

            if (more == NULL)
                break;
            text = more;
            room *= 2;
        }
    }
    free(text);
    return NULL;
}

/* Whoever reads our standard output waits for its end. */
static _Noreturn void serve(int fd, uid_t uid, const char *socket,
                            int64_t deadline_ns)
{
    struct taut_error why = {""};
    char *text, *cred = NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    text = receive_all(fd, deadline_ns);
    if (text == NULL || !*text) /* it is not needed any more */
        _exit(0);
    cred = taut_hello_wrap(text, uid, socket, deadline_ns, &why);
    if (send_all(fd, cred != NULL ? "+" : "-", 1) == 0)
        (void)send_all(fd, cred != NULL ? cred : why.text,
                       strlen(cred != NULL ? cred : why.text));
    _exit(0);
}

int taut_notary_start(struct taut_notary *n, uid_t uid, const char *socket,
                      int64_t deadline_ns, struct taut_error *err)
{
    int pair[2], saved;

    n->fd = -1;
    n->pid = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return taut_error_set(err, "socketpair: %s", strerror(errno));
    n->pid = fork();
    saved = errno;
    if (n->pid == 0) {
        close(pair[0]);
        serve(pair[1], uid, socket, deadline_ns);
    }
    close(pair[1]);
    if (n->pid > 0) {
        n->fd = pair[0];
        return 0;
    }
    close(pair[0]);
    errno = saved;
    return taut_error_set(err, "fork: %s", strerror(errno));
}

/* What the answer says; 'answer' is freed or returned. */
static char *read_answer(char *answer, struct taut_error *err)
{
    if (answer[0] == SIGNED) {
        memmove(answer, answer + 1, strlen(answer));
        return answer;
    }
    taut_error_set(err, "%.250s",
                   answer[0] == FAILED ? answer + 1
                                       : "munge: the helper has ended");
    free(answer);
    errno = EIO;
    return NULL;
}

char *taut_notary_wrap(struct taut_notary *n, const char *text,
                       int64_t deadline_ns, struct taut_error *err)
{
    char *answer = NULL;

    if (send_all(n->fd, text, strlen(text)) == 0 &&
        shutdown(n->fd, SHUT_WR) == 0)
        answer = receive_all(n->fd, deadline_ns);
    if (answer == NULL)
        taut_error_set(err, "munge does not answer");
    else
        answer = read_answer(answer, err);
    taut_notary_close(n);
    return answer;
}

void taut_notary_close(struct taut_notary *n)
{
    int saved = errno;

    if (n->fd >= 0)
        close(n->fd);
    if (n->pid > 0)
        waitpid(n->pid, NULL, WNOHANG);
    n->fd = -1;
    n->pid = -1;
    errno = saved;
}

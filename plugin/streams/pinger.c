/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "plugin/common/clock.h"
#include "plugin/streams/pinger.h"

/* So long an end looks without sleeping: waking up takes longer than a
 * message needs on a fast network. */
#define SPIN_NS (TAUT_MS_NS / 10)

/* So long an end keeps to one stream before it looks at the others. */
#define TURN_NS TAUT_MS_NS

static bool is_retry(void)
{
    return errno == EAGAIN || errno == EINTR;
}

/* Returns 1 when the message is on its way, 0 when there is no room now, or
 * -1 with errno. */
static int send_message(struct taut_pinger *p, struct taut_endpoint *ep,
                        int stream)
{
    static const char message[TAUT_PING_BYTES];
    ssize_t n;

    if (p->sent == 0)
        p->sent_ns = taut_now_ns();
    n = ep->transport->send(ep, stream, message, TAUT_PING_BYTES - p->sent);
    if (n < 0)
        return is_retry() ? 0 : -1;
    p->sent += (size_t)n;
    p->sent_bytes += n;
    return p->sent == TAUT_PING_BYTES;
}

/* As send_message, for the echo. */
static int take_echo(struct taut_pinger *p, struct taut_endpoint *ep,
                     int stream)
{
    char echo[TAUT_PING_BYTES];
    int64_t until_ns = taut_now_ns() + SPIN_NS;

    do {
        ssize_t n =
            ep->transport->receive(ep, stream, echo, TAUT_PING_BYTES - p->came);

        if (n == 0)
            errno = ECONNRESET;
        if (n == 0 || (n < 0 && !is_retry()))
            return -1;
        if (n > 0)
            p->came += (size_t)n;
        if (p->came == TAUT_PING_BYTES)
            return 1;
    } while (taut_now_ns() < until_ns);
    return 0;
}

int taut_pinger_run(struct taut_pinger *p, struct taut_endpoint *ep, int stream,
                    bool is_warm, int64_t end_ns)
{
    int64_t until_ns = taut_now_ns() + TURN_NS;
    int64_t now_ns;
    int rc;

    do {
        rc = p->sent < TAUT_PING_BYTES ? send_message(p, ep, stream) : 1;
        if (rc == 1)
            rc = take_echo(p, ep, stream);
        if (rc <= 0)
            return rc;
        now_ns = taut_now_ns();
        if (is_warm)
            taut_latency_add(&p->times, (now_ns - p->sent_ns) / 2);
        p->sent = p->came = 0;
    } while (now_ns < until_ns && now_ns < end_ns);
    return 0;
}

/* Send what is owed, as far as it goes.  Returns 0, or -1 with errno. */
static int pay(struct taut_echo *e, struct taut_endpoint *ep, int stream)
{
    ssize_t n = ep->transport->send(ep, stream, e->bytes, e->owed);

    if (n < 0)
        return is_retry() ? 0 : -1;
    e->owed -= (size_t)n;
    memmove(e->bytes, e->bytes + n, e->owed);
    return 0;
}

ssize_t taut_pinger_echo(struct taut_echo *e, struct taut_endpoint *ep,
                         int stream, bool is_live)
{
    int64_t now_ns = taut_now_ns(), stop_ns = now_ns + TURN_NS;
    int64_t until_ns = is_live ? now_ns + SPIN_NS : now_ns;
    ssize_t sum = 0, n;

    do {
        if (e->owed == 0) {
            n = ep->transport->receive(ep, stream, e->bytes, sizeof(e->bytes));
            if (n == 0 || (n < 0 && !is_retry()))
                return sum > 0 ? sum : n;
            if (n > 0) {
                e->owed = (size_t)n;
                sum += n;
                until_ns = taut_now_ns() + SPIN_NS;
            }
        }
        if (e->owed > 0 && pay(e, ep, stream) < 0)
            return sum > 0 ? sum : -1;
        now_ns = taut_now_ns();
    } while (now_ns < until_ns && now_ns < stop_ns);
    if (sum == 0)
        errno = EAGAIN;
    return sum > 0 ? sum : -1;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <munge.h>
#include <sodium.h>

#include "plugin/probe/blocking.h"
#include "plugin/probe/hello.h"
#include "wire/frame.h"

static json_t *pack(const struct taut_hello *h, const char *key,
                    const char *readings)
{
    const struct taut_job *j = h->job;

    return json_pack(
        "{s:i, s:i, s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:i,"
        " s:o, s:s, s:s, s:s, s:s, s:s}",
        "v", TAUT_PROTOCOL_VERSION, "oldest", TAUT_PROTOCOL_OLDEST, "purpose",
        taut_purpose_name(j->purpose), "job", (json_int_t)j->id, "restart",
        (json_int_t)j->restart, "uid", (json_int_t)j->uid,
        "partition", j->partition, "node", j->node, "nodes", j->nodes,
        "endpoint", taut_rails_first(h->rails), "budget_ms", h->budget_ms,
        "endpoints", taut_rails_endpoints_to_json(h->rails), "boot", h->boot,
        "slurm", j->slurm, "release", PACKAGE_VERSION, "key", key, "readings",
        readings);
}

/* What a survey's HELLO says besides. */
static int add_survey(json_t *json, const struct taut_hello *h)
{
    json_t *options = NULL;

    if (!taut_purpose_is_survey(h->job->purpose))
        return 0;
    json_object_set_new(json, "step", json_integer(h->job->step));
    json_object_set_new(json, "procid", json_integer(h->job->procid));
    if (h->owner == NULL)
        return 0;
    options = json_loads(h->owner, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(options)) {
        json_decref(options);
        errno = EINVAL;
        return -1;
    }
    return json_object_set_new(json, "options", options);
}

char *taut_hello_encode(const struct taut_hello *hello)
{
    char key[2 * TAUT_SEAL_KEY + 1], *text = NULL;
    char *readings = taut_readings_text(hello->readings);
    json_t *json = NULL;

    taut_hex(key, hello->key, sizeof(hello->key));
    errno = ENOMEM;
    if (readings != NULL)
        json = pack(hello, key, readings);
    if (json != NULL && hello->ofi_ms >= 0)
        json_object_set_new(json, "ofi_ms", json_integer(hello->ofi_ms));
    if (json != NULL && hello->user_port < TAUT_USER_PORT)
        json_object_set_new(json, "user_port", json_integer(hello->user_port));
    if (json != NULL && add_survey(json, hello) == 0)
        text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    free(readings);
    sodium_memzero(key, sizeof(key));
    return text;
}

static munge_ctx_t make_context(uid_t uid, const char *socket,
                                struct taut_error *err)
{
    munge_ctx_t ctx = munge_ctx_create();

    if (ctx == NULL) {
        taut_error_set(err, "munge: out of memory");
        return NULL;
    }
    if ((*socket &&
         munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS) ||
        munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, uid) != EMUNGE_SUCCESS) {
        taut_error_set(err, "munge: %s", munge_ctx_strerror(ctx));
        munge_ctx_destroy(ctx);
        return NULL;
    }
    return ctx;
}

/* What the thread works on: after a timeout it is the thread's for good. */
struct work {
    char *text, *socket;
    uid_t uid;
    char *cred;
    struct taut_error err;
};

static void destroy(struct work *w)
{
    if (w == NULL)
        return;
    free(w->text);
    free(w->socket);
    free(w->cred);
    free(w);
}

static struct work *create(const char *text, uid_t uid, const char *socket)
{
    struct work *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    w->text = strdup(text);
    w->socket = strdup(socket);
    w->uid = uid;
    if (w->text != NULL && w->socket != NULL)
        return w;
    destroy(w);
    return NULL;
}

static void wrap(void *arg)
{
    struct work *w = arg;
    munge_ctx_t ctx = make_context(w->uid, w->socket, &w->err);
    munge_err_t rc;

    if (ctx == NULL)
        return;
    rc = munge_encode(&w->cred, ctx, w->text, (int)strlen(w->text));
    if (rc != EMUNGE_SUCCESS) {
        const char *why = munge_ctx_strerror(ctx);

        taut_error_set(&w->err, "munge: %s",
                       why != NULL ? why : munge_strerror(rc));
        free(w->cred);
        w->cred = NULL;
    }
    munge_ctx_destroy(ctx);
}

char *taut_hello_wrap(const char *text, uid_t uid, const char *socket,
                      int64_t deadline_ns, struct taut_error *err)
{
    struct work *w;
    char *cred;

    if (strlen(text) > TAUT_HELLO_MAX) {
        taut_error_set(err,
                       "HELLO has %zu bytes, munge takes %d at most: the job's "
                       "list of nodes is too long for it",
                       strlen(text), TAUT_HELLO_MAX);
        errno = EMSGSIZE;
        return NULL;
    }
    w = create(text, uid, socket);
    if (w == NULL) {
        taut_error_set(err, "out of memory");
        return NULL;
    }
    if (taut_blocking_call(wrap, w, deadline_ns) < 0) {
        taut_error_set(err, "munge does not answer");
        return NULL;
    }
    cred = w->cred;
    w->cred = NULL;
    if (cred == NULL && err != NULL)
        *err = w->err;
    destroy(w);
    if (cred == NULL)
        errno = EIO;
    return cred;
}

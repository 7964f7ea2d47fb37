/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/reply.h"

static json_t *text_value(const char *text, size_t n)
{
    json_t *value = json_stringn(text, n);

    if (value != NULL)
        return value;
    char *copy = strndup(text, n);
    if (copy == NULL)
        return NULL;
    for (char *c = copy; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    value = json_string(copy);
    free(copy);
    return value;
}

const char *taut_request_text(const json_t *request, const char *key)
{
    return json_string_value(json_object_get(request, key));
}

char *taut_slurm_lent(const char *text)
{
    return (char *)(uintptr_t)text;
}

int taut_reply_refuse(json_t *reply, const char *why)
{
    taut_reply_text(reply, "error", why);
    errno = EINVAL;
    return -1;
}

void taut_reply_text(json_t *object, const char *key, const char *text)
{
    if (text == NULL)
        text = "";
    json_object_set_new(object, key, text_value(text, strlen(text)));
}

void taut_reply_some(json_t *object, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0')
        taut_reply_text(object, key, text);
}

void taut_reply_number(json_t *object, const char *key, json_int_t value)
{
    json_object_set_new(object, key, json_integer(value));
}

void taut_reply_flag(json_t *object, const char *key, int value)
{
    json_object_set_new(object, key, json_boolean(value));
}

void taut_reply_user(json_t *object, const char *key, unsigned uid)
{
    char number[16];
    const struct passwd *pw;

    if (uid == NO_VAL) {
        taut_reply_text(object, key, "");
        return;
    }
    pw = getpwuid(uid);
    snprintf(number, sizeof(number), "%u", uid);
    taut_reply_text(object, key, pw != NULL ? pw->pw_name : number);
}

void taut_reply_names(json_t *object, const char *key, const char *list)
{
    json_t *names = json_array();

    while (list != NULL && *list != '\0') {
        size_t n = strcspn(list, ",");
        if (n > 0)
            json_array_append_new(names, text_value(list, n));
        list += n + (list[n] == ',');
    }
    json_object_set_new(object, key, names);
}

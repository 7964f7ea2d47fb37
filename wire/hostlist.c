/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host lists: parsing and looking up.
 *
 * An expression is read item by item (between the commas outside brackets).
 * An item becomes a row of parts, each a literal or a group of ranges; how
 * many names it stands for is known, and checked, before the first of them
 * is written.  The work is bounded by the bytes of text and of names. */
#include <config.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/hostlist.h"

struct taut_hostlist {
    char *bytes;         /* the names, each with its NUL */
    size_t used, room;   /* bytes */
    uint32_t *offset;    /* where name i begins */
    size_t count, slots; /* names; room for names */
};

struct range {
    uint64_t lo, hi;
    size_t width; /* digits of 'lo' as written, 1.. */
};

/* A literal (ranges == 0) or a group: 'ranges' from number 'first'. */
struct part {
    const char *text;
    size_t length;
    size_t first, ranges;
};

struct parser {
    const char *text, *at;
    size_t max;
    struct taut_error *err;
    struct taut_hostlist *list;
    struct part parts[TAUT_HOSTNAME_MAX]; /* each gives a byte at least */
    size_t nparts;
    struct range *ranges; /* of the item being read */
    size_t nranges, ranges_room;
    char name[TAUT_HOSTNAME_MAX]; /* the one being written */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '-' || c == '_' || c == '.';
}

static bool is_first_char(char c)
{
    return is_name_char(c) && c != '-' && c != '.';
}

bool taut_hostname_is_valid(const char *name)
{
    size_t n = 0;

    if (name == NULL || !is_first_char(name[0]))
        return false;
    while (is_name_char(name[n]) && n <= TAUT_HOSTNAME_MAX)
        n++;
    return name[n] == '\0' && n <= TAUT_HOSTNAME_MAX;
}

/* ---- errors ---- */

static int syntax_error(struct parser *p, const char *at, const char *what)
{
    unsigned char c = (unsigned char)*at;
    size_t column = (size_t)(at - p->text) + 1;

    if (c == '\0')
        taut_error_set(p->err, "host list, column %zu: %s at the end", column,
                       what);
    else if (c > ' ' && c < 0x7f)
        taut_error_set(p->err, "host list, column %zu: %s at '%c'", column,
                       what, c);
    else
        taut_error_set(p->err, "host list, column %zu: %s at byte 0x%02x",
                       column, what, c);
    errno = EINVAL;
    return -1;
}

static int too_many(struct parser *p, const char *at)
{
    taut_error_set(p->err, "host list, column %zu: more than %zu names",
                   (size_t)(at - p->text) + 1, p->max);
    errno = E2BIG;
    return -1;
}

/* ---- the list ---- */

/* Make room for one more item of 'size' bytes in '*array'. */
static int grow(void *array, size_t *room, size_t used, size_t size)
{
    void **where = array;
    size_t want = *room ? *room * 2 : 64;

    if (used < *room)
        return 0;
    void *bigger = reallocarray(*where, want, size);
    if (bigger == NULL)
        return -1;
    *where = bigger;
    *room = want;
    return 0;
}

static int reserve_bytes(struct taut_hostlist *list, size_t n)
{
    size_t want = list->room ? list->room : 1024;

    while (want - list->used < n)
        want *= 2;
    if (want == list->room)
        return 0;
    char *bigger = realloc(list->bytes, want);
    if (bigger == NULL)
        return -1;
    list->bytes = bigger;
    list->room = want;
    return 0;
}

static int add_name(struct parser *p, const char *item, size_t length)
{
    struct taut_hostlist *list = p->list;

    if (list->used + length + 1 > TAUT_HOSTLIST_BYTES) {
        errno = E2BIG;
        return taut_error_set(
            p->err, "host list, column %zu: names of more than %u bytes",
            (size_t)(item - p->text) + 1, TAUT_HOSTLIST_BYTES);
    }
    if (reserve_bytes(list, length + 1) < 0)
        return -1;
    if (grow(&list->offset, &list->slots, list->count, sizeof(uint32_t)) < 0)
        return -1;
    memcpy(list->bytes + list->used, p->name, length);
    list->bytes[list->used + length] = '\0';
    list->offset[list->count++] = (uint32_t)list->used;
    list->used += length + 1;
    return 0;
}

/* ---- from parts to names ---- */

static int name_too_long(struct parser *p, const char *item)
{
    errno = EINVAL;
    return taut_error_set(p->err,
                          "host list, column %zu: name longer than %d bytes",
                          (size_t)(item - p->text) + 1, TAUT_HOSTNAME_MAX);
}

static int expand(struct parser *p, const char *item, size_t part, size_t n);

static int expand_literal(struct parser *p, const char *item, size_t part,
                          size_t n)
{
    const struct part *lit = &p->parts[part];

    if (lit->length > TAUT_HOSTNAME_MAX - n)
        return name_too_long(p, item);
    memcpy(p->name + n, lit->text, lit->length);
    return expand(p, item, part + 1, n + lit->length);
}

/* Write 'value' with at least 'width' digits; returns how many, or 0 if they
 * do not fit in 'room'.  snprintf() makes a long hostile list ten times as
 * slow. */
static size_t put_number(char *out, size_t room, uint64_t value, size_t width)
{
    size_t n = 0;

    for (uint64_t v = value; v; v /= 10)
        n++;
    if (n < width)
        n = width;
    if (n > room)
        return 0;
    for (size_t i = n; i > 0; i--) {
        out[i - 1] = (char)('0' + value % 10);
        value /= 10;
    }
    return n;
}

static int expand_range(struct parser *p, const char *item, size_t part,
                        size_t n, const struct range *range)
{
    for (uint64_t left = range->hi - range->lo + 1; left; left--) {
        size_t wrote = put_number(p->name + n, sizeof(p->name) - n,
                                  range->hi - left + 1, range->width);
        if (wrote == 0)
            return name_too_long(p, item);
        if (expand(p, item, part + 1, n + wrote) < 0)
            return -1;
    }
    return 0;
}

/* Write all names of the item whose first 'part' parts are already in
 * p->name, 'n' bytes.  As deep as an item has parts, 255 at most. */
static int expand(struct parser *p, const char *item, size_t part, size_t n)
{
    if (part == p->nparts)
        return add_name(p, item, n);

    const struct part *group = &p->parts[part];
    if (group->ranges == 0)
        return expand_literal(p, item, part, n);
    for (size_t i = 0; i < group->ranges; i++)
        if (expand_range(p, item, part, n, &p->ranges[group->first + i]) < 0)
            return -1;
    return 0;
}

/* Names a group stands for, or more than 'max' if there are more. */
static size_t group_size(const struct parser *p, const struct part *group)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < group->ranges && sum <= p->max; i++) {
        const struct range *r = &p->ranges[group->first + i];
        uint64_t span = r->hi - r->lo; /* one less than names: cannot wrap */
        sum += span < p->max ? span + 1 : p->max + 1;
    }
    return (size_t)sum;
}

/* Refuse an item of too many names before any of them exists. */
static int check_size(struct parser *p, const char *item)
{
    size_t names = 1, left = p->max - p->list->count;

    for (size_t i = 0; i < p->nparts; i++) {
        if (p->parts[i].ranges == 0)
            continue;
        size_t size = group_size(p, &p->parts[i]);
        if (size > left / names)
            return too_many(p, item);
        names *= size;
    }
    return names > left ? too_many(p, item) : 0;
}

/* ---- from text to parts ---- */

static int parse_number(struct parser *p, uint64_t *value, size_t *width)
{
    const char *start = p->at;
    uint64_t v = 0;

    while (is_digit(*p->at)) {
        uint64_t d = (uint64_t)(*p->at - '0');
        if (v > (UINT64_MAX - d) / 10)
            return syntax_error(p, start, "number beyond 64 bits");
        if (p->at - start >= TAUT_HOSTNAME_MAX)
            return syntax_error(p, start, "number of too many digits");
        v = v * 10 + d;
        p->at++;
    }
    if (p->at == start)
        return syntax_error(p, p->at, "digit expected");
    *value = v;
    *width = (size_t)(p->at - start);
    return 0;
}

static int parse_range(struct parser *p)
{
    const char *start = p->at;
    struct range r;
    size_t hi_width;

    if (parse_number(p, &r.lo, &r.width) < 0)
        return -1;
    r.hi = r.lo;
    if (*p->at == '-') {
        const char *hi = ++p->at;
        if (parse_number(p, &r.hi, &hi_width) < 0)
            return -1;
        if (r.hi < r.lo)
            return syntax_error(p, start, "range from high to low");
        if (*hi == '0' && hi_width != r.width)
            return syntax_error(p, hi, "leading zeros unlike the range's");
    }
    if (grow(&p->ranges, &p->ranges_room, p->nranges, sizeof(r)) < 0)
        return -1;
    p->ranges[p->nranges++] = r;
    return 0;
}

static int parse_group(struct parser *p, struct part *part)
{
    part->first = p->nranges;
    do {
        p->at++; /* the bracket or comma */
        if (parse_range(p) < 0)
            return -1;
    } while (*p->at == ',');
    if (*p->at != ']')
        return syntax_error(p, p->at, "']' expected");
    p->at++;
    part->ranges = p->nranges - part->first;
    return 0;
}

static void parse_literal(struct parser *p, struct part *part)
{
    part->text = p->at;
    while (is_name_char(*p->at))
        p->at++;
    part->length = (size_t)(p->at - part->text);
}

static int parse_item(struct parser *p)
{
    const char *item = p->at;

    p->nparts = p->nranges = 0;
    if (*item != '[' && !is_first_char(*item))
        return syntax_error(p, item, "name expected");
    while (*p->at == '[' || is_name_char(*p->at)) {
        if (p->nparts == TAUT_HOSTNAME_MAX)
            return name_too_long(p, item);
        struct part *part = &p->parts[p->nparts++];
        *part = (struct part){0};
        if (*p->at != '[')
            parse_literal(p, part);
        else if (parse_group(p, part) < 0)
            return -1;
    }
    if (*p->at != ',' && *p->at != '\0')
        return syntax_error(p, p->at, "not a character of a name");
    if (check_size(p, item) < 0)
        return -1;
    return expand(p, item, 0, 0);
}

static int parse_items(struct parser *p)
{
    if (*p->at == '\0')
        return 0;
    if (parse_item(p) < 0)
        return -1;
    while (*p->at == ',') {
        p->at++;
        if (parse_item(p) < 0)
            return -1;
    }
    return 0;
}

/* ---- public ---- */

struct taut_hostlist *taut_hostlist_parse(const char *text, size_t max,
                                          struct taut_error *err)
{
    if (text == NULL || max < 1 || max > TAUT_HOSTLIST_MAX) {
        taut_error_set(err, "host list: no text, or limit %zu not 1..%u", max,
                       TAUT_HOSTLIST_MAX);
        errno = EINVAL;
        return NULL;
    }

    struct parser *p = calloc(1, sizeof(*p));
    struct taut_hostlist *list = calloc(1, sizeof(*list));
    int rc = -1;
    if (p != NULL && list != NULL) {
        *p = (struct parser){
            .text = text,
            .at = text,
            .max = max,
            .err = err,
            .list = list,
        };
        rc = parse_items(p);
    }
    if (rc < 0 && errno == ENOMEM)
        taut_error_set(err, "host list: %s", strerror(errno));
    if (rc < 0) {
        taut_hostlist_destroy(list);
        list = NULL;
    }
    if (p != NULL) {
        int saved = errno;
        free(p->ranges);
        free(p);
        errno = saved;
    }
    return list;
}

void taut_hostlist_destroy(struct taut_hostlist *list)
{
    int saved = errno;

    if (list == NULL)
        return;
    free(list->bytes);
    free(list->offset);
    free(list);
    errno = saved;
}

size_t taut_hostlist_count(const struct taut_hostlist *list)
{
    return list->count;
}

const char *taut_hostlist_name(const struct taut_hostlist *list, size_t i)
{
    return i < list->count ? list->bytes + list->offset[i] : NULL;
}

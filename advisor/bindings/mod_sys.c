/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.sys: what Lua needs of the system besides its own libraries. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <netdb.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "advisor/bindings/host.h"
#include "advisor/bindings/sys_files.h"
#include "advisor/bindings/sys/log.h"
#include "advisor/lib/os/sys_socket.h"

#define REPLY_MAX_BYTES (64 << 20)
#define DEFAULT_COLUMNS 80
#define DEFAULT_ROWS 24

static int sys_request(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    size_t n;
    const char *line = luaL_checklstring(L, 2, &n);
    lua_Integer timeout_ms = luaL_optinteger(L, 3, 10000);
    struct taut_error err = {""};
    size_t got;

    luaL_argcheck(L, memchr(line, '\n', n) == NULL, 2, "is more than a line");
    luaL_argcheck(L, timeout_ms >= 1 && timeout_ms <= 3600000, 3,
                  "not within 1 to 3600000");
    char *reply = taut_socket_request(path, line, n, (int)timeout_ms,
                                      REPLY_MAX_BYTES, &got, &err);
    if (reply == NULL)
        return taut_fail(L, "%s", err.text);
    lua_pushlstring(L, reply, got);
    free(reply);
    return 1;
}

/* An IPv4 address in IPv6's clothes is one. */
static const char *plain_address(const char *text)
{
    return strncmp(text, "::ffff:", 7) == 0 ? text + 7 : text;
}

/* An address as the kernel writes it; 0 if the text is not one.  What
 * getaddrinfo would take besides (1234, 0x10, 10.1) may be a node's name. */
static int push_numeric(lua_State *L, const char *text)
{
    static const int families[] = {AF_INET, AF_INET6};
    unsigned char address[sizeof(struct in6_addr)];
    char out[INET6_ADDRSTRLEN];

    for (size_t i = 0; i < 2; i++)
        if (inet_pton(families[i], text, address) == 1 &&
            inet_ntop(families[i], address, out, sizeof(out)) != NULL) {
            lua_pushstring(L, plain_address(out));
            return 1;
        }
    return 0;
}

static int numeric_address(lua_State *L, const char *name)
{
    lua_newtable(L);
    if (!push_numeric(L, name))
        return taut_fail(L, "%s: no address", name);
    lua_rawseti(L, -2, 1);
    return 1;
}

/* sys.addresses(name [, numeric]): an array of texts, as numbers.  Without
 * `numeric` it asks name services, and may take long. */
static int sys_addresses(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    lua_Integer n = 0;

    if (lua_toboolean(L, 2))
        return numeric_address(L, name);
    int rc = getaddrinfo(name, NULL, &hints, &list);
    if (rc != 0)
        return taut_fail(L, "%s: %s", name, gai_strerror(rc));
    lua_newtable(L);
    for (struct addrinfo *ai = list; ai != NULL; ai = ai->ai_next) {
        char text[64];

        if (getnameinfo(ai->ai_addr, ai->ai_addrlen, text, sizeof(text), NULL,
                        0, NI_NUMERICHOST) != 0)
            continue;
        lua_pushstring(L, plain_address(text));
        lua_rawseti(L, -2, ++n);
    }
    freeaddrinfo(list);
    return 1;
}

/* sys.address_bytes(text): an address in 4 or 16 bytes, or nil if the text is
 * not a numeric address. */
static int sys_address_bytes(lua_State *L)
{
    const char *text = luaL_checkstring(L, 1);
    unsigned char address[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, text, address) == 1)
        lua_pushlstring(L, (const char *)address, sizeof(struct in_addr));
    else if (inet_pton(AF_INET6, text, address) == 1)
        lua_pushlstring(L, (const char *)address, sizeof(address));
    else
        luaL_pushfail(L);
    return 1;
}

static int sys_notify(lua_State *L)
{
    const char *text = luaL_checkstring(L, 1);

    if (taut_socket_notify(getenv("NOTIFY_SOCKET"), text) != 0)
        return taut_fail_errno(L, "NOTIFY_SOCKET");
    lua_pushboolean(L, 1);
    return 1;
}

static int sys_hostname(lua_State *L)
{
    char name[256] = "";

    if (gethostname(name, sizeof(name) - 1) != 0)
        return taut_fail_errno(L, "host name");
    lua_pushstring(L, name);
    return 1;
}

static int sys_uid(lua_State *L)
{
    lua_pushinteger(L, geteuid());
    return 1;
}

/* The whole text as a number, or -1. */
static long long number_of(const char *text)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return -1;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0 && value <= UINT32_MAX ? value : -1;
}

/* The user's record, by name or by number. */
static struct passwd *find_user(const char *name)
{
    struct passwd *pw = getpwnam(name);

    if (pw == NULL && number_of(name) >= 0)
        pw = getpwuid((uid_t)number_of(name));
    return pw;
}

static int sys_user_id(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    const struct passwd *pw = find_user(name);

    if (pw == NULL && number_of(name) < 0)
        return taut_fail(L, "no user '%s'", name);
    lua_pushinteger(L, pw != NULL ? (lua_Integer)pw->pw_uid : number_of(name));
    if (pw != NULL)
        lua_pushinteger(L, (lua_Integer)pw->pw_gid);
    else
        lua_pushnil(L);
    return 2;
}

static int sys_user_name(lua_State *L)
{
    lua_Integer uid = luaL_checkinteger(L, 1);
    const struct passwd *pw = getpwuid((uid_t)uid);

    if (pw != NULL)
        lua_pushstring(L, pw->pw_name);
    else
        lua_pushfstring(L, "%I", (LUAI_UACINT)uid);
    return 1;
}

/* sys.in_group(uid, name) -> is the user a member of the group?  False where
 * either is not known here. */
static int sys_in_group(lua_State *L)
{
    const struct passwd *pw = getpwuid((uid_t)luaL_checkinteger(L, 1));
    const struct group *group = getgrnam(luaL_checkstring(L, 2));
    gid_t *list = NULL, wanted = group != NULL ? group->gr_gid : 0;
    int n = 64, found = 0;

    if (pw != NULL && group != NULL)
        list = calloc((size_t)n, sizeof(*list));
    while (list != NULL &&
           getgrouplist(pw->pw_name, pw->pw_gid, list, &n) < 0) {
        free(list); /* 'n' is how many there are */
        list = n <= 65536 ? calloc((size_t)n, sizeof(*list)) : NULL;
    }
    for (int i = 0; list != NULL && i < n; i++)
        found = found || list[i] == wanted;
    free(list);
    lua_pushboolean(L, found);
    return 1;
}

static int sys_isatty(lua_State *L)
{
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
    return 1;
}

/* What the environment says, or else what the terminal has, or else
 * 'fallback'. */
static int push_extent(lua_State *L, const char *name, bool is_width,
                       lua_Integer fallback)
{
    struct winsize size = {.ws_col = 0};
    const char *env = getenv(name);
    long long n = env != NULL ? number_of(env) : -1;

    if (n <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        n = is_width ? size.ws_col : size.ws_row;
    lua_pushinteger(L, n > 0 ? n : fallback);
    return 1;
}

static int sys_columns(lua_State *L)
{
    return push_extent(L, "COLUMNS", true, DEFAULT_COLUMNS);
}

static int sys_rows(lua_State *L)
{
    return push_extent(L, "LINES", false, DEFAULT_ROWS);
}

static int sys_mkdir(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    mode_t mode = (mode_t)luaL_optinteger(L, 2, 0755);
    struct stat st;

    if (mkdir(path, mode) != 0) {
        int saved = errno;
        if (saved != EEXIST || stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
            errno = saved;
            return taut_fail_errno(L, "%s", path);
        }
    }
    lua_pushboolean(L, 1);
    return 1;
}

#define CREATE_TRIES 8

/* Open a new file beside 'path', with an unpredictable name, into 'name';
 * whatever has that name already, a link too, is left alone. */
static int open_beside(const char *path, char *name, size_t size)
{
    for (int i = 0; i < CREATE_TRIES; i++) {
        uint64_t random;

        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            return -1;
        snprintf(name, size, "%s.%016" PRIx64, path, random);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static int close_file(lua_State *L)
{
    luaL_Stream *s = luaL_checkudata(L, 1, LUA_FILEHANDLE);

    return luaL_fileresult(L, fclose(s->f) == 0, NULL);
}

/* create_beside(path) -> file, name: a new empty file in the folder of 'path',
 * with the mode that the umask leaves, to be renamed to it when it is whole.
 * nil and why when that is not possible, or if another kind of file exists
 * there: a device must not be replaced by a file. */
static int sys_create_beside(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    char name[4096];
    struct stat st;

    luaL_argcheck(L, strlen(path) + 18 < sizeof(name), 1, "is too long");
    luaL_argcheck(L, path[0] != '\0', 1, "is empty");
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return taut_fail(L, "%s: is not a regular file", path);
    luaL_Stream *s = lua_newuserdatauv(L, sizeof(*s), 0);
    s->closef = NULL; /* nothing to close yet */
    s->f = NULL;
    luaL_setmetatable(L, LUA_FILEHANDLE);
    int fd = open_beside(path, name, sizeof(name));
    if (fd < 0)
        return taut_fail_errno(L, "%s", path);
    s->f = fdopen(fd, "w");
    if (s->f == NULL) {
        int saved = errno;
        close(fd);
        unlink(name);
        errno = saved;
        return taut_fail_errno(L, "%s", path);
    }
    s->closef = close_file;
    lua_pushstring(L, name);
    return 2;
}

static int sys_now(lua_State *L)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    lua_pushnumber(L, (double)ts.tv_sec + (double)ts.tv_nsec / 1e9);
    return 1;
}

static int next_line(lua_State *L)
{
    char **buffer = lua_touserdata(L, lua_upvalueindex(1));
    size_t size = 0;

    free(*buffer);
    *buffer = NULL;
    ssize_t n = getline(buffer, &size, stdin);
    if (n < 0)
        return 0;
    if (n > 0 && (*buffer)[n - 1] == '\n')
        n--;
    lua_pushlstring(L, *buffer, (size_t)n);
    return 1;
}

#define LINES_CLASS "taut.sys.lines"

static int lines_gc(lua_State *L)
{
    char **buffer = luaL_checkudata(L, 1, LINES_CLASS);

    free(*buffer);
    *buffer = NULL;
    return 0;
}

#define EXEC_ARGS_MAX 64

/* exec{ program, argument, ... }: become another program; returns only when
 * that fails. */
static int sys_exec(lua_State *L)
{
    const char *argv[EXEC_ARGS_MAX + 1] = {NULL};

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Unsigned n = lua_rawlen(L, 1);
    luaL_argcheck(L, n >= 1 && n <= EXEC_ARGS_MAX, 1, "1 to 64 texts expected");
    luaL_checkstack(L, EXEC_ARGS_MAX, NULL);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1);
        argv[i] = luaL_checkstring(L, -1); /* stays on the stack */
    }
    fflush(NULL);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    return taut_fail_errno(L, "%s", argv[0]);
}

static int sys_lines(lua_State *L)
{
    char **buffer = lua_newuserdatauv(L, sizeof(*buffer), 0);

    *buffer = NULL;
    luaL_setmetatable(L, LINES_CLASS);
    lua_pushcclosure(L, next_line, 1);
    return 1;
}

/* sys.plain(text): as one line that does nothing to a terminal. */
static int sys_plain(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    luaL_Buffer b;
    char *copy = luaL_buffinitsize(L, &b, n + 1);

    for (size_t i = 0; i < n; i++)
        copy[i] = text[i] != '\0' ? text[i] : '?';
    copy[n] = '\0';
    taut_host_plain(copy);
    luaL_pushresultsize(&b, n);
    return 1;
}

static int sys_put(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);

    if (fwrite(text, 1, n, stdout) != n || fflush(stdout) != 0)
        return taut_fail_errno(L, "standard output");
    lua_pushboolean(L, 1);
    return 1;
}

/* This program's own file, so that it can start itself as a helper. */
static void set_own_path(lua_State *L)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path));

    if (n <= 0 || (size_t)n >= sizeof(path))
        return;
    lua_pushlstring(L, path, (size_t)n);
    lua_setfield(L, -2, "program");
}

static void push_paths(lua_State *L)
{
    const struct {
        const char *name, *path;
    } paths[] = {
        {"confdir", TAUT_CONFDIR},       {"libexecdir", TAUT_LIBEXECDIR},
        {"luadir", taut_host_luadir(L)}, {"rundir", TAUT_RUNDIR},
        {"spankdir", TAUT_SPANKDIR},     {"statedir", TAUT_STATEDIR},
    };

    lua_newtable(L);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        lua_pushstring(L, paths[i].path);
        lua_setfield(L, -2, paths[i].name);
    }
    set_own_path(L);
}

int luaopen_taut_sys(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"address_bytes", sys_address_bytes},
        {"addresses", sys_addresses},
        {"append", taut_sys_append},
        {"chmod", taut_sys_chmod},
        {"columns", sys_columns},
        {"create_beside", sys_create_beside},
        {"exec", sys_exec},
        {"hostname", sys_hostname},
        {"in_group", sys_in_group},
        {"isatty", sys_isatty},
        {"lines", sys_lines},
        {"lock", taut_sys_lock},
        {"log", taut_sys_log},
        {"log_as", taut_sys_log_as},
        {"log_to_stderr", taut_sys_log_to_stderr},
        {"mkdir", sys_mkdir},
        {"names", taut_sys_names},
        {"notify", sys_notify},
        {"now", sys_now},
        {"plain", sys_plain},
        {"put", sys_put},
        {"request", sys_request},
        {"rows", sys_rows},
        {"space", taut_sys_space},
        {"stat", taut_sys_stat},
        {"uid", sys_uid},
        {"user_id", sys_user_id},
        {"user_name", sys_user_name},
        {"write_durably", taut_sys_write_durably},
        {"write_whole", taut_sys_write_whole},
        {NULL, NULL},
    };
    static const luaL_Reg none[] = {{NULL, NULL}};

    taut_class(L, LINES_CLASS, none, lines_gc);
    luaL_newlib(L, functions);
    push_paths(L);
    lua_setfield(L, -2, "paths");
    lua_pushliteral(L, PACKAGE_VERSION);
    lua_setfield(L, -2, "version");
    return 1;
}

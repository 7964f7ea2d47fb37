# SPDX-License-Identifier: GPL-2.0-or-later
# Lua 5.4, under the names that distributions give its pkg-config file.
AC_DEFUN([TAUT_LUA], [
  taut_lua_pc=
  for taut_pc in lua5.4 lua-5.4 lua54 lua; do
    AS_IF([test -z "$taut_lua_pc" &&
           $PKG_CONFIG --atleast-version=5.4 --max-version=5.5 $taut_pc],
      [taut_lua_pc=$taut_pc])
  done
  AS_IF([test -z "$taut_lua_pc"],
    [AC_MSG_ERROR([Lua 5.4 is missing (Debian: liblua5.4-dev)])])
  PKG_CHECK_MODULES([LUA], [$taut_lua_pc])
  AC_PATH_PROGS([LUA], [lua5.4 lua54 lua], [lua5.4])
])

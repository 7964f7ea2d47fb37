# SPDX-License-Identifier: GPL-2.0-or-later
# Our warnings go to AM_CFLAGS, the user's CFLAGS are left alone;
# --enable-werror makes them fatal.
AC_DEFUN([TAUT_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
    [taut_werror=$enableval], [taut_werror=no])
  TAUT_CFLAGS="-std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes"
  TAUT_CFLAGS="$TAUT_CFLAGS -Wmissing-prototypes -Wpointer-arith -Wvla"
  TAUT_CFLAGS="$TAUT_CFLAGS -Wformat=2 -Wundef -fvisibility=hidden"
  TAUT_CFLAGS="$TAUT_CFLAGS -fno-common"
  AS_IF([test "x$taut_werror" = xyes], [TAUT_CFLAGS="$TAUT_CFLAGS -Werror"])
  AC_SUBST([TAUT_CFLAGS])
])

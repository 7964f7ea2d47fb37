# SPDX-License-Identifier: GPL-2.0-or-later
# hwloc, to run the probe near its interface: used when it is there.
AC_DEFUN([TAUT_HWLOC], [
  AC_ARG_WITH([hwloc],
    [AS_HELP_STRING([--without-hwloc], [do not bind the probe to processors])],
    [], [with_hwloc=auto])
  taut_have_hwloc=no
  AS_IF([test "x$with_hwloc" != xno], [
    PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [taut_have_hwloc=yes],
      [AS_IF([test "x$with_hwloc" != xauto],
        [AC_MSG_ERROR([hwloc 2.0 is missing (Debian: libhwloc-dev)])])])
  ])
  AM_CONDITIONAL([HAVE_HWLOC], [test "x$taut_have_hwloc" = xyes])
])

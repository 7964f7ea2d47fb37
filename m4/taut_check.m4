# SPDX-License-Identifier: GPL-2.0-or-later
# The Check unit test framework; without it `make check' runs fewer tests.
AC_DEFUN([TAUT_CHECK], [
  AC_ARG_ENABLE([unit-tests],
    [AS_HELP_STRING([--disable-unit-tests], [do without the Check framework])],
    [], [enable_unit_tests=auto])
  taut_have_check=no
  AS_IF([test "x$enable_unit_tests" != xno], [
    PKG_CHECK_MODULES([CHECK], [check >= 0.10], [taut_have_check=yes],
      [AS_IF([test "x$enable_unit_tests" = xyes],
        [AC_MSG_ERROR([Check is missing (Debian: check)])])])
  ])
  AM_CONDITIONAL([HAVE_CHECK], [test "x$taut_have_check" = xyes])
])

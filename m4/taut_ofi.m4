# SPDX-License-Identifier: GPL-2.0-or-later
# libfabric, for the transport ofi: used when it is there.
AC_DEFUN([TAUT_OFI], [
  AC_ARG_WITH([ofi],
    [AS_HELP_STRING([--without-ofi], [build no transport for libfabric])],
    [], [with_ofi=auto])
  taut_have_ofi=no
  AS_IF([test "x$with_ofi" != xno], [
    PKG_CHECK_MODULES([OFI], [libfabric >= 1.11], [taut_have_ofi=yes],
      [AS_IF([test "x$with_ofi" != xauto],
        [AC_MSG_ERROR([libfabric 1.11 is missing (Debian: libfabric-dev)])])])
  ])
  AM_CONDITIONAL([HAVE_OFI], [test "x$taut_have_ofi" = xyes])
])

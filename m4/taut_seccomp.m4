# SPDX-License-Identifier: GPL-2.0-or-later
# libseccomp, to forbid taut-probe system calls it has no use for: used when it
# is there, by a program that runs while Taut is built.  A sanitizer makes calls
# of its own.
AC_DEFUN([TAUT_SECCOMP], [
  AC_ARG_WITH([seccomp],
    [AS_HELP_STRING([--without-seccomp],
      [leave taut-probe all system calls])],
    [], [with_seccomp=auto])
  AS_IF([test "x$taut_sanitizers$taut_fuzzers" != xnono], [with_seccomp=no])
  taut_have_seccomp=no
  AS_IF([test "x$cross_compiling$with_seccomp" = xyesauto], [
    AC_MSG_WARN([another machine's filters of system calls cannot be made here])
    with_seccomp=no
  ])
  AS_IF([test "x$with_seccomp" != xno], [
    PKG_CHECK_MODULES([SECCOMP], [libseccomp >= 2.4], [taut_have_seccomp=yes],
      [AS_IF([test "x$with_seccomp" != xauto],
        [AC_MSG_ERROR([libseccomp 2.4 is missing (Debian: libseccomp-dev)])])])
  ])
  AS_IF([test "x$taut_have_seccomp" = xyes],
    [AC_DEFINE([HAVE_SECCOMP], [1], [Define to 1 if libseccomp is there.])])
  AM_CONDITIONAL([HAVE_SECCOMP], [test "x$taut_have_seccomp" = xyes])
])

# SPDX-License-Identifier: GPL-2.0-or-later
# jemalloc for tautd, which makes and throws away many small tables and
# messages: used when it is there.  A sanitizer has an allocator of its own.
# Nothing of it is called by name, so the linker is told to keep it.
AC_DEFUN([TAUT_JEMALLOC], [
  AC_ARG_WITH([jemalloc],
    [AS_HELP_STRING([--without-jemalloc],
      [let tautd use malloc of the C library])],
    [], [with_jemalloc=auto])
  AS_IF([test "x$taut_sanitizers$taut_fuzzers" != xnono], [with_jemalloc=no])
  taut_have_jemalloc=no
  AS_IF([test "x$with_jemalloc" != xno], [
    PKG_CHECK_MODULES([JEMALLOC], [jemalloc >= 5.0], [taut_have_jemalloc=yes],
      [AS_IF([test "x$with_jemalloc" != xauto],
        [AC_MSG_ERROR([jemalloc 5 is missing (Debian: libjemalloc-dev)])])])
  ])
  AS_IF([test "x$taut_have_jemalloc" = xyes],
    [AC_SUBST([TAUTD_MALLOC],
      ["-Wl,--push-state,--no-as-needed $JEMALLOC_LIBS -Wl,--pop-state"])])
])

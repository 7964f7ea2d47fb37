# SPDX-License-Identifier: GPL-2.0-or-later
# InfiniBand: libibmad knows the fields of management datagrams, libibumad
# sends them.  Used where they are found; --with-ibmad makes them required.
AC_DEFUN([TAUT_IBMAD], [
  AC_ARG_WITH([ibmad],
    [AS_HELP_STRING([--with-ibmad],
      [InfiniBand fabric sweeps through libibmad and libibumad
       (default: if found)])],
    [], [with_ibmad=check])
  taut_ibmad=no
  AS_IF([test "x$with_ibmad" != xno], [
    PKG_CHECK_MODULES([IBMAD], [libibmad >= 5 libibumad >= 3],
      [taut_ibmad=yes], [taut_ibmad=no])
    AS_IF([test "x$with_ibmad" != xcheck && test $taut_ibmad = no],
      [AC_MSG_ERROR([libibmad or libibumad is missing
                     (Debian: libibmad-dev libibumad-dev)])])
  ])
  AM_CONDITIONAL([IBMAD], [test $taut_ibmad = yes])
])

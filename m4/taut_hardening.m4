# SPDX-License-Identifier: GPL-2.0-or-later
# What OpenSSH and munge are compiled with, too: each flag that the compiler
# and the linker take, unless --disable-hardening.  Sanitizers have their own
# ways to catch the same, and do not go with _FORTIFY_SOURCE.

# TAUT_TRY_FLAG(VARIABLE, FLAG): append it, where it works
AC_DEFUN([TAUT_TRY_FLAG], [
  AC_MSG_CHECKING([whether $CC takes $2])
  taut_save_cflags=$CFLAGS
  CFLAGS="$CFLAGS $2 -Werror"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]],
      [[char a[8]; strcpy(a, "x"); return a[1];]])],
    [$1="$$1 $2"; AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
  CFLAGS=$taut_save_cflags
])

AC_DEFUN([TAUT_HARDENING], [
  AC_ARG_ENABLE([hardening],
    [AS_HELP_STRING([--disable-hardening],
      [leave out stack protector, FORTIFY, RELRO and the like])],
    [taut_hardening=$enableval], [taut_hardening=yes])
  AS_IF([test "x$taut_sanitizers$taut_fuzzers" != xnono], [taut_hardening=no])
  AS_IF([test "x$taut_hardening" = xyes], [
    for taut_flag in -fstack-protector-strong -fstack-clash-protection \
        -fcf-protection=full -fPIE; do
      TAUT_TRY_FLAG([HARDENING_CFLAGS], [$taut_flag])
    done
    for taut_flag in -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack; do
      TAUT_TRY_FLAG([HARDENING_LDFLAGS], [$taut_flag])
    done
    TAUT_TRY_FLAG([HARDENING_PIE], [-pie])
    taut_fortify=
    TAUT_TRY_FLAG([taut_fortify], [-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3])
    AS_IF([test -z "$taut_fortify"],
      [TAUT_TRY_FLAG([taut_fortify], [-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2])])
    HARDENING_CFLAGS="$HARDENING_CFLAGS $taut_fortify"
    # srun, slurmd and slurmstepd each have only some of Slurm's functions
    AS_CASE(["$HARDENING_LDFLAGS"], [*now*], [HARDENING_LAZY=-Wl,-z,lazy])
    taut_hardening=$(echo $HARDENING_CFLAGS $HARDENING_LDFLAGS $HARDENING_PIE)
  ])
  AC_SUBST([HARDENING_CFLAGS])
  AC_SUBST([HARDENING_LAZY])
  AC_SUBST([HARDENING_LDFLAGS])
  AC_SUBST([HARDENING_PIE])
])

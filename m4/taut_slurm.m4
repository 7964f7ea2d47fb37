# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm's headers and libslurm.  Only the program that talks to slurmctld
# links the library; the SPANK plugin finds its symbols in slurmstepd.
AC_DEFUN([TAUT_SLURM], [
  AC_ARG_WITH([slurm],
    [AS_HELP_STRING([--with-slurm=PREFIX],
      [where Slurm is installed (headers in PREFIX/include/slurm)])],
    [], [with_slurm=])
  SLURM_CFLAGS= SLURM_LIBS=-lslurm
  AS_IF([test -n "$with_slurm" && test "x$with_slurm" != xyes], [
    # its own headers are not warned about: some are no prototypes in 26.05
    SLURM_CFLAGS="-isystem $with_slurm/include"
    SLURM_LIBS="-L$with_slurm/lib -Wl,-rpath,$with_slurm/lib -lslurm"
  ])
  taut_save_CPPFLAGS=$CPPFLAGS taut_save_LIBS=$LIBS
  CPPFLAGS="$CPPFLAGS $SLURM_CFLAGS" LIBS="$SLURM_LIBS $LIBS"
  AC_CHECK_HEADERS([slurm/slurm.h slurm/spank.h], [],
    [AC_MSG_ERROR([Slurm's headers are missing (Debian: libslurm-dev and
                   slurm-wlm-basic-plugins-dev)])])
  AC_CHECK_FUNC([slurm_load_node_single], [],
    [AC_MSG_ERROR([libslurm does not link: give --with-slurm=PREFIX])])
  AC_COMPUTE_INT([taut_slurm_num], [SLURM_VERSION_NUMBER],
    [#include <slurm/slurm.h>], [taut_slurm_num=0])
  # 17.02 to 18.08 are the last that run over ALPS
  AS_IF([test "$taut_slurm_num" -lt 1114624 || { test "$taut_slurm_num" -ge 1246464 &&
         test "$taut_slurm_num" -lt 1443072; }],
    [AC_MSG_ERROR([Slurm 22.05 or later is needed, or 17.02 to 18.08 over ALPS])])
  taut_slurm_version=$(printf '%d.%02d.%d' $((taut_slurm_num >> 16)) \
    $((taut_slurm_num >> 8 & 255)) $((taut_slurm_num & 255)))
  CPPFLAGS=$taut_save_CPPFLAGS LIBS=$taut_save_LIBS
  AC_SUBST([SLURM_CFLAGS])
  AC_SUBST([SLURM_LIBS])
])

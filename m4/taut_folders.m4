# SPDX-License-Identifier: GPL-2.0-or-later
# Folders that belong to others: where Slurm looks for plugins, systemd for units.
# All of them are under the prefix unless somebody says otherwise.
AC_DEFUN([TAUT_FOLDERS], [
  AC_ARG_WITH([spankdir],
    [AS_HELP_STRING([--with-spankdir=DIR],
      [where spank_taut.so goes: Slurm's PluginDir @<:@LIBDIR/slurm@:>@])],
    [], [with_spankdir='${libdir}/slurm'])
  AC_ARG_WITH([systemdsystemunitdir],
    [AS_HELP_STRING([--with-systemdsystemunitdir=DIR],
      [where tautd's unit goes @<:@PREFIX/lib/systemd/system@:>@])],
    [], [with_systemdsystemunitdir='${prefix}/lib/systemd/system'])
  AC_SUBST([taut_slurmlibdir], [$with_spankdir])
  AC_SUBST([systemdsystemunitdir], [$with_systemdsystemunitdir])
])

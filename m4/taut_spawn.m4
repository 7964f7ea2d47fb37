# SPDX-License-Identifier: GPL-2.0-or-later
# How a child's other descriptors are closed: glibc 2.34 can do it in one.
AC_DEFUN([TAUT_SPAWN], [
  AC_CHECK_FUNCS([posix_spawn_file_actions_addclosefrom_np])
])

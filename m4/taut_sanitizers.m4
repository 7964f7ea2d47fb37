# SPDX-License-Identifier: GPL-2.0-or-later
# --enable-sanitizers builds everything with ASan and UBSan.
AC_DEFUN([TAUT_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers],
      [build with the address and undefined behaviour sanitizers])],
    [taut_sanitizers=$enableval], [taut_sanitizers=no])
  AS_IF([test "x$taut_sanitizers" = xyes], [
    SANITIZER_CFLAGS="-fsanitize=address,undefined -fno-omit-frame-pointer"
    SANITIZER_CFLAGS="$SANITIZER_CFLAGS -fno-sanitize-recover=undefined"
  ])
  AC_SUBST([SANITIZER_CFLAGS])
])

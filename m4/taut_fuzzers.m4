# SPDX-License-Identifier: GPL-2.0-or-later
# --enable-fuzzers builds tests/fuzz with libFuzzer; it needs CC=clang.
AC_DEFUN([TAUT_FUZZERS], [
  AC_ARG_ENABLE([fuzzers],
    [AS_HELP_STRING([--enable-fuzzers],
      [build the fuzz targets (needs clang's libFuzzer)])],
    [taut_fuzzers=$enableval], [taut_fuzzers=no])
  AS_IF([test "x$taut_fuzzers" = xyes], [
    taut_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -fsanitize=fuzzer-no-link"
    AC_MSG_CHECKING([whether $CC knows -fsanitize=fuzzer])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR([--enable-fuzzers needs clang: try CC=clang])])
    CFLAGS=$taut_save_CFLAGS
    taut_fuzz_san="address,undefined -fno-sanitize-recover=undefined"
    FUZZER_CFLAGS="-fsanitize=fuzzer-no-link,$taut_fuzz_san"
    FUZZER_LDFLAGS="-fsanitize=fuzzer,$taut_fuzz_san"
  ])
  AC_SUBST([FUZZER_CFLAGS])
  AC_SUBST([FUZZER_LDFLAGS])
  AM_CONDITIONAL([FUZZERS], [test "x$taut_fuzzers" = xyes])
])

# SPDX-License-Identifier: GPL-2.0-or-later
# The libraries that both sides stand on.
AC_DEFUN([TAUT_LIBS], [
  PKG_CHECK_MODULES([EVENT], [libevent_core >= 2.1 libevent_pthreads >= 2.1],
    [], [AC_MSG_ERROR([libevent 2.1 is missing (Debian: libevent-dev)])])
  dnl Only tautd has an HTTP server.
  PKG_CHECK_MODULES([EVENT_HTTP], [libevent_extra >= 2.1], [],
    [AC_MSG_ERROR([libevent 2.1 is missing (Debian: libevent-dev)])])
  PKG_CHECK_MODULES([JANSSON], [jansson >= 2.11], [],
    [AC_MSG_ERROR([jansson is missing (Debian: libjansson-dev)])])
  PKG_CHECK_MODULES([SODIUM], [libsodium >= 1.0.12], [],
    [AC_MSG_ERROR([libsodium is missing (Debian: libsodium-dev)])])
  PKG_CHECK_MODULES([MUNGE], [munge >= 0.5.11], [],
    [AC_MSG_ERROR([MUNGE is missing (Debian: libmunge-dev)])])
])

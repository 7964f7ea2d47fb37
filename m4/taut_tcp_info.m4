# SPDX-License-Identifier: GPL-2.0-or-later
# What the kernel's headers know of a TCP stream: the youngest field came with
# Linux 5.4, all others that are read with 4.19.
AC_DEFUN([TAUT_TCP_INFO], [
  AC_CHECK_MEMBERS([struct tcp_info.tcpi_rcv_ooopack], [], [],
    [[#include <linux/tcp.h>]])
])

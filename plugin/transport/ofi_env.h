/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libfabric and RDMA drivers read from the environment.  A check has two or
 * three peers a phase; libfabric's defaults are for applications with hundreds
 * and more, and ask devices for queues that some do not have. */
#ifndef TAUT_PLUGIN_TRANSPORT_OFI_ENV_H
#define TAUT_PLUGIN_TRANSPORT_OFI_ENV_H

/* Put settings into the environment, and our own where they name others.  Before
 * libfabric is loaded, while there is one thread.
 *   settings  as the option ofi_env has them: "NAME=VALUE[,NAME=VALUE...]"
 * Returns 0, or -1 with errno ENOMEM. */
int taut_ofi_env_apply(const char *settings);

#endif

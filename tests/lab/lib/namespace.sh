# SPDX-License-Identifier: GPL-2.0-or-later
# namespace.sh router|node IP-BATCH TC-BATCH: set up the network namespace it
# runs in.

set -e
net=/proc/sys/net

# IPv6 goes first: its neighbour discovery would move an idle port's counters.
if [ -e $net/ipv6 ]; then
    echo 1 >$net/ipv6/conf/all/disable_ipv6
    echo 1 >$net/ipv6/conf/default/disable_ipv6
fi
echo 0 >$net/ipv4/conf/all/rp_filter
echo 0 >$net/ipv4/conf/default/rp_filter
if [ "$1" = router ]; then
    echo 1 >$net/ipv4/ip_forward
    echo 0 >$net/ipv4/conf/all/send_redirects
    echo 0 >$net/ipv4/conf/default/send_redirects
else
    # Some machines default to BBR, which looks for a rate over longer times than a test lasts.
    echo cubic >$net/ipv4/tcp_congestion_control 2>/dev/null ||
        echo reno >$net/ipv4/tcp_congestion_control
    # A test must not inherit what an earlier one learnt of its peer.
    echo 1 >$net/ipv4/tcp_no_metrics_save
fi
ip -batch "$2"
tc -batch "$3"

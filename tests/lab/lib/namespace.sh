# SPDX-License-Identifier: GPL-2.0-or-later
# namespace.sh router|node IP-BATCH TC-BATCH SEED "TYPE NAME": set up the network
# namespace it runs in; SEED is of a router's hash, TYPE and NAME of the RDMA device
# on hsn0, "" for none.

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
    # Where several ports are equal, addresses, protocol and ports of a packet
    # choose, as in a switch: the same five-tuple always goes the same way.  (By
    # policy 1 a packet has the hash of the socket it left, another each time.)
    if [ -e $net/ipv4/fib_multipath_hash_policy ]; then
        echo 3 >$net/ipv4/fib_multipath_hash_policy
        echo 55 >$net/ipv4/fib_multipath_hash_fields
    fi
    # Each router its own way, or the second would only see what the first
    # sends to it.
    [ ! -e $net/ipv4/fib_multipath_hash_seed ] || echo "$4" >$net/ipv4/fib_multipath_hash_seed
    # Who asks for the way is told the port he came in by, as often as he asks.
    echo 1 >$net/ipv4/icmp_errors_use_inbound_ifaddr
    echo 0 >$net/ipv4/icmp_ratelimit
else
    # Some machines default to BBR, which looks for a rate over longer times than a test lasts.
    echo cubic >$net/ipv4/tcp_congestion_control 2>/dev/null ||
        echo reno >$net/ipv4/tcp_congestion_control
    # A test must not inherit what an earlier one learnt of its peer.
    echo 1 >$net/ipv4/tcp_no_metrics_save
fi
ip -batch "$2"
tc -batch "$3"
[ -z "$5" ] || rdma link add "${5#* }" type "${5% *}" netdev hsn0

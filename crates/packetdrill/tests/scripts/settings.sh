# The sizes of the receive buffer, from which the window scale follows.
sysctl -q net.ipv4.tcp_rmem="4096 131072 $((15*1024*1024))"

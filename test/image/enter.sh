#!/bin/sh
# In a mount namespace of its own: the folder as a root with the system's programs read-only, then the command in it.
#   enter.sh <root> <node> <state folder, or none> <command ...>
# With a state folder the root is read-only but for it and /tmp, and the command runs as the image's user without any right.
set -eu
root=$1 node=$2 state=$3
shift 3
mount --bind "$root" "$root"
mount --bind /usr "$root/usr"
mount -o remount,ro,bind "$root/usr"
mount -t tmpfs tmpfs "$root/usr/local"
mkdir "$root/usr/local/bin"
: > "$root/usr/local/bin/node"
mount --bind "$node" "$root/usr/local/bin/node"
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
if [ "$state" = none ]; then exec chroot "$root" "$@"; fi
mount -t tmpfs -o size=64m,mode=1777 tmpfs "$root/tmp"
mount --bind "$state" "$root/var/lib/quittance"
mount -o remount,ro,bind "$root"
exec chroot "$root" setpriv --reuid node --regid node --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"

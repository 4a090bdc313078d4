#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fresh.sh: runs the README's commands on a machine that has nothing but make: a minimal Debian 12 in a chroot.
usage() {
  cat <<'END'
Usage: tools/fresh.sh [--keep] [COMMAND...]

Creates a minimal Debian 12 with nothing but make in a temporary folder (debootstrap), clones the
committed state of this repository into it, and runs each COMMAND there as root ("make demo" and
"make test" by default). Prints the exit code of each and the path of its log.

  --keep   keep the root file system; by default only the logs stay
  --help   show this text

Exit code: 0 if every command succeeded, 1 if one failed, 2 if it cannot run here. It needs root, Debian
(or a system with debootstrap and apt sources), about 4 GB in $TMPDIR (/tmp), and a Debian mirror.
END
}

cannot() {
  echo "fresh.sh: cannot run: $1" >&2
  exit 2
}

keep= namespaced=
while :; do
  case ${1-} in
    --help | -h) usage && exit 0 ;;
    --keep) keep=yes ;;
    --namespaced) namespaced=yes ;; # the call of itself below
    -*) usage >&2 && exit 2 ;;
    *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || set -- "make demo" "make test"

# The first mirror of the machine's own sources, so that a local one is used.
find_mirror() {
  {
    cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk '$1 == "URIs:" { print $2 }'
    cat /etc/apt/sources.list 2>/dev/null |
      awk '$1 == "deb" { sub(/\[[^]]*\] */, ""); print $2 }'
    echo http://deb.debian.org/debian
  } | head -n 1
}

project=$(git -C "$(dirname "$0")/.." rev-parse --show-toplevel 2>/dev/null) ||
  cannot "this is not a git repository, and a clone of the commit is what is tested"
[ "$(id -u)" = 0 ] || cannot "not root (chroot and mount need it): try sudo make fresh"
grep -q '^ID=debian' /etc/os-release 2>/dev/null || cannot "this is not Debian: its package sources are copied"
command -v debootstrap >/dev/null || cannot "no debootstrap: apt install debootstrap"

# In a mount namespace of its own nothing stays mounted, however this ends.
if [ -z "$namespaced" ]; then
  unshare --mount true 2>/dev/null || cannot "no mount namespaces (a container without CAP_SYS_ADMIN?)"
  exec unshare --mount --propagation private -- "$0" --namespaced ${keep:+--keep} "$@"
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/situ-fresh.XXXXXX") || cannot "no temporary folder"
root=$folder/root

# Mount points below the root, the deepest first.
mounted() {
  awk -v root="$root/" 'index($2, root) == 1 { print $2 }' /proc/mounts | sort -r
}

clean_up() {
  trap '' INT TERM HUP
  mounted | while read -r point; do umount -l "$point"; done
  if [ -n "$(mounted)" ]; then
    echo "fresh.sh: still mounted, so $root is left: $(mounted | tr '\n' ' ')" >&2
  elif [ -z "$keep" ]; then
    rm -rf --one-file-system "$root"
  fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

mirror=$(find_mirror)
echo "Debian 12 from $mirror in $root"
debootstrap --variant=minbase --include=make,ca-certificates bookworm "$root" "$mirror" \
  >"$folder/debootstrap.log" 2>&1 || {
  tail -n 3 "$folder/debootstrap.log" >&2
  cannot "debootstrap failed, perhaps without a network: $folder/debootstrap.log"
}

# The network of this machine: names, proxies, certificates, package sources, also of pip.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null
cp -L /etc/pip.conf "$root/etc/" 2>/dev/null
cp -L /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null
if grep -qs bookworm /etc/apt/sources.list.d/debian.sources; then
  cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/"
  rm -f "$root/etc/apt/sources.list"
fi
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" || cannot "mount failed"
git clone -q "$project" "$root/root/situ" || cannot "git clone failed"
inside() {
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    ${http_proxy+http_proxy="$http_proxy"} ${https_proxy+https_proxy="$https_proxy"} \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt sh -c "$1"
}
inside "apt-get -qq update" >"$folder/apt.log" 2>&1 || cannot "apt-get update failed: $folder/apt.log"

failed=0
number=0
for command in "$@"; do
  number=$((number + 1))
  log=$folder/$number-$(echo "$command" | tr -cs 'a-zA-Z0-9\n' '-' | cut -c 1-40).log
  inside "cd /root/situ && $command" >"$log" 2>&1 </dev/null
  code=$?
  echo "$command: exit code $code, log $log"
  [ $code = 0 ] && continue
  failed=1
  tail -n 15 "$log"
done
exit $failed

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sysroot.sh: the headers and libraries of glibc 2.31 (Debian 11), so that wheels run on older systems than this one.
# Usage: tools/wheels/sysroot.sh FOLDER DOWNLOADS
folder=$1 downloads=$2
here=$(dirname "$0")

packages() {
  case $(uname -m) in
    x86_64) cat <<'PACKAGES' ;;
05f7264da867b37f4c5ce49266b558ea1e81e05a9464f623152fca70f3550282 pool/main/g/glibc/libc6_2.31-13+deb11u11_amd64.deb
e7f7b45d9c5cfcf37609f0b6efd3c645272c812144703af89dfd32218fcb0fd3 pool/main/g/glibc/libc6-dev_2.31-13+deb11u11_amd64.deb
e3be603bd12377bb90fcfb0f2048ca3a81c886e49d6f09945b82159d1c54f7b2 pool/main/l/linux/linux-libc-dev_5.10.223-1_amd64.deb
PACKAGES
    aarch64) cat <<'PACKAGES' ;;
baaa9aa184e2f21738c5819055e6740cc5b22f198e3f416e33f82b40ff6933d8 pool/main/g/glibc/libc6_2.31-13+deb11u11_arm64.deb
28d478134722dcd4b0bd2045a199301d18713bf95947b9fce66634e7aeacab2e pool/main/g/glibc/libc6-dev_2.31-13+deb11u11_arm64.deb
8b6374a64412d33eac61d74f77b8f932da4b8a707ea8a614791e2a35b8917618 pool/main/l/linux/linux-libc-dev_5.10.223-1_arm64.deb
PACKAGES
    *) echo "sysroot.sh: no packages listed for $(uname -m)" >&2 && return 1 ;;
  esac
}

# A .deb is an ar archive with data.tar.xz inside: any Linux can unpack it.
unpack() {
  ar p "$1" data.tar.xz | tar -xJ -C "$folder.new"
}

# Links such as libpthread.so -> /lib/... would lead out of the folder.
make_links_relative() {
  find "$folder.new" -type l -lname '/*' | while read -r link; do
    ln -sfr "$folder.new$(readlink "$link")" "$link" || return 1
  done
}

[ -f "$folder/complete" ] && exit 0
list=$(packages) || exit 1
rm -rf "$folder" "$folder.new"
mkdir -p "$folder.new" || exit 1
echo "$list" | while read -r sum path; do
  file=$("$here/fetch.sh" "$downloads" "$sum" "$path") && unpack "$file" || exit 1
done || exit 1
make_links_relative && touch "$folder.new/complete" && mv "$folder.new" "$folder"

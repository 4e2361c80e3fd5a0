#!/bin/sh
# Both commands of the README on a bare system: check_bare.sh [quick]
#
# Makes a minimal Debian of this machine's release in a folder below TMPDIR (else /tmp), unpacks the sources there as an
# archive, which is no repository, and runs `./bootstrap run` and `./bootstrap check` as root in it. With `quick`, only
# a few tests follow the first. Needs root, for device nodes and mounts, 4 GB of disk, and what apt needs here: mirrors,
# keyring and proxies are those of this machine's apt. Nothing of it remains; the last line counts the
# tests.
set -eu
cd "$(dirname "$0")/.."
commands='./bootstrap run && ./bootstrap check'
[ "${1:-}" != quick ] || commands="./bootstrap run && make -j\$(nproc) check LIT_DIRS='test/unit test/lit/driver'"
[ "$(id -u)" = 0 ] || { echo "a bare system is made by root alone: sudo make check-bare" >&2; exit 1; }
if ! command -v debootstrap >/dev/null; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends debootstrap >/dev/null
fi

# apt's archives of this release of Debian: "base URI, suite, component, keyring", a line each
# shellcheck disable=SC1091
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
archives() {
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI) $(RELEASE) $(COMPONENT) $(SIGNED_BY)' \
		'Created-By: Packages' | sed -n "s/^Debian ${codename}[^ ]* //p"
}
[ -n "$(archives)" ] || apt-get update -qq
main=$(archives | grep " $codename main " | head -n 1) || true
[ -n "$main" ] || { echo "apt has no archive of Debian $codename here" >&2; exit 1; }
# shellcheck disable=SC2086
set -- $main
mirror=$1 keyring=$4
[ -e "$keyring" ] || keyring=/usr/share/keyrings/debian-archive-keyring.gpg # none is named
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
export http_proxy https_proxy

bare=$(mktemp -d "${TMPDIR:-/tmp}/bare-XXXXXX")
trap 'rm -rf --one-file-system "$bare"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$bare"
echo "making a bare Debian $codename"
# mounts end with the namespace
unshare --mount debootstrap --variant=minbase --keyring="$keyring" "$codename" "$bare" "$mirror" >"$bare/log" ||
	{ tail -n 20 "$bare/log" >&2; exit 1; }
archives | sort -u | while read -r uri suite component _; do
	echo "deb $uri $suite $component"
done >"$bare/etc/apt/sources.list"
cp "$keyring" "$bare/etc/apt/trusted.gpg.d/"
apt-config dump Acquire >"$bare/etc/apt/apt.conf.d/00acquire"
echo force-unsafe-io >"$bare/etc/dpkg/dpkg.cfg.d/unsafe-io" # it is thrown away
cp /etc/resolv.conf /etc/hosts "$bare/etc/"

mkdir "$bare/root/tsr"
if git rev-parse --git-dir >/dev/null 2>&1; then
	git ls-files -z
else
	find . \( -path ./build -o -path ./.git \) -prune -o -type f -print0
fi | tar -c --null -T - | tar -x -C "$bare/root/tsr"

# shellcheck disable=SC2046
unshare --mount --pid --fork --kill-child --mount-proc="$bare/proc" chroot "$bare" \
	env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin $(env | grep -i '^[a-z]*_proxy=' || true) \
	sh -c "cd /root/tsr && $commands"

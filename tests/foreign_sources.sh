#!/usr/bin/env bash
# Brings more than a thousand captures of other projects into build/foreign, out of Debian's source packages (180 MB).
#
#     tests/foreign_sources.sh
#
# Asks the archive that apt is set up for, with sources and lists of its own: the machine's stay as they are, and need no
# deb-src line. What is there already stays. debian-security is not asked: all four stand in the archive itself.
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=build/foreign
packages=(libpcap ndpi tcpdump wireshark)
if [ -e "$folder/complete" ]; then
    exit 0
fi
apt=$PWD/$folder/apt
mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
archive=$(apt-get indextargets --no-release-info --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 'Component: main' |
    sed -n "s|^$suite \(.*/debian/\)\$|\1|p" | head -n 1)
printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "${archive:-http://deb.debian.org/debian/}" \
    "$suite" /usr/share/keyrings/debian-archive-keyring.gpg >"$apt/parts/debian.sources"
options=(-qq -o Acquire::Retries=5 -o APT::Sandbox::User=root -o Dir::Etc::SourceList=/dev/null
    -o Dir::Etc::SourceParts="$apt/parts" -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache")
apt-get "${options[@]}" update
(cd "$apt" && apt-get "${options[@]}" source --download-only --tar-only "${packages[@]}")

# One folder a package, less the name and version that its archive begins with. apt has checked the archives; tar calls it
# a failure where a pattern finds nothing.
names=('*.pcap' '*.pcapng' '*.cap' '*.pcap.gz' '*.pcapng.gz' '*.cap.gz' '*.ntar.gz')
for package in "${packages[@]}"; do
    rm -rf "${folder:?}/$package"
    mkdir "$folder/$package"
    tar -x -f "$apt/$package"_*.orig.tar.* -C "$folder/$package" --strip-components=1 --wildcards --no-anchored \
        "${names[@]}" 2>"$apt/$package.log" || grep -v -e 'Not found in archive$' -e 'previous errors$' "$apt/$package.log" &
done
wait
found=$(find "${packages[@]/#/$folder/}" -type f | wc -l)
echo "$found captures of ${packages[*]}"
if [ "$found" -lt 1000 ]; then
    echo "$folder: at least 1,000 captures were expected" >&2
    exit 1
fi
rm -r "$apt"
touch "$folder/complete"

#!/usr/bin/env bash
# Brings more than a thousand captures of other projects into build/foreign, out of Debian's source packages (180 MB).
#
#     tests/foreign_sources.sh
#
# Asks the archive by apt, with sources and lists of its own, so that the machine's are left alone. What is there stays.
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=build/foreign
packages=(libpcap ndpi tcpdump wireshark)
if [ -e "$folder/complete" ]; then
    exit 0
fi
mkdir -p "$folder/apt/parts" "$folder/apt/lists/partial"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
for part in "debian $suite" "debian-security $suite-security"; do
    read -r archive name <<<"$part"
    printf 'Types: deb-src\nURIs: http://deb.debian.org/%s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
        "$archive" "$name" /usr/share/keyrings/debian-archive-keyring.gpg >"$folder/apt/parts/$archive.sources"
done
options=(-qq -o Acquire::Retries=5 -o Dir::Etc::SourceList="$PWD/$folder/apt/none" -o APT::Sandbox::User=root
    -o Dir::Etc::SourceParts="$PWD/$folder/apt/parts" -o Dir::State::Lists="$PWD/$folder/apt/lists")
touch "$folder/apt/none"
apt-get "${options[@]}" update
(cd "$folder/apt" && apt-get "${options[@]}" source --download-only --tar-only "${packages[@]}")

# One folder a package, less the name and version that its archive begins with.
for package in "${packages[@]}"; do
    mkdir -p "$folder/$package"
    tar -x -f "$folder/apt/$package"_*.orig.tar.* -C "$folder/$package" --strip-components=1 --wildcards --no-anchored \
        '*.pcap' '*.pcapng' '*.cap' '*.pcap.gz' '*.pcapng.gz' '*.cap.gz' '*.ntar.gz' &
done
wait
rm -r "$folder/apt"
touch "$folder/complete"
find "$folder" -type f | wc -l

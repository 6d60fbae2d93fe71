"""Sends datagrams through tunnels whose outer checksum is on, and prints the frames as hexadecimal, one a line.

Run in a network namespace of its own (unshare --net): it makes a pair of virtual cards and tunnels over them. The
frames are captured on the card that sends, where the kernel has made the outer checksum for an inner one that is still
left to the card (local checksum offload).
"""

from __future__ import annotations

import socket
import subprocess
import sys

LINKS = """
link add card0 type veth peer name card1
link set card0 address 02:00:00:00:00:01 up
link set card1 address 02:00:00:00:00:02 up
addr add 192.0.2.1/24 dev card0
neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev card0
"""
TUNNELS = {
    "vxlan": "link add NAME type vxlan id 100 local 192.0.2.1 remote 192.0.2.2 dstport 4789 udpcsum",
    "geneve": "link add NAME type geneve id 100 remote 192.0.2.2 udpcsum",
    "gretap": "link add NAME type gretap local 192.0.2.1 remote 192.0.2.2 csum",
}
SIZES = (0, 1, 5, 100, 1000)


def ip(line: str) -> bool:
    return subprocess.run(["ip", *line.split()], capture_output=True, check=False).returncode == 0


def main() -> int:
    if not all(map(ip, LINKS.strip().splitlines())):
        return 1
    card = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    card.bind(("card0", 3))
    card.settimeout(0.2)
    for number, (name, line) in enumerate(TUNNELS.items()):
        there = f"10.9.{number}.2"
        setup = (
            line.replace("NAME", name),
            f"link set {name} address 02:00:00:00:01:01 up",
            f"addr add 10.9.{number}.1/24 dev {name}",
            f"neigh add {there} lladdr 02:00:00:00:01:02 dev {name}",
        )
        if not all(map(ip, setup)):
            continue  # a kernel without this kind
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for size in SIZES:
                sender.sendto(b"x" * size, (there, 9999))
        while True:
            try:
                frame = card.recv(65536)
            except TimeoutError:
                break
            if frame[12:14] == b"\x08\0" and frame[23] in {17, 47} and b"\x0a\x09" in frame:
                sys.stdout.write(f"{frame.hex()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

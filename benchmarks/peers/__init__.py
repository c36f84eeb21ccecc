"""The formats to compare, one module each, imported on demand."""

from __future__ import annotations

from importlib import import_module

from benchmarks.peers.base import OpenFile, Peer

__all__ = ["PEERS", "OpenFile", "Peer", "load_peer"]

# Name and module, in the order of the reports.
PEERS = {
    "pymosaic": "benchmarks.peers.pymosaic_file",
    "paimon": "benchmarks.peers.paimon_mosaic",
    "parquet": "benchmarks.peers.parquet",
    "feather": "benchmarks.peers.feather",
    "orc": "benchmarks.peers.orc",
    "lance": "benchmarks.peers.lance_file",
    "vortex": "benchmarks.peers.vortex_file",
}


def load_peer(name: str) -> Peer:
    """The peer of that name; imports its library."""
    peer: Peer = import_module(PEERS[name]).PEER
    return peer

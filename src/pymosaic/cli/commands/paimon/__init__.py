"""``pymosaic paimon …``: what only Paimon tables have."""

from __future__ import annotations

import click

from pymosaic.cli.commands.paimon import snapshots
from pymosaic.cli.parameters import make_group

__all__ = ["group"]

group: click.Group = make_group(
    "Paimon tables: their snapshots and tags.",
    ["pymosaic paimon snapshots warehouse/shop.db/sales"],
    [snapshots],
)

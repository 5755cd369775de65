"""Operations, profiles and the bytes that a call must move at least. Plain Python: the table of figures uses it too."""

from dataclasses import dataclass

DTYPES = ("f16", "bf16", "f32")
BYTES = {"f16": 2, "bf16": 2, "f32": 4}

# Names as in our records.
OPERATIONS = ("copy", "tile_pack", "tile_unpack", "fusion_gate", "fused_pack_op_unpack", "tile_ssm_scan")
# Other words for the same.
ALIASES = {"scan": "tile_ssm_scan", "fused": "fused_pack_op_unpack"}

# `fixed` is the profile that baselines are made of, `large` fills a device with 100 GB of memory, `small` is for checks
# alone: sizes that divide by nothing.
PROFILES = ("fixed", "large", "small")


@dataclass(frozen=True)
class Shape:
    """Maps [batch, channels, height, width] with `tiles` tiles of `tile` x `tile` pixels a sample, or tokens
    [batch, steps, channels]."""

    batch: int
    channels: int
    height: int = 0
    width: int = 0
    tile: int = 0
    tiles: int = 0
    steps: int = 0

    @property
    def grid(self):
        """Rows and columns of tiles."""
        return self.height // self.tile, self.width // self.tile

    def parameters(self):
        """As the parameters of a benchmark in our records."""
        names = {
            "b": self.batch,
            "c": self.channels,
            "h": self.height,
            "w": self.width,
            "t": self.tile,
            "k": self.tiles,
            "steps": self.steps,
        }
        return {name: str(value) for name, value in names.items() if value}


MAPS = {
    "fixed": Shape(1, 128, 128, 128, tile=8, tiles=32),
    "large": Shape(32, 256, 256, 256, tile=8, tiles=512),
    "small": Shape(2, 5, 24, 40, tile=8, tiles=7),
}
SCANS = {
    "fixed": Shape(1, 128, steps=256),
    "large": Shape(8, 1024, steps=16384),
    "small": Shape(2, 37, steps=300),
}


def shape_of(operation, profile):
    return (SCANS if operation == "tile_ssm_scan" else MAPS)[profile]


def bytes_of(operation, shape, dtype):
    """The bytes a call must read and write at least: maps, tiles, tokens. Ids, levels and parameters are left out."""
    element = BYTES[dtype]
    whole = shape.batch * shape.channels * shape.height * shape.width
    chosen = shape.batch * shape.tiles * shape.channels * shape.tile * shape.tile
    plane = shape.batch * shape.height * shape.width
    elements = {
        "copy": 2 * whole,
        "tile_pack": 2 * chosen,
        # Tiles named twice would leave more of the base to read; the profiles name none twice.
        "tile_unpack": 2 * whole,
        "fusion_gate": 3 * whole + 3 * plane,
        "fused_pack_op_unpack": 2 * whole,
        "tile_ssm_scan": 2 * shape.batch * shape.steps * shape.channels,
    }
    return elements[operation] * element


def profile_of(operation, parameters):
    """The profile that parameters of a benchmark belong to, or None."""
    operation = ALIASES.get(operation, operation)
    if operation not in OPERATIONS:
        return None
    for profile in PROFILES:
        known = shape_of(operation, profile).parameters()
        shared = {name: value for name, value in parameters.items() if name in known}
        needed = {"b", "c", "steps"} if operation == "tile_ssm_scan" else {"b", "c", "h", "w"}
        if needed <= shared.keys() and all(known[name] == value for name, value in shared.items()):
            return profile
    return None

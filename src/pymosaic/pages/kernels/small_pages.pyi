from numpy import int64
from numpy.typing import NDArray

def encode_pages(
    schema: object,
    batch: object,
    large: bool,
    page_bytes: int,
    sizes: NDArray[int64],
    forms: NDArray[int64],
) -> bytes: ...

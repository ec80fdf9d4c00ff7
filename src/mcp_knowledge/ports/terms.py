"""What several ports speak of."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


class Unset:
    """The type of UNSET."""


UNSET = Unset()  # "leave this field as it is", where None would mean "clear it"


@dataclass(frozen=True, slots=True)
class Position:
    """Where a keyset page goes on: the last item's sort value and its id."""

    value: int | str
    id: str

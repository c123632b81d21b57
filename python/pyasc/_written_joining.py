"""Arrays put together of parts of others."""

import numpy as np

from ._written import as_array, call, instead_of


@instead_of(np.block)
def block(arrays):
    if not isinstance(arrays, list) or not arrays:
        return NotImplemented
    rows = [row if isinstance(row, list) else [row] for row in arrays]
    parts = [[as_array(part) for part in row] for row in rows]
    flat = [part for row in parts for part in row]
    nested = [isinstance(row, list) for row in arrays]
    depth = 2 if all(nested) else 1
    if any(nested) != all(nested) or not all([part.ndim in (1, 2) for part in flat]) or not all(parts):
        return NotImplemented
    if any([isinstance(part, (list, tuple)) for row in rows for part in row]):
        return NotImplemented
    ndim = max(depth, *[part.ndim for part in flat])
    wide = [[part.reshape((1,) * (ndim - part.ndim) + part.shape) for part in row] for row in parts]
    heights = [row[0].shape[-2] if ndim > 1 else 1 for row in wide]
    width = sum(part.shape[-1] for part in wide[0])
    if depth == 1:
        wide = [[part for row in wide for part in row]]
        heights, width = heights[:1], sum(part.shape[-1] for part in wide[0])
    for row, height in zip(wide, heights):
        if sum(part.shape[-1] for part in row) != width or any(part.shape[:-1] != row[0].shape[:-1] for part in row):
            return NotImplemented
    if any(part.flags.fnc for part in flat) or not width or not all(heights):
        return NotImplemented  # another order in memory
    shape = (sum(heights), width) if ndim > 1 else (width,)
    result, top = call(np.empty, shape, np.result_type(*flat)), 0
    for row, height in zip(wide, heights):
        left = 0
        for part in row:
            right = left + part.shape[-1]
            result[(slice(top, top + height), slice(left, right)) if ndim > 1 else slice(left, right)] = part
            left = right
        top += height
    return result

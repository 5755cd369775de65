"""Changes in series of measurements, here and in engines. The work is done by the program `sprag` that the package carries.

    sprag.detect([1.0] * 20 + [1.2] * 20)             # the changes of one series, as a list
    sprag.spark(session, "data", "found")             # those of a dataset of `sprag export series`; also `dask` and `ray`

`sprag.torch_bench` times kernels of PyTorch for `sprag run`.
"""

from sprag.detection import detect
from sprag.engines import dask, ray, spark

__all__ = ["dask", "detect", "ray", "spark"]

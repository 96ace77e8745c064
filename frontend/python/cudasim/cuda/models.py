"""numba.cuda.models: how values of types lie in memory. Data models are registered for the CPU, too."""

from __future__ import annotations

import functools

from cudasim.cuda import numbas_target

_datamodel = numbas_target.module("numba.core.datamodel", __name__)
models = _datamodel.models
PrimitiveModel, StructModel = models.PrimitiveModel, models.StructModel
OpaqueModel = models.OpaqueModel
cuda_data_manager = _datamodel.default_manager
register = _datamodel.registry.register
register_model = functools.partial(register, cuda_data_manager)

"""What this installation is and can do."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import bayesbt
from bayesbt import documents

CORE = ("numpy", "scipy", "pandas", "pyarrow", "jax", "numpyro", "pymc", "arviz", "choix", "matplotlib")
EXTRAS = {
    "judge": ("torch", "transformers", "gguf", "accelerate", "safetensors"),
    "ray": ("ray",),
    "debate": ("bm25s", "fastapi", "uvicorn", "elasticsearch"),
}


def examine() -> dict[str, dict[str, str]]:
    """Collect versions, devices, extras and folders."""
    return {
        "bayesbt": {
            "version": bayesbt.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "processors": str(os.cpu_count()),
        },
        "packages": {name: _version(name) for name in CORE},
        "extras": {
            extra: ", ".join(f"{name} {_version(name)}" for name in names) for extra, names in EXTRAS.items()
        },
        "devices": _devices(),
        "folders": {"documents": str(documents.documents_root()), "cache": _cache()},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _devices() -> dict[str, str]:
    import jax

    found = {"jax": ", ".join(f"{device.platform} {device.id}" for device in jax.devices())}
    if find_spec("torch") is not None:
        import torch

        gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
        found["torch"] = ", ".join(gpus) or "cpu"
    return found


def _cache() -> str:
    from bayesbt.judges.fetch import cache_dir

    return str(cache_dir())

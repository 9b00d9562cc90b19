"""A GGUF file to a folder that transformers loads in a second or two rather than in twenty."""

from __future__ import annotations

from pathlib import Path

import accelerate  # noqa: F401  (transformers reads GGUF files only where both are installed)
import gguf  # noqa: F401
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from bayesbt.judges.console import foreign_bars


def convert(file: Path, folder: Path) -> None:
    """Write model (float32 safetensors), tokenizer and chat template of ``file`` into the new ``folder``."""
    with foreign_bars():
        _convert(file, folder)


def _convert(file: Path, folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
    model = AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name, dtype=torch.float32)
    # The weights were read back to full numbers, but the model still counts as quantised and would not save.
    for mark in ("hf_quantizer", "is_quantized"):
        vars(model)[mark] = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))

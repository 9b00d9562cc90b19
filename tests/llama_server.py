"""A real llama.cpp server (package xllamacpp): it gives log-probabilities, and goes on with a begun answer.

``python llama_server.py MODEL.gguf PORT [KEY]`` serves until it is stopped. :func:`write_gguf` writes a Llama
model of a transformers folder as GGUF in float32, so that nothing is rounded on the way.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def write_gguf(folder: Path, target: Path) -> Path:
    """Write the weights and the tokenizer of ``folder`` to ``target``."""
    import gguf
    from safetensors.numpy import load_file

    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    weights = load_file(folder / "model.safetensors")
    writer = gguf.GGUFWriter(target, "llama")
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer.add_name(folder.name)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_dimension_count(config["hidden_size"] // heads)
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _write_tokenizer(writer, folder, config)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    for name, values in weights.items():
        if name.endswith(("q_proj.weight", "k_proj.weight")):  # llama.cpp pairs neighbours where it rotates
            number = heads if name.endswith("q_proj.weight") else kv_heads
            shape = (number, 2, values.shape[0] // number // 2, values.shape[1])
            values = values.reshape(shape).swapaxes(1, 2).reshape(values.shape)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def _write_tokenizer(writer: Any, folder: Path, config: dict[str, Any]) -> None:
    import gguf

    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    special = {token["id"] for token in tokenizer["added_tokens"] if token["special"]}
    kinds = (gguf.TokenType.NORMAL, gguf.TokenType.CONTROL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(sorted(vocabulary, key=vocabulary.__getitem__))
    writer.add_token_types([kinds[number in special] for number in range(len(vocabulary))])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(False)
    writer.add_chat_template((folder / "chat_template.jinja").read_text(encoding="utf-8"))


def serve(model: str, port: int, key: str = "") -> None:
    """Serve on loopback until stopped."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_ctx = 1024
    parameters.n_parallel = 2
    parameters.cache_type_k = parameters.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    if key:
        parameters.api_keys = [key]
    server = xllamacpp.Server(parameters)
    print(f"serving on {server.listening_address}", flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])

"""Makes a tiny GGUF model with random weights: ``python tiny_gguf.py FILE`` (needs numpy and gguf, no network)."""

from __future__ import annotations

import sys

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
WIDTH, LAYERS, HEADS, INNER, CONTEXT = 64, 2, 4, 128, 4096


def byte_tokens() -> list[str]:
    """The 256 byte tokens of a GPT-2 vocabulary: printable bytes as they are, others from U+0100 on."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in kept]
    return [chr(byte) for byte in kept] + [chr(256 + place) for place in range(len(others))]


def make(path: str) -> None:
    import gguf
    import numpy as np

    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *byte_tokens()]
    kinds = [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * 256
    made = gguf.GGUFWriter(path, "llama")
    made.add_context_length(CONTEXT)
    made.add_embedding_length(WIDTH)
    made.add_block_count(LAYERS)
    made.add_feed_forward_length(INNER)
    made.add_head_count(HEADS)
    made.add_head_count_kv(HEADS)
    made.add_layer_norm_rms_eps(1e-5)
    made.add_rope_dimension_count(WIDTH // HEADS)
    made.add_vocab_size(len(tokens))
    made.add_tokenizer_model("gpt2")
    made.add_tokenizer_pre("default")
    made.add_token_list(tokens)
    made.add_token_types(kinds)
    made.add_token_merges([f"{a} {b}" for a, b in zip("th", "he", strict=True)])
    made.add_eos_token_id(2)
    made.add_bos_token_id(0)
    made.add_add_bos_token(False)
    made.add_chat_template(TEMPLATE)
    rng = np.random.default_rng(7)

    def tensor(name: str, *shape: int) -> None:
        values = np.ones(shape) if len(shape) == 1 else rng.normal(0, 0.05, shape)
        made.add_tensor(name, values.astype(np.float32))

    tensor("token_embd.weight", len(tokens), WIDTH)
    for layer in range(LAYERS):
        for name, *shape in (
            ("attn_norm", WIDTH), ("ffn_norm", WIDTH), ("attn_q", WIDTH, WIDTH), ("attn_k", WIDTH, WIDTH),
            ("attn_v", WIDTH, WIDTH), ("attn_output", WIDTH, WIDTH), ("ffn_gate", INNER, WIDTH),
            ("ffn_up", INNER, WIDTH), ("ffn_down", WIDTH, INNER),
        ):  # fmt: skip
            tensor(f"blk.{layer}.{name}.weight", *shape)
    tensor("output_norm.weight", WIDTH)
    tensor("output.weight", len(tokens), WIDTH)
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()


if __name__ == "__main__":
    make(sys.argv[1])

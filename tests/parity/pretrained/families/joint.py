"""Models of pictures and texts: an image encoder, and a decoder that writes about what it sees."""

from __future__ import annotations

from tests.parity.pretrained.case import Case

VIT = {
    "model_type": "vit",
    "hidden_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 3,
    "intermediate_size": 10,
    "image_size": 8,
    "patch_size": 4,
}
DONUT_SWIN = {
    "model_type": "donut-swin",
    "image_size": [12, 8],
    "patch_size": 2,
    "embed_dim": 4,
    "depths": [2, 1],
    "num_heads": [1, 2],
    "window_size": 2,
    "hidden_size": 8,
}
TROCR = {
    "model_type": "trocr",
    "vocab_size": 31,
    "d_model": 8,
    "decoder_layers": 1,
    "decoder_attention_heads": 2,
    "decoder_ffn_dim": 9,
    "max_position_embeddings": 60,
    "is_decoder": True,
    "add_cross_attention": True,
    "eos_token_id": 2,
    "pad_token_id": 1,
}
GPT2 = {
    "model_type": "gpt2",
    "vocab_size": 31,
    "n_embd": 8,
    "n_layer": 2,
    "n_head": 2,
    "n_positions": 60,
    "is_decoder": True,
    "add_cross_attention": True,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
MODEL, INPUTS = "VisionEncoderDecoderModel", ("decoder_input_ids", "decoder_attention_mask")

CASES = [
    Case(
        "trocr",
        MODEL,
        {"encoder": VIT, "decoder": {**TROCR, "cross_attention_hidden_size": 12}},
        inputs=INPUTS,
        batch=2,
        target=6,
    ),
    Case(
        "trocr-untied",
        MODEL,
        {
            "encoder": {**VIT, "model_type": "deit"},
            "decoder": {
                **TROCR,
                "activation_function": "relu",
                "scale_embedding": True,
                "layernorm_embedding": False,
                "tie_word_embeddings": False,
            },
        },
        inputs=INPUTS,
        batch=2,
        target=5,
    ),
    Case(
        "vit-gpt2",
        MODEL,
        {"encoder": VIT, "decoder": {**GPT2, "n_inner": 11}},
        inputs=INPUTS,
        batch=2,
        target=6,
    ),
    Case(
        "donut",
        MODEL,
        {"encoder": DONUT_SWIN, "decoder": {**TROCR, "model_type": "mbart"}},
        inputs=INPUTS,
        batch=2,
        target=5,
    ),
]

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
SMOLVLM = {
    "text_config": {
        "model_type": "llama",
        "vocab_size": 31,
        "hidden_size": 12,
        "intermediate_size": 10,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 4,
    },
    "vision_config": {
        "hidden_size": 8,
        "intermediate_size": 9,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 8,
        "patch_size": 2,
    },
    "image_token_id": 30,
    "scale_factor": 2,
}
BLIP = {
    "text_config": {
        "vocab_size": 31,
        "hidden_size": 12,
        "intermediate_size": 10,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "max_position_embeddings": 60,
        "bos_token_id": 30,
        "sep_token_id": 3,
    },
    "vision_config": {
        "hidden_size": 12,
        "intermediate_size": 9,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 8,
        "patch_size": 4,
    },
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
    Case(
        "blip",
        "BlipForConditionalGeneration",
        BLIP,
        batch=2,
        length=6,
        outputs=("logits",),
    ),
    Case(
        "smolvlm",
        "SmolVLMForConditionalGeneration",
        SMOLVLM,
        batch=2,
        length=11,
    ),
    Case(
        "idefics3-tied",
        "Idefics3ForConditionalGeneration",
        {**SMOLVLM, "scale_factor": 4, "tie_word_embeddings": True},
        batch=2,
        length=6,
        rows="left",
    ),
]

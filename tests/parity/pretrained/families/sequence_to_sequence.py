"""Models with an encoder and a decoder of texts."""

from __future__ import annotations

from tests.parity.pretrained.case import Case

T5 = {
    "vocab_size": 37,
    "d_model": 20,
    "d_kv": 6,
    "d_ff": 27,
    "num_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 16,
    "relative_attention_max_distance": 20,
}
BART = {
    "vocab_size": 45,
    "d_model": 18,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 25,
    "decoder_ffn_dim": 22,
    "max_position_embeddings": 23,
}
MARIAN = {**BART, "pad_token_id": 44, "decoder_start_token_id": 44, "eos_token_id": 0}
SMALL = {**BART, "vocab_size": 31, "d_model": 12, "encoder_layers": 1, "decoder_layers": 1}
BOTH = ("attention_mask", "decoder_input_ids", "decoder_attention_mask")

CASES = [
    Case("t5-plain", "T5ForConditionalGeneration", T5, inputs=BOTH, target=6),
    Case(
        "t5-gated",
        "T5ForConditionalGeneration",
        {
            **T5,
            "feed_forward_proj": "gated-gelu",
            "tie_word_embeddings": False,
            "num_decoder_layers": 3,
            "relative_attention_num_buckets": 8,
            "relative_attention_max_distance": 12,
        },
        inputs=BOTH,
        length=21,
        target=17,
        rows="left",
    ),
    Case("t5-base", "T5Model", {**T5, "num_heads": 3}, inputs=BOTH, rows="", batch=2),
    Case("bart-plain", "BartForConditionalGeneration", BART, inputs=BOTH),
    Case(
        "bart-base",
        "BartModel",
        {
            **BART,
            "encoder_layers": 3,
            "decoder_layers": 1,
            "encoder_attention_heads": 3,
            "decoder_ffn_dim": 13,
            "scale_embedding": True,
            "activation_function": "relu",
        },
        inputs=BOTH,
        rows="left",
    ),
    Case(
        "bart-untied",
        "BartForConditionalGeneration",
        {**BART, "encoder_layers": 1, "tie_word_embeddings": False},
        inputs=BOTH,
        batch=2,
    ),
    Case(
        "marian-plain",
        "MarianMTModel",
        {**MARIAN, "activation_function": "swish", "scale_embedding": True},
        inputs=BOTH,
    ),
    Case(
        "marian-apart",
        "MarianMTModel",
        {
            **MARIAN,
            "share_encoder_decoder_embeddings": False,
            "decoder_vocab_size": 37,
            "decoder_layers": 1,
            "pad_token_id": 36,
            "decoder_start_token_id": 36,
        },
        inputs=BOTH,
        rows="left",
        batch=2,
    ),
    Case("marian-base", "MarianModel", {**MARIAN, "encoder_layers": 1}, inputs=BOTH, rows=""),
    Case("m2m-plain", "M2M100ForConditionalGeneration", BART, inputs=BOTH),
    Case(
        "m2m-base",
        "M2M100Model",
        {
            **BART,
            "decoder_layers": 3,
            "scale_embedding": False,
            "activation_function": "gelu",
            "pad_token_id": 3,
        },
        inputs=BOTH,
        rows="left",
    ),
    Case(
        "m2m-untied",
        "M2M100ForConditionalGeneration",
        {**BART, "encoder_layers": 1, "tie_word_embeddings": False},
        inputs=BOTH,
        rows="",
        batch=2,
    ),
    Case(
        "mbart-plain",
        "MBartForConditionalGeneration",
        {**SMALL, "decoder_start_token_id": 3, "scale_embedding": True},
        inputs=BOTH,
        batch=2,
    ),
    Case("pegasus-plain", "PegasusForConditionalGeneration", SMALL, inputs=BOTH, batch=2),
    Case("blenderbot-plain", "BlenderbotForConditionalGeneration", SMALL, inputs=BOTH, batch=2),
    Case(
        "blenderbot-small-plain",
        "BlenderbotSmallForConditionalGeneration",
        {**SMALL, "scale_embedding": True},
        inputs=BOTH,
        batch=2,
    ),
    Case(
        "mt5-plain",
        "MT5ForConditionalGeneration",
        {**T5, "num_layers": 1, "num_heads": 2},
        inputs=BOTH,
        batch=2,
    ),
]

"""Encoders of texts, with their heads."""

from __future__ import annotations

from tests.parity.pretrained.case import Case

BERT = {
    "vocab_size": 41,
    "hidden_size": 18,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 29,
    "max_position_embeddings": 17,
}
DISTILBERT = {
    "vocab_size": 43,
    "dim": 20,
    "n_layers": 2,
    "n_heads": 5,
    "hidden_dim": 33,
    "max_position_embeddings": 21,
}

CASES = [
    Case("bert-base", "BertModel", BERT, inputs=("attention_mask", "token_type_ids")),
    Case(
        "bert-classes",
        "BertForSequenceClassification",
        {**BERT, "num_labels": 5, "hidden_act": "relu", "layer_norm_eps": 1e-3},
    ),
    Case(
        "bert-one-score",
        "BertForSequenceClassification",
        {**BERT, "num_labels": 1, "type_vocab_size": 1},
        rows="left",
    ),
    Case("bert-masked", "BertForMaskedLM", {**BERT, "hidden_act": "gelu_new"}),
    Case("bert-tokens", "BertForTokenClassification", {**BERT, "num_labels": 4}, rows=""),
    Case("bert-answers", "BertForQuestionAnswering", BERT, inputs=("token_type_ids",)),
    Case("distilbert-answers", "DistilBertForQuestionAnswering", DISTILBERT),
    Case("distilbert-base", "DistilBertModel", DISTILBERT),
    Case(
        "distilbert-classes",
        "DistilBertForSequenceClassification",
        {**DISTILBERT, "num_labels": 3, "activation": "relu", "n_layers": 1},
        rows="left",
    ),
    Case(
        "distilbert-waves",
        "DistilBertForMaskedLM",
        {**DISTILBERT, "sinusoidal_pos_embds": True, "n_heads": 4},
    ),
]

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
SMALL = {
    "vocab_size": 31,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 11,
    "max_position_embeddings": 14,
}
ONE_LAYER = {**SMALL, "num_hidden_layers": 1}
ELECTRA = {**ONE_LAYER, "embedding_size": 7}
ALBERT = {**SMALL, "embedding_size": 7, "num_hidden_layers": 3}
DEBERTA = {
    **SMALL,
    "max_position_embeddings": 30,
    "relative_attention": True,
    "position_buckets": 8,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": "p2c|c2p",
    "position_biased_input": False,
}
MODERNBERT = {
    **SMALL,
    "num_hidden_layers": 4,
    "max_position_embeddings": 64,
    "local_attention": 6,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 1,
    "cls_token_id": 2,
    "sep_token_id": 1,
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
    Case("bert-choices", "BertForMultipleChoice", ONE_LAYER, batch=2, choices=3),
    Case(
        "distilbert-choices",
        "DistilBertForMultipleChoice",
        {**DISTILBERT, "n_layers": 1},
        batch=2,
        choices=2,
    ),
    Case("roberta-base", "RobertaModel", SMALL, batch=2, rows="left"),
    Case("roberta-classes", "RobertaForSequenceClassification", {**ONE_LAYER, "num_labels": 3}),
    Case(
        "roberta-masked",
        "RobertaForMaskedLM",
        {**ONE_LAYER, "pad_token_id": 4, "tie_word_embeddings": False},
        batch=2,
    ),
    Case("xlm-roberta-tokens", "XLMRobertaForTokenClassification", {**ONE_LAYER, "num_labels": 4}),
    Case("camembert-answers", "CamembertForQuestionAnswering", ONE_LAYER, batch=2),
    Case("mpnet-base", "MPNetModel", {**SMALL, "max_position_embeddings": 41}, length=37, batch=2),
    Case("mpnet-masked", "MPNetForMaskedLM", ONE_LAYER, batch=2),
    Case("electra-classes", "ElectraForSequenceClassification", ELECTRA, batch=2),
    Case("electra-masked", "ElectraForMaskedLM", ELECTRA, batch=2),
    Case("electra-choices", "ElectraForMultipleChoice", ELECTRA, batch=2, choices=2),
    Case("albert-base", "AlbertModel", ALBERT, inputs=("attention_mask", "token_type_ids")),
    Case(
        "albert-masked",
        "AlbertForMaskedLM",
        {**ALBERT, "num_hidden_groups": 2, "inner_group_num": 2},
        rows="left",
        batch=2,
    ),
    Case("deberta-base", "DebertaV2Model", DEBERTA, rows="left", length=23, batch=2),
    Case("deberta-classes", "DebertaV2ForSequenceClassification", {**DEBERTA, "num_labels": 3}),
    Case(
        "deberta-masked",
        "DebertaV2ForMaskedLM",
        {
            **DEBERTA,
            "share_att_key": False,
            "pos_att_type": ["p2c"],
            "embedding_size": 7,
            "type_vocab_size": 2,
            "conv_kernel_size": 3,
            "conv_act": "gelu",
            "num_hidden_layers": 1,
        },
        rows="left",
        length=13,
    ),
    Case("modernbert-base", "ModernBertModel", MODERNBERT, length=13, batch=2),
    Case(
        "modernbert-classes",
        "ModernBertForSequenceClassification",
        {
            **MODERNBERT,
            "num_hidden_layers": 2,
            "global_attn_every_n_layers": 2,
            "classifier_pooling": "mean",
            "norm_bias": True,
            "mlp_bias": True,
            "attention_bias": True,
            "classifier_bias": True,
        },
        rows="left",
    ),
    Case(
        "modernbert-choices",
        "ModernBertForMultipleChoice",
        {**MODERNBERT, "num_hidden_layers": 1},
        rows="left",
        choices=2,
    ),
    Case("modernbert-answers", "ModernBertForQuestionAnswering", MODERNBERT, batch=2),
    Case("nomic-base", "NomicBertModel", SMALL, inputs=("attention_mask", "token_type_ids")),
    Case("nomic-masked", "NomicBertForMaskedLM", ONE_LAYER, batch=2),
]

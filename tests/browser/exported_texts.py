"""Tokenizers of many kinds, trained on a few sentences, and texts that are hard to cut."""

from __future__ import annotations

import json
import random
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

HARD = [
    *("", " ", "Hello, world!", "the cat sat on the mat", "\t\n\r  x  y\n\n z ", "\0\ufffd\1"),
    "Größe ÄÖÜ ß ẞ İstanbul ΣΊΣΥΦΟΣ ΟΔΟΣ naïve café e\u0301 Å a\u0300\u0301\u0302b \u1e9b\u0323",
    *("日本語テキスト 中文字 𠮷", "한국어", "العربية हिन्दी ไทย", "ﬁ ﬂ ① ² ½ Ⅷ ǅ ŉ ǰ", "𝔘𝔫𝔦 ａｂｃ"),
    *("👩‍👩‍👧‍👦 🇩🇪 ❤️ 👍🏽", "«quotes» “x” ‘y’ — – …", "1234567 ١٢٣ ४५६", "\ud7ff\ue000\uf8ff"),
    "a\u00adb\u200bc\u200dd\ufeffe\u0085f\u2028g\u3000h",
    "don't I'll we've IT'S $1,234.56 50% #tag @user a_b-c/d \u0378\u2fff",
    *("x" * 300, "word " * 2000, "ab" * 600, "fox foxes FOX Fox", "a<|im-start|>b--c ½²"),
    *("[CLS] [SEP] [MASK] x", "  [MASK]  y[MASK]z", "<|endoftext|>hi<s> a </s>", "a  <mask>  b"),
]
RANGES = ((32, 127), (32, 127), (0xA0, 0x250), (0x370, 0x400), (0x4E00, 0x4E40), (0x1F600, 0x1F640))
LETTERS = [code for ends in RANGES for code in range(*ends)]
CODES = (*LETTERS, 9, 10, 13, 0x200D, 0xFE0F, 0x300, 0x301)
BYTES = pre_tokenizers.ByteLevel.alphabet()
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)


def draw_texts() -> list[str]:
    """Return hard texts, and random ones."""
    rng = random.Random(5)
    drawn = [[chr(rng.choice(CODES)) for _ in range(rng.randrange(1, 60))] for _ in range(300)]
    return HARD + ["".join(letters) for letters in drawn]


def train(model: Any, normalizer: Any, splitter: Any, trainer: Any) -> Tokenizer:
    """Return a tokenizer that has learnt the texts."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.train_from_iterator([text for text in draw_texts() if text], trainer)
    return tokenizer


def bpe(splitter: Any, *special: str, normalizer: Any = None, **settings: Any) -> Tokenizer:
    """Return a tokenizer that merges pairs."""
    control = {"special_tokens": [*special], "show_progress": False}
    if "unk_token" in settings:
        control |= {"limit_alphabet": 150}
    else:
        control |= {"initial_alphabet": BYTES}
    if suffix := settings.get("end_of_word_suffix"):
        control |= {"end_of_word_suffix": suffix}
    trainer = trainers.BpeTrainer(vocab_size=700, **control)
    return train(models.BPE(**settings), normalizer, splitter, trainer)


def change(tokenizer: Tokenizer, **parts: Any) -> Tokenizer:
    """Return the tokenizer with other parts."""
    changed = Tokenizer.from_str(tokenizer.to_str())
    for name, part in parts.items():
        setattr(changed, name, part)
    return changed


def bert() -> Tokenizer:
    """Return a tokenizer as BERT has it."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=600, special_tokens=special, limit_alphabet=300, show_progress=False
    )
    splitter = pre_tokenizers.BertPreTokenizer()
    model = models.WordPiece(unk_token="[UNK]")
    tokenizer = train(model, normalizers.BertNormalizer(), splitter, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def make_tokenizers() -> dict[str, Tokenizer]:
    """Return tokenizers by what they are like."""
    n, p = normalizers, pre_tokenizers
    made: dict[str, Tokenizer] = {"bert": bert()}
    made["cased"] = change(
        made["bert"],
        normalizer=n.BertNormalizer(lowercase=False, strip_accents=False),
        post_processor=processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)),
    )
    made["gpt2"] = bpe(p.ByteLevel(add_prefix_space=False), "<|endoftext|>")
    made["gpt2"].post_processor = processors.ByteLevel(trim_offsets=False)
    made["bytes first"] = change(made["gpt2"], normalizer=n.ByteLevel(), pre_tokenizer=None)
    split = p.Split(Regex(WORDS), "isolated")
    plain = p.ByteLevel(add_prefix_space=False, use_regex=False)
    made["llama 3"] = bpe(p.Sequence([split, plain]), "<|endoftext|>", normalizer=n.NFC())
    marked = n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")])
    special = ("<unk>", "<s>", "</s>")
    made["llama 2"] = bpe(None, *special, normalizer=marked, unk_token="<unk>", fuse_unk=True)
    made["llama 2"].post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    file = json.loads(made["llama 2"].to_str())
    vocabulary = file["model"]["vocab"]
    for byte in range(256):
        vocabulary.setdefault(f"<0x{byte:02X}>", len(vocabulary))
    file["model"]["byte_fallback"] = True
    made["bytes"] = Tokenizer.from_str(json.dumps(file))
    made["metaspace"] = bpe(p.Metaspace(), "<unk>", normalizer=n.NFKC(), unk_token="<unk>")
    plain_letters = n.Sequence([n.NFD(), n.StripAccents(), n.Lowercase(), n.Strip()])
    made["clip"] = clip = bpe(
        p.Sequence([p.Whitespace(), p.Digits(individual_digits=True)]),
        "<unk>",
        normalizer=plain_letters,
        unk_token="<unk>",
        end_of_word_suffix="</w>",
    )
    clip.add_tokens([AddedToken("Fox", normalized=True, single_word=True)])
    clip.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=True)])
    clip.add_special_tokens([AddedToken("<|im-start|>")])
    spaced = p.ByteLevel(add_prefix_space=True)
    made["roberta"] = roberta = change(made["gpt2"], pre_tokenizer=spaced)
    roberta.add_special_tokens([AddedToken("<s>"), AddedToken("</s>")])
    ends = [(word, roberta.token_to_id(word)) for word in ("</s>", "<s>")]
    roberta.post_processor = processors.RobertaProcessing(*ends)
    for kind in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        steps = [p.WhitespaceSplit(), p.Punctuation(kind), p.Split(Regex(r"\d"), kind)]
        made[kind] = change(clip, pre_tokenizer=p.Sequence(steps))
        inverted = p.Split(Regex(r"\w+|[^\w\s]|\-\-"), kind, invert=True)
        made[f"{kind}, inverted"] = change(clip, pre_tokenizer=inverted)
    return made

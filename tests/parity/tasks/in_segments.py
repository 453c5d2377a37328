"""What processors of `transformers` make of drawn numbers of queries, beside ours and recorded."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import transformers

from tests.parity.pretrained.fixtures import SEED
from tests.parity.tasks.pictures import find_difference
from tests.parity.tasks.segments import (
    FILE,
    LIMIT,
    SegmentCase,
    compute,
    draw_logits,
    list_segment_cases,
    summarize_segments,
)


def compute_reference(case: SegmentCase, seed: int) -> list[tuple[float | None, int, Any]]:
    """Return the segments of transformers: score, class and mask."""
    scores, maps = (torch.tensor(values)[None] for values in draw_logits(case, seed))
    outputs = SimpleNamespace(logits=scores, pred_masks=maps)
    processor = transformers.DetrImageProcessorPil()
    function = getattr(processor, f"post_process_{case.subtask}_segmentation")
    sizes = {"target_sizes": [case.picture]}
    if case.subtask == "semantic":
        numbers = function(outputs, **sizes)[0].numpy()
        return [(None, int(n), _mask(numbers, n)) for n in np.unique(numbers)]
    settings = {
        "threshold": case.thresholds.score,
        "mask_threshold": case.thresholds.mask,
        "overlap_mask_area_threshold": case.thresholds.overlap,
    }
    result = function(outputs, **settings, **sizes)[0]
    numbers = result["segmentation"].numpy()
    return [
        (segment["score"], segment["label_id"], _mask(numbers, segment["id"]))
        for segment in result["segments_info"]
    ]


def _mask(numbers: Any, number: int) -> Any:
    return (255 * (numbers == number)).astype("uint8")


def report(seed: int) -> bool:
    """Print how many cases differ; tell whether none does."""
    transformers.logging.set_verbosity_error()
    print(f"\nSegments, limit {LIMIT:g}")
    count = 0
    for case in list_segment_cases():
        expected = summarize_segments(compute_reference(case, seed))
        actual = summarize_segments(asyncio.run(compute(case, seed)))
        difference = find_difference(expected, actual, LIMIT)
        count += bool(difference)
        print(f"{case.subtask:10} {case.sizes!s:16} {len(expected):3} masks  {difference}")
    print("They agree with transformers." if not count else f"{count} cases differ.")
    return not count


def record() -> None:
    """Write the fixtures."""
    cases = [*list_segment_cases()]
    results = [summarize_segments(compute_reference(case, SEED)) for case in cases]
    lines = ",\n".join(json.dumps(result, separators=(",", ":")) for result in results)
    FILE.write_text(f"[\n{lines}\n]\n")
    print(f"{FILE.name}: {len(results)} cases, {FILE.stat().st_size / 1000:.0f} kB")

"""The public names are these, and no others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import webnnm
from webnnm.runtime.inference.context import InferenceContext

ROOT = Path(__file__).resolve().parent.parent.parent

PUBLIC = [
    "Backend",
    "BackendError",
    "Box",
    "Brighten",
    "CSVDataset",
    "ContextLost",
    "DataError",
    "Dataset",
    "Delay",
    "DetectionDataset",
    "Detections",
    "EnglishPhonemes",
    "EpochRecord",
    "Erase",
    "Finding",
    "Flip",
    "Forecast",
    "Gain",
    "Generator",
    "GraphBuilder",
    "History",
    "HostArray",
    "HubModel",
    "ImageDataset",
    "IrisDataset",
    "LabeledTextDataset",
    "Microphone",
    "MemberPredictions",
    "ModelError",
    "NNModel",
    "Noise",
    "NotationError",
    "OnnxModel",
    "Painter",
    "Part",
    "Permuted",
    "Prediction",
    "PretrainedModel",
    "PretrainedOnnxModel",
    "ReferenceBackend",
    "Reshaped",
    "Review",
    "Rotate",
    "Sampling",
    "SeriesDataset",
    "Shift",
    "Sound",
    "SoundDataset",
    "StreamDataset",
    "TableDataset",
    "TestResult",
    "TextDataset",
    "TextInspector",
    "Training",
    "TranscriptionThresholds",
    "Transposed",
    "WebNNMError",
    "__version__",
    "backend",
    "charts",
    "check",
    "check_gradients",
    "composite",
    "cond",
    "cross_validate",
    "custom_gradient",
    "describe_table",
    "diagnose",
    "elaborate",
    "encode_wav",
    "export_graph",
    "find_lr",
    "forget_downloads",
    "fori_loop",
    "format_model",
    "from_pretrained",
    "grad",
    "gradients",
    "graph_text",
    "hessian",
    "inspect_model",
    "jacfwd",
    "jacrev",
    "jit",
    "join_models",
    "jvp",
    "load_onnx",
    "load_sound",
    "log_mel",
    "make_circles",
    "make_moons",
    "make_spirals",
    "make_xor",
    "open_painter",
    "optimizer",
    "pack_safetensors",
    "parse",
    "permutation_importance",
    "pipeline",
    "list_tasks",
    "plane_features",
    "plot_model",
    "predict_members",
    "probe",
    "quantize",
    "random",
    "read_csv",
    "read_name_map",
    "read_table",
    "recompute",
    "replace_head",
    "review",
    "scan",
    "schedule",
    "search",
    "split_model",
    "suggest",
    "suggest_detection_model",
    "suggest_image_model",
    "suggest_model",
    "suggest_series_model",
    "suggest_sound_model",
    "suggest_text_model",
    "token_importance",
    "train_ensemble",
    "train_text_head",
    "tree_leaves",
    "tree_map",
    "unpack_safetensors",
    "value_and_grad",
    "view",
    "vjp",
    "vmap",
    "while_loop",
    "xp",
]


def test_public_names_are_listed() -> None:
    assert dir(webnnm) == sorted(PUBLIC)


def test_public_names_resolve() -> None:
    public = {name: getattr(webnnm, name) for name in PUBLIC}
    assert [name for name in public if getattr(webnnm, name) is not public[name]] == []
    undocumented = [name for name, value in public.items() if not value.__doc__]
    assert undocumented in ([], ["__version__"])


def test_a_star_imports_the_public_names() -> None:
    found: dict[str, object] = {}
    exec("from webnnm import *", found)
    assert sorted(found.keys() - {"__builtins__"}) == sorted({*PUBLIC} - {"__version__"})


@pytest.mark.parametrize("module", [webnnm.charts, webnnm.random, webnnm.xp.linalg])
def test_a_module_lists_its_own_names(module: ModuleType) -> None:
    names = dir(module)
    assert names == sorted(module.__all__)
    for name in names:
        found = getattr(module, name)
        assert callable(found)
        assert found.__doc__
        assert found.__module__.startswith("webnnm.")
    folder = module.__name__ + "."
    made = {n for n, f in vars(module).items() if getattr(f, "__module__", "").startswith(folder)}
    assert {name for name in made if not name.startswith("_")} <= {*names}


def test_arrays_list_the_names_of_the_standard() -> None:
    assert not {"annotations", "_bool"} & {*dir(webnnm.xp)}
    modules = [n for n in dir(webnnm.xp) if isinstance(getattr(webnnm.xp, n), ModuleType)]
    assert modules == ["linalg"]


@pytest.mark.parametrize("kind", [webnnm.NNModel, webnnm.PretrainedModel, InferenceContext])
def test_models_list_one_spelling_of_each_name(kind: type) -> None:
    assert [name for name in dir(kind) if name != name.lower()] == []


def test_other_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="module 'webnnm' has no attribute 'nothing'"):
        _ = webnnm.nothing


def test_import_of_the_package_loads_only_the_register_of_plugins() -> None:
    program = "import sys, webnnm; print(*[m for m in sys.modules if m.startswith('webnnm.')])"
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["webnnm.core", "webnnm.core.plugins"]

"""What each code of an error means, and what to do about it: for `explain` and docs/errors.md."""

from __future__ import annotations

GROUPS = {
    "0": (
        "Warnings of a model text",
        "They are logged and kept in `model.warnings`; with `strict=True`, `NNModel.create` "
        "raises them.",
    ),
    "1": ("Grammar", "The text does not follow the grammar of the notation: `NotationError`."),
    "2": (
        "Blocks, layers and references",
        "The text is well formed, but a name refers to nothing or the wrong thing: `ModelError`. "
        "`GraphBuilder`, `composite` and the functions that join and split models raise some of "
        "these as well.",
    ),
    "3": (
        "Operands and options",
        "A layer, or a call of `GraphBuilder`, has operands or options that its operator does "
        "not accept.",
    ),
    "4": ("Shapes", "Sizes, ranks or sequences do not fit together."),
    "5": ("Data types", "Data types do not fit together, or the device does not support them."),
    "6": ("Losses", "The loss does not fit the output or its labels."),
    "7": (
        "Data, settings and calls",
        "Data, hyperparameters or calls do not fit the model: `DataError`; `BackendError` for "
        "problems of the device.",
    ),
    "8": ("Files of models", "A snapshot or a file of weights cannot be read, written or used."),
    "9": ("Export", "A model cannot be written as a StableHLO module or an ONNX file."),
}
"""First digit → title and what the codes have in common."""

MEANINGS: dict[str, tuple[str, str]] = {
    "NNM001": (
        "A block is declared but never called or referred to.",
        "Call the block, or delete it.",
    ),
    "NNM002": (
        "No output depends on these layers or inputs; the layers are left out of the graph.",
        "Connect them to an output, or delete them.",
    ),
    "NNM003": (
        "No call of the block provides this operator, so values pass through it unchanged.",
        "Pass it in the call of the block (`activation=relu`), or delete the layer.",
    ),
    "NNM004": (
        "A name creates a new parameter, but differs by one letter from a declared one.",
        "Correct the spelling, or rename one of them if both are intended.",
    ),
    "NNM005": (
        "An input or output of two or more dimensions has no names for them.",
        "Name the dimensions, `shape={channels:3, height:28, width:28}`, or use indices.",
    ),
    "NNM006": (
        "A block has only a name, which differs by one letter from that of another block.",
        "Correct the name of the block.",
    ),
    "NNM007": (
        "Values are cast to a type with a smaller range.",
        "Write the cast if it is intended, `cast(float16)`, or choose a wider `dataType`.",
    ),
    "NNM008": (
        "An option is written as its own name, `bias=bias`, which the call of the block would "
        "provide; none does, so the option is left out.",
        "Give the parameter another name (`bias=b`), or pass it in a call of the block.",
    ),
    "NNM101": ("There is an unexpected character.", "Follow the hint."),
    "NNM102": (
        "A statement does not begin with `block:property`, or the text is too long.",
        "Add the missing colon, block or space.",
    ),
    "NNM103": ("A value, name or text is missing.", "Write it after the `=` or the word."),
    "NNM104": ("A statement continues where it should have ended.", "Separate the two by `;`."),
    "NNM105": (
        "A number is malformed, or exceeds float64.",
        "Write it as in Python: `3`, `-.5`, `1e-3`, `0xff`, `Infinity`.",
    ),
    "NNM106": (
        "A block has no such property, or a port that is neither input nor output.",
        "Use one of the properties in the hint.",
    ),
    "NNM107": (
        "The block already has this property.",
        "Delete one of the two; only `constants` and `param` may be repeated.",
    ),
    "NNM108": (
        "A shape is malformed.",
        "Write `shape=[3, 4]` or `shape={height:3, width:4}`.",
    ),
    "NNM109": (
        "A size is neither an integer from 1 to 2147483647 nor a word that a call binds.",
        "Write the size; leave out batch and sequence.",
    ),
    "NNM110": (
        "A layer has no parentheses, or a list of layers is empty.",
        "Write the parentheses, `relu()`.",
    ),
    "NNM111": (
        "A comma or closing bracket is missing, or there is one too many.",
        "Close the bracket named in the hint.",
    ),
    "NNM112": ("An option is given twice.", "Delete one of the two."),
    "NNM113": ("There is no such data type.", "Use one of those in the hint."),
    "NNM114": (
        "Two dimensions of a shape have the same name, or one is called `batch` or `sequence`.",
        "Choose another name; sequences are declared by `sequence=`.",
    ),
    "NNM115": (
        "A constant or parameter is incomplete, or has more or fewer numbers than its shape.",
        "Write `name shape data` with as many numbers as the shape has elements, or one number.",
    ),
    "NNM116": (
        "The header names a version of the notation that this package does not support.",
        "Write `webnnm 1.0;`.",
    ),
    "NNM117": ("The text has no statement.", "Write a model, starting with its input."),
    "NNM118": ("A comment or string is not terminated.", "Write `*/` or the quote where it ends."),
    "NNM119": (
        "A layer is written as an operand of another layer.",
        "Write it before the other layer, with `name=`, and refer to that name.",
    ),
    "NNM201": ("No block has an input.", "Declare one: `model:input shape=[4];`."),
    "NNM202": ("No block has an output.", "Declare one: `model:output shape=[3];`."),
    "NNM203": (
        "A block that is called or has an output has no layers.",
        "Write its `layers`, or delete the call.",
    ),
    "NNM204": (
        "There is no operator or block of that name.",
        "Use the spelling in the hint; `webnnm ops` lists all operators.",
    ),
    "NNM205": (
        "A name refers to nothing, and no new parameter can be created there.",
        "Name the layer with `name=`, or correct the reference.",
    ),
    "NNM206": ("Two things have the same name.", "Rename one of them."),
    "NNM207": ("A block or composite calls itself.", "Break the chain that the message shows."),
    "NNM208": ("Values depend on themselves.", "Refer to earlier layers only."),
    "NNM209": (
        "A reference to a block is ambiguous, because the block is expanded several times.",
        "Give the calls names and refer to one: `name=first`.",
    ),
    "NNM210": (
        "The first layer of a block has no input.",
        "Declare an input, or write `node=`.",
    ),
    "NNM212": ("A layer has both `shapes=` and `repeat=`.", "Keep one of the two."),
    "NNM213": (
        "`skip=` reaches beyond the beginning of the block.",
        "Use a smaller number, or `to=` with a name.",
    ),
    "NNM214": (
        "A block is defined by the graph in a file, but also has layers, an input or an output.",
        "Call it among the layers of another block.",
    ),
    "NNM301": ("The operator has no such option.", "Use the spelling in the hint."),
    "NNM302": ("An operator has too many or too few operands.", "Pass as many as it takes."),
    "NNM303": (
        "The value of an option has the wrong type or is out of range.",
        "Use a value named in the message; [Operators](operators.md) lists them.",
    ),
    "NNM304": ("A required option or operand is missing.", "Add it."),
    "NNM305": (
        "A call of a block has an option that no layer of the block accepts.",
        "Delete it, or use it in the block.",
    ),
    "NNM306": (
        "A call of a block has an option that several of its layers accept.",
        "Write in the block which layer it is for: `strides=strides`.",
    ),
    "NNM307": ("A shape has no dimension of that name.", "Use one of the names of the shape."),
    "NNM308": ("An axis, index or position is outside its tensor.", "Count from 0, or from -1."),
    "NNM309": (
        "An axis is named twice, or a permutation lacks one.",
        "Name each axis once.",
    ),
    "NNM310": (
        "The operator works on single rows, not along batch or sequence.",
        "Name a feature dimension.",
    ),
    "NNM401": ("Shapes cannot be broadcast to a common one.", "Make sizes equal, or 1."),
    "NNM402": (
        "A declared shape differs from the one inferred from the layers.",
        "Correct the declaration, or the layers.",
    ),
    "NNM403": ("The size of a tensor cannot be inferred.", "Give the layer a `shape=`."),
    "NNM404": (
        "Sizes that must be equal differ: columns and rows, channels, features, rows of a graph.",
        "Correct the size of the weight, or omit it to have it inferred; reshape rows.",
    ),
    "NNM405": (
        "A tensor has more or fewer dimensions than the operator or device accepts.",
        "Reshape it; images have three features, `[channels, height, width]`.",
    ),
    "NNM406": ("A size cannot be divided into this many parts.", "Use a divisor of the size."),
    "NNM407": (
        "A reshape would change the number of elements.",
        "Use sizes with the same product.",
    ),
    "NNM408": (
        "A window is larger than its padded input, or covers only padding.",
        "Use a smaller window, or other padding.",
    ),
    "NNM409": (
        "A tensor or graph is too large for the device or its memory.",
        "Use a smaller batch, shape or window.",
    ),
    "NNM410": (
        "Tensors that may differ along one axis only differ along another.",
        "Make all other sizes equal.",
    ),
    "NNM411": (
        "An operator needs a sequence but there is none, or two sequences have different lengths.",
        "Declare `sequence=` on the input, with the same name for the same length.",
    ),
    "NNM501": ("The operator does not support this data type.", "Cast the operand first."),
    "NNM502": (
        "A number cannot be represented in the data type of its layer.",
        "Write an integer in range, or give the layer `dataType=float32`.",
    ),
    "NNM503": (
        "Values would have to be cast to a narrower type, which is never done implicitly.",
        "Write the `cast`.",
    ),
    "NNM504": (
        "A parameter with an integer data type cannot be trained.",
        "Declare it `trainable=false`.",
    ),
    "NNM505": (
        "The device lacks this data type or operator, and there is no replacement.",
        'Use another type, or `backend="numpy"`.',
    ),
    "NNM601": ("There is no such loss.", "Use the spelling in the hint."),
    "NNM602": ("`HL` is ambiguous.", "Write `HIL` (hinge) or `HUL` (Huber)."),
    "NNM603": (
        "A number of a loss (delta, gamma, alpha) is out of range or does not exist.",
        "Correct or delete it.",
    ),
    "NNM604": (
        "The loss cannot be computed from this output and these labels.",
        "Use a loss that fits the labels, or leave the loss out to have it chosen.",
    ),
    "NNM605": ("There is nothing to train.", "Add a trainable parameter to the model."),
    "NNM606": (
        "No gradient reaches a trainable parameter.",
        "Connect it to an output by differentiable operators, or declare it `trainable=false`.",
    ),
    "NNM701": ("The dataset lacks an input or output of the model.", "Rename a field with `map`."),
    "NNM702": (
        "Data have the wrong size, shape or type.",
        "Pass rows of the shape named in the message.",
    ),
    "NNM703": (
        "There is no setting of that name, or it is passed twice or without a name.",
        "Use the spelling in the hint.",
    ),
    "NNM704": ("The value of a setting is out of range.", "Use a value in its range."),
    "NNM705": (
        "A subset has no rows, or there is no subset of that name.",
        "Use another split, or one of `training`, `validation`, `testing`, `full`.",
    ),
    "NNM706": (
        "A label, token or character is unknown.",
        "Correct the data, or declare more classes.",
    ),
    "NNM707": (
        "The data contain NaN or infinity.",
        "Correct or leave out the row named in the message.",
    ),
    "NNM708": (
        "The training diverged: a loss or gradient is no longer finite.",
        "Lower `lr`, use gradient scaling with float16, check the data.",
    ),
    "NNM709": (
        "A backend or a package that it needs is not available, or failed.",
        "Follow the hint; `await webnnm.probe()` shows which backends are available.",
    ),
    "NNM710": (
        "There is no input, output, field, column, layer or parameter of that name.",
        "Use one of the names in the message.",
    ),
    "NNM711": (
        "The length of a sequence is missing, too large or too small.",
        "Pass `sequence_length`, or shorter rows.",
    ),
    "NNM712": (
        "A call is not possible while another one is in progress, or without an event loop; or the "
        "result of a call is used that was not awaited.",
        "Await the call that the message names; make calls where an event loop is running.",
    ),
    "NNM713": ("A row or cell of a table is malformed.", "Correct the place named in the message."),
    "NNM714": (
        "The model has no dataset, or an object lacks members of a dataset.",
        "Call `model.set_dataset(dataset)`; `Dataset(inputs, outputs)` makes one from arrays.",
    ),
    "NNM715": (
        "A source cannot be read, or there is not exactly one.",
        "Check the path, address or name; pass one of `source`, `url`, `path`, and in `files` the "
        "files that the text names.",
    ),
    "NNM716": (
        "The device and its memory were lost. `ContextLost.step` is the last completed step.",
        "Call `await model.reopen()`, or load the last snapshot.",
    ),
    "NNM717": (
        "The model is not a language model: it cannot continue a text token by token.",
        "Give it one input of tokens and an output with one score per token of the vocabulary; "
        "only causal attention may look at other tokens.",
    ),
    "NNM718": (
        "A tokenizer or a chat template cannot be used.",
        "Write the conversation as one text, or use `generate_ids` with tokens.",
    ),
    "NNM719": (
        "Arrays have data types that a function does not accept, or that have no common type.",
        "Convert them with `xp.astype`; convert lists and numbers with `xp.asarray`.",
    ),
    "NNM720": (
        "A function of arrays does not accept these shapes, axes, indices or other arguments.",
        "Reshape or index the arrays as the message says.",
    ),
    "NNM721": (
        "Python needs a value that is only known when the traced function runs.",
        "Branch with `xp.where` or `cond`, loop with `scan`, `fori_loop` or `while_loop`; list "
        "arguments that are not arrays in `static_argnames`.",
    ),
    "NNM722": (
        "The chat template of a model refuses a conversation, for the reason in the message.",
        "Change the messages: most such templates want roles to alternate, or no system message.",
    ),
    "NNM801": ("A file is truncated, or its hash is wrong.", "Download or copy it again."),
    "NNM802": (
        "A file has none of the supported formats, or its header is inconsistent.",
        "Check that the path is the right one.",
    ),
    "NNM803": (
        "A snapshot was damaged or changed after it was written.",
        "Download or copy it again.",
    ),
    "NNM804": (
        "A file is not a snapshot, or has a format that this package does not support.",
        "Use a newer webnnm; load files that contain only weights with `model.load_params`.",
    ),
    "NNM805": (
        "Parameters are missing or unexpected.",
        "Load them into the model to which they belong, or pass a name map.",
    ),
    "NNM806": (
        "A tensor and its parameter differ in shape or type.",
        "Use the model text of the file.",
    ),
    "NNM807": (
        "Writing or removing failed; the previous file is unchanged.",
        "Free space or choose another path; in a browser, close the other tab.",
    ),
    "NNM808": (
        "There is no training to resume, or the settings would change it.",
        "Use the settings and data of the interrupted training, or train without `resume=True`.",
    ),
    "NNM809": (
        "A file refers to another one outside its folder, or at another address.",
        'Put the file into the folder; or pass `references="anywhere"`, or a folder, if you trust '
        "the file that refers to it.",
    ),
    "NNM811": (
        "A file is not an ONNX model, or parts of it contradict each other.",
        "Check that the path is the right one; `onnx.checker.check_model` says more.",
    ),
    "NNM812": (
        "An ONNX model has an operator, or a use of one, that cannot be imported.",
        "Export the model without it; docs/onnx.md lists the operators.",
    ),
    "NNM813": (
        "A free dimension of an ONNX model has no size, or a size that does not fit.",
        'Give sizes by name, `shapes={"batch": 1}`, or by input, `shapes={"x": [1, 3, 32, 32]}`.',
    ),
    "NNM814": (
        "An ONNX model has a tensor of a data type that WebNN lacks.",
        "Convert the model, to float32 for instance.",
    ),
    "NNM815": (
        "An ONNX model exceeds the limits for loops, nesting or computed tables.",
        "Use smaller sizes, or split the model.",
    ),
    "NNM816": (
        "Values that determine a shape in an ONNX model depend on its inputs.",
        "Pass the values of these inputs when loading the model.",
    ),
    "NNM817": (
        "A Hugging Face model has an unknown architecture, or an unknown class of one.",
        "Load another model, or another part of it with `architecture=`; or write its text "
        "yourself and load the weights with a name map.",
    ),
    "NNM818": (
        "A `config.json` is damaged, lacks a key, or requires something that is not supported.",
        "Correct the file; if results do not depend on the key, name it in `ignore=`.",
    ),
    "NNM901": (
        "StableHLO or ONNX cannot express an operator or data type.",
        "Replace the layer, or give its composite a decomposition.",
    ),
    "NNM902": (
        "A size is dynamic but must be a number in the module.",
        "Fix the length of sequences with `sequence=128`, the number of rows with `batch=1`.",
    ),
    "NNM903": (
        "There is no graph of that kind to export.",
        "Use `inference`, `loss` or `train`.",
    ),
    "NNM904": (
        "A text is not a valid module; the message says why.",
        "If webnnm wrote it, please report it.",
    ),
    "NNM905": (
        "A model cannot be exported as a page without Python; the message names what is missing.",
        "Serve its snapshot instead: `webnnm new --kind element --model SNAPSHOT`.",
    ),
}
"""Code → what it means, and what to do."""

"""What each code of an error means, and what to do about it, for docs/errors.md."""

from __future__ import annotations

GROUPS = {
    "0": (
        "Warnings of a model text",
        "They stop nothing: they are logged and kept in `model.warnings`; `strict=True` of "
        "`NNModel.create` raises them.",
    ),
    "1": ("Grammar", "The text is outside the grammar of the notation: `NotationError`."),
    "2": (
        "Blocks, layers and references",
        "The text is well formed, and what its names refer to is not there: `ModelError`. "
        "`GraphBuilder`, `composite` and the functions that join and split models raise some of "
        "these as well.",
    ),
    "3": (
        "Operands and options",
        "A layer, or a call of `GraphBuilder`, is given what its operator does not take.",
    ),
    "4": ("Shapes", "Sizes, ranks or sequences do not fit together."),
    "5": ("Data types", "Types of numbers do not fit together, or a device has none of them."),
    "6": ("Losses", "What an output is trained with does not fit it."),
    "7": (
        "Data, settings and calls",
        "Data, hyperparameters or calls do not fit the model: `DataError`; `BackendError` where it "
        "is the device.",
    ),
    "8": ("Files of models", "A snapshot or a file of weights cannot be read, written or used."),
    "9": ("Export", "A model cannot be written as a StableHLO module."),
}
"""First digit → title and what the codes have in common."""

MEANINGS: dict[str, tuple[str, str]] = {
    "NNM001": (
        "A block is declared, and nothing calls it or refers to it.",
        "Call the block, or delete it.",
    ),
    "NNM002": (
        "No output depends on these layers or inputs; layers are left out of the graph.",
        "Connect them to an output, or delete them.",
    ),
    "NNM003": (
        "An operator's place in a block is filled by no call, so values pass it unchanged.",
        "Give it in the call of the block (`activation=relu`), or delete the layer.",
    ),
    "NNM004": (
        "A name makes a new parameter and is one letter away from one that is declared.",
        "Correct the spelling; rename one of them if both are meant.",
    ),
    "NNM005": (
        "An input or output of two or more dimensions has no names for them.",
        "Name the dimensions, `shape={channels:3, height:28, width:28}`, or go on with indices.",
    ),
    "NNM006": (
        "A block has only a name and is one letter away from a block of the model.",
        "Correct the name of the block.",
    ),
    "NNM007": (
        "Values are cast to a type that holds fewer numbers.",
        "Cast where you mean it, `cast(float16)`, or choose a wider `dataType`.",
    ),
    "NNM101": ("A character stands where none of its kind may stand.", "Write what the hint says."),
    "NNM102": (
        "A statement does not begin as `block:property`, or the text is too long.",
        "Write the colon, the block or the blank that is missing.",
    ),
    "NNM103": ("A value, name or text is missing.", "Write it behind the `=` or the word."),
    "NNM104": ("A statement goes on where it should have ended.", "Write `;` between the two."),
    "NNM105": (
        "What should be a number is none, or is beyond float64.",
        "Write it as in Python: `3`, `-.5`, `1e-3`, `0xff`, `Infinity`.",
    ),
    "NNM106": (
        "A block has no such property, or a port that is neither input nor output.",
        "Take one of the properties that the hint lists.",
    ),
    "NNM107": (
        "A block has the property already.",
        "Delete one of the two; only `constants` and `param` may come again.",
    ),
    "NNM108": (
        "A shape is not written as one.",
        "Write `shape=[3, 4]` or `shape={height:3, width:4}`.",
    ),
    "NNM109": (
        "A size is not a whole number from 1 to 2147483647, nor a word that a call binds.",
        "Write the size; leave out batch and sequence.",
    ),
    "NNM110": (
        "A layer has no parentheses, or a list of layers is empty.",
        "Write the parentheses, `relu()`.",
    ),
    "NNM111": (
        "A comma or a closing bracket is missing, or one too many stands there.",
        "Close the bracket that the hint names.",
    ),
    "NNM112": ("An option is given twice.", "Delete one of the two."),
    "NNM113": ("There is no such data type.", "Take one of those that the hint lists."),
    "NNM114": (
        "A dimension is called as another one of its shape, or `batch` or `sequence`.",
        "Choose another name; sequences are declared by `sequence=`.",
    ),
    "NNM115": (
        "A constant or parameter is incomplete, or has more or fewer numbers than its shape.",
        "Write `name shape data` with as many numbers as the shape has elements, or one number.",
    ),
    "NNM116": (
        "The header names a version that this package does not read.",
        "Write `webnnm 1.0;`.",
    ),
    "NNM117": ("The text has no statement.", "Write a model; begin with its input."),
    "NNM118": ("A comment or string has no end.", "Write `*/` or the quote where it ends."),
    "NNM119": (
        "A layer stands among the operands of another one.",
        "Put it before, with `name=`, and refer to the name.",
    ),
    "NNM201": ("No block has an input.", "Declare one: `model:input shape=[4];`."),
    "NNM202": ("No block has an output.", "Declare one: `model:output shape=[3];`."),
    "NNM203": (
        "A block that is called, or has an output, has no layers.",
        "Write its `layers`, or delete the call.",
    ),
    "NNM204": (
        "There is no operator and no block of that name.",
        "Take the spelling that the hint suggests; `webnnm ops` lists all operators.",
    ),
    "NNM205": (
        "A reference leads nowhere, where no new parameter can be meant.",
        "Name the layer with `name=`, or correct the reference.",
    ),
    "NNM206": ("Two things have one name.", "Rename one of them."),
    "NNM207": ("A block or composite calls itself.", "Break the chain that the message shows."),
    "NNM208": ("Values depend on themselves.", "Refer to what comes earlier."),
    "NNM209": (
        "A reference to a block is ambiguous, because the block is expanded several times.",
        "Give the calls names and refer to one: `name=first`.",
    ),
    "NNM210": (
        "The first layer of a block has no value to work on.",
        "Declare an input, or write `node=`.",
    ),
    "NNM212": ("A layer has both `shapes=` and `repeat=`.", "Keep one of the two."),
    "NNM213": (
        "`skip=` counts back behind the beginning of the block.",
        "Take a smaller number, or `to=` with a name.",
    ),
    "NNM301": ("The operator has no such option.", "Take the spelling that the hint suggests."),
    "NNM302": ("An operator is given too many or too few operands.", "Give as many as it takes."),
    "NNM303": (
        "An option has a value of the wrong kind or out of range.",
        "Take a value that the message names; [Operators](operators.md) lists them.",
    ),
    "NNM304": ("An operator lacks an option or operand that it needs.", "Write it."),
    "NNM305": (
        "A call of a block has an option that no layer of the block takes.",
        "Delete it, or use it in the block.",
    ),
    "NNM306": (
        "A call of a block has an option that several of its layers could take.",
        "Say in the block where it goes: `strides=strides`.",
    ),
    "NNM307": ("A shape has no dimension of that name.", "Take one of the names of the shape."),
    "NNM308": ("An axis, index or position is outside its tensor.", "Count from 0, or from -1."),
    "NNM309": (
        "An axis is named twice, or a permutation lacks one.",
        "Name each axis once.",
    ),
    "NNM310": (
        "The operator works on each row alone, and is asked to work along batch or sequence.",
        "Name a feature dimension.",
    ),
    "NNM401": ("Shapes do not broadcast to one.", "Make sizes equal, or 1."),
    "NNM402": (
        "A declared shape is not the one that follows from the layers.",
        "Correct the declaration, or the layers.",
    ),
    "NNM403": ("Nothing says how large a tensor is.", "Give the layer a `shape=`."),
    "NNM404": (
        "Sizes that must be the same are not: columns and rows, channels, features.",
        "Correct the size of the weight, or let it follow by not declaring it.",
    ),
    "NNM405": (
        "A tensor has more or fewer dimensions than the operator or device takes.",
        "Reshape it; images have three features, `[channels, height, width]`.",
    ),
    "NNM406": ("A size does not divide into the parts asked for.", "Take a divisor of the size."),
    "NNM407": ("A reshape would change the number of elements.", "Take sizes of the same product."),
    "NNM408": (
        "A window is larger than what it moves over, or lies in padding alone.",
        "Take a smaller window, or more padding on the other side.",
    ),
    "NNM409": (
        "A tensor or graph is larger than the device or memory holds.",
        "Take a smaller batch, shape or window.",
    ),
    "NNM410": ("Parts that are joined differ in another axis.", "Make all other sizes equal."),
    "NNM411": (
        "An operator needs a sequence that is not there, or two sequences do not go together.",
        "Declare `sequence=` on the input, with one name for what has one length.",
    ),
    "NNM501": ("The operator does not take this data type.", "Cast the operand first."),
    "NNM502": (
        "A number does not exist in the type of its layer.",
        "Write an integer in range, or give the layer `dataType=float32`.",
    ),
    "NNM503": (
        "Values would have to be cast to a narrower type, which never happens unasked.",
        "Write the `cast`.",
    ),
    "NNM504": ("A parameter of integers cannot be trained.", "Declare it `trainable=false`."),
    "NNM505": (
        "The device has no such data type or operator, and nothing else computes the same.",
        'Take another type, or `backend="numpy"`.',
    ),
    "NNM601": ("There is no such loss.", "Take the spelling that the hint suggests."),
    "NNM602": ("`HL` can be two losses.", "Write `HIL` (hinge) or `HUL` (Huber)."),
    "NNM603": (
        "A number of a loss (delta, gamma, alpha) is out of range, or this loss has none.",
        "Correct or delete it.",
    ),
    "NNM604": (
        "The loss cannot be computed from this output and these labels.",
        "Take the loss that fits the labels, or leave the choice to the package.",
    ),
    "NNM605": ("There is nothing to train.", "Give the model a trainable parameter."),
    "NNM606": (
        "No gradient reaches a trainable parameter.",
        "Connect it to an output by differentiable operators, or declare it `trainable=false`.",
    ),
    "NNM701": ("The dataset lacks an input or output of the model.", "Rename a field with `map`."),
    "NNM702": (
        "Data have the wrong size, shape or type.",
        "Hand over rows of the shape that the message names.",
    ),
    "NNM703": (
        "There is no setting of that name, or it is given twice or without a name.",
        "Take the spelling that the hint suggests.",
    ),
    "NNM704": ("A setting has a value that it cannot have.", "Take a value in its range."),
    "NNM705": (
        "A subset has no rows, or there is none of that name.",
        "Take another split, or one of `training`, `validation`, `testing`, `full`.",
    ),
    "NNM706": (
        "A label, token or character is none of those that are known.",
        "Correct the data, or declare more classes.",
    ),
    "NNM707": ("Data hold a NaN or an infinity.", "Correct or leave out the row that is named."),
    "NNM708": (
        "The training diverged: a loss or gradient is no longer finite.",
        "Lower `lr`, scale gradients in float16, look at the data.",
    ),
    "NNM709": (
        "A backend or a package that it needs is not available, or failed.",
        "Do what the hint says; `await webnnm.probe()` tells what runs here.",
    ),
    "NNM710": (
        "There is no input, output, field, column, layer or parameter of that name.",
        "Take one of the names that the message lists.",
    ),
    "NNM711": (
        "The length of a sequence is missing, or beyond what is allowed.",
        "Give `sequence_length`, or shorter rows.",
    ),
    "NNM712": (
        "Two calls that exclude each other run at once.",
        "Await the first; call from where an event loop runs.",
    ),
    "NNM713": ("A table is not one: a row or cell is malformed.", "Correct the place named."),
    "NNM714": (
        "The model has no dataset, or an object lacks members of one.",
        "`model.set_dataset(dataset)`; `Dataset(inputs, outputs)` makes one of arrays.",
    ),
    "NNM715": (
        "A source cannot be read, or not exactly one is given.",
        "Check path, address or name; give one of `source`, `url`, `path`.",
    ),
    "NNM716": (
        "The device is gone, and what lay on it. `ContextLost.step` is the last good step.",
        "Create the model again, from its last snapshot.",
    ),
    "NNM801": ("A file is cut off.", "Get it again."),
    "NNM802": (
        "A file is not safetensors, or its header contradicts itself.",
        "Check what the path leads to.",
    ),
    "NNM803": ("A snapshot was damaged or changed after it was written.", "Get it again."),
    "NNM804": (
        "A file is not a snapshot, or one of a format that this package does not read.",
        "Use a newer webnnm; weights alone go through `model.load_params`.",
    ),
    "NNM805": (
        "Parameters are missing, or too many, for the model.",
        "Load them into the model that they belong to, or give a name map.",
    ),
    "NNM806": ("A tensor has another shape or type than the model's.", "Take the model's text."),
    "NNM807": (
        "Writing or removing failed; the previous file is unchanged.",
        "Make room, or choose another place; in a browser close the other tab.",
    ),
    "NNM808": (
        "There is no training to go on with, or it would be another one.",
        "Give the settings and data of the training that began, or train without `resume=True`.",
    ),
    "NNM901": (
        "StableHLO has nothing to write an operator or type with.",
        "Replace the layer, or give its composite a decomposition.",
    ),
    "NNM902": (
        "A size that must be a number in the module is left open.",
        "Export with numbers for batch and sequence.",
    ),
    "NNM903": (
        "There is no graph of that kind to export.",
        "Take `inference`, `loss` or `train`.",
    ),
    "NNM904": (
        "A text is not a module whose operations and types agree: the checker found why.",
        "If webnnm wrote it, that is a fault of webnnm: report it.",
    ),
}
"""Code → what it means, and what to do."""

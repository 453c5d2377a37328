"""What every known implementation of WebNN can compute. Written by `make documents`."""

from __future__ import annotations

LIMITS = {
    "float32 float16 0 2": "gemm.c",
    "float32 float16 0 4": "isInfinite.a isNaN.a prelu.input prelu.output prelu.slope",
    "float32 float16 0 5": (
        "ceil.input ceil.output clamp.input clamp.output cos.input cos.output "
        "dequantizeLinear.scale dequantizeLinear.output elu.input elu.output erf.input erf.output "
        "exp.input exp.output floor.input floor.output gelu.input gelu.output hardSigmoid.input "
        "hardSigmoid.output hardSwish.input hardSwish.output layerNormalization.input "
        "layerNormalization.scale layerNormalization.bias layerNormalization.output "
        "leakyRelu.input leakyRelu.output linear.input linear.output log.input log.output "
        "pad.input pad.output quantizeLinear.input quantizeLinear.scale reciprocal.input "
        "reciprocal.output reduceL2.input reduceL2.output reduceLogSum.input reduceLogSum.output "
        "reduceLogSumExp.input reduceLogSumExp.output reduceMean.input reduceMean.output "
        "reduceProduct.input reduceProduct.output relu.input relu.output roundEven.input "
        "roundEven.output sigmoid.input sigmoid.output sin.input sin.output softplus.input "
        "softplus.output softsign.input softsign.output sqrt.input sqrt.output tan.input "
        "tan.output tanh.input tanh.output"
    ),
    "float32 float16 1 1": (
        "batchNormalization.mean batchNormalization.variance batchNormalization.scale "
        "batchNormalization.bias conv2d.bias convTranspose2d.bias gruCell.bias "
        "gruCell.recurrentBias instanceNormalization.scale instanceNormalization.bias "
        "lstmCell.bias lstmCell.recurrentBias lstmCell.peepholeWeight"
    ),
    "float32 float16 1 5": "softmax.input softmax.output",
    "float32 float16 2 2": (
        "gemm.a gemm.b gemm.output gru.bias gru.recurrentBias gruCell.input gruCell.weight "
        "gruCell.recurrentWeight gruCell.hiddenState gruCell.output lstm.bias lstm.recurrentBias "
        "lstm.peepholeWeight lstmCell.input lstmCell.weight lstmCell.recurrentWeight "
        "lstmCell.hiddenState lstmCell.cellState lstmCell.output0 lstmCell.output1"
    ),
    "float32 float16 2 5": "matmul.a matmul.b matmul.output triangular.input triangular.output",
    "float32 float16 3 3": (
        "gru.input gru.weight gru.recurrentWeight gru.initialHiddenState gru.output0 lstm.input "
        "lstm.weight lstm.recurrentWeight lstm.initialHiddenState lstm.initialCellState "
        "lstm.output0 lstm.output1"
    ),
    "float32 float16 3 5": "batchNormalization.input batchNormalization.output",
    "float32 float16 4 4": (
        "averagePool2d.input averagePool2d.output conv2d.input conv2d.filter conv2d.output "
        "convTranspose2d.input convTranspose2d.filter convTranspose2d.output gru.output1 "
        "instanceNormalization.input instanceNormalization.output l2Pool2d.input l2Pool2d.output "
        "lstm.output2 maxPool2d.input maxPool2d.output resample2d.input resample2d.output"
    ),
    "float32 float16 int32 0 4": (
        "equal.a equal.b greater.a greater.b greaterOrEqual.a greaterOrEqual.b lesser.a lesser.b "
        "lesserOrEqual.a lesserOrEqual.b notEqual.a notEqual.b pow.a pow.b pow.output"
    ),
    "float32 float16 int32 0 5": (
        "abs.input abs.output add.a add.b add.output div.a div.b div.output expand.input "
        "expand.output identity.input identity.output max.a max.b max.output min.a min.b "
        "min.output mul.a mul.b mul.output neg.input neg.output reduceL1.input reduceL1.output "
        "reduceMax.input reduceMax.output reduceMin.input reduceMin.output reduceSum.input "
        "reduceSum.output reduceSumSquare.input reduceSumSquare.output reverse.input "
        "reverse.output sign.input sign.output sub.a sub.b sub.output tile.input tile.output "
        "transpose.input transpose.output where.trueValue where.falseValue where.output"
    ),
    "float32 float16 int32 1 5": (
        "argMax.input argMin.input concat.inputs concat.output cumulativeSum.input "
        "cumulativeSum.output gatherElements.input gatherElements.output scatterElements.input "
        "scatterElements.updates scatterElements.output scatterND.input scatterND.updates "
        "scatterND.output split.input split.outputs"
    ),
    "float32 float16 int32 int8 uint8 0 5": (
        "cast.input cast.output reshape.input reshape.output slice.input slice.output"
    ),
    "float32 float16 int32 int8 uint8 1 5": (
        "gather.input gather.output gatherND.input gatherND.output"
    ),
    "int32 0 5": "argMax.output argMin.output gather.indices",
    "int32 1 5": (
        "gatherElements.indices gatherND.indices scatterElements.indices scatterND.indices"
    ),
    "uint8 0 4": (
        "equal.output greater.output greaterOrEqual.output isInfinite.output isNaN.output "
        "lesser.output lesserOrEqual.output logicalAnd.a logicalAnd.b logicalAnd.output "
        "logicalOr.a logicalOr.b logicalOr.output logicalXor.a logicalXor.b logicalXor.output "
        "notEqual.output"
    ),
    "uint8 0 5": "logicalNot.a logicalNot.output where.condition",
    "uint8 int8 0 5": "dequantizeLinear.input quantizeLinear.zeroPoint quantizeLinear.output",
    "uint8 int8 int32 0 5": "dequantizeLinear.zeroPoint",
}
"""Data types with the lowest and highest rank → the operands and results that may have them, in all
implementations of the specification and in the recorded versions of Chromium."""

"""Layers of Keras and PyTorch, and what to write for them in the notation."""

from __future__ import annotations

from collections.abc import Mapping

DENSE = (
    "a dense layer is a block of two layers and an activation:\n"
    "    dense:layers matmul(w, shape=[units]), add(b), activation();\n"
    "    … dense(units=64, activation=relu), …"
)
_INPUT = "write it as a statement: model:input shape=[…];"
_ENCODED = "leave it out: datasets encode classes and words"
_DISTURBED = "write dropout(0.1): no layer adds noise, and dropout disturbs a training too"
_POOLED = "write conv1d(k, filters=4, kernel=2, strides=2): it learns how to halve a length"
_LENGTHENED = (
    "conv1d cannot lengthen: name the dimensions {channels, height, width:1}, "
    "and write convTranspose2d"
)
_BLOCK = (
    "define it: block:layers layerNormalization(), attend(q, k, v, o=o, heads=2), "
    "residual(to=input);"
)

OPERATORS: Mapping[str, str] = {
    "add": "addition",
    "attend": "attention selfattention multiheadattention mha additiveattention "
    "scaleddotproductattention crossattention",
    "averagePool2d": "averagepooling2d avgpool2d avgpool averagepool averagepooling",
    "batchNormalization": "batchnorm batchnorm1d batchnorm2d batchnorm3d syncbatchnorm",
    "cast": "astype",
    "clamp": "clip",
    "concat": "cat concatenate stack hstack merge",
    "conv1d": "convolution1d lazyconv1d",
    "conv2d": "conv convolution convolution2d lazyconv2d",
    "convTranspose2d": "conv2dtranspose convtranspose deconv2d deconvolution2d "
    "convolution2dtranspose lazyconvtranspose2d",
    "cumulativeSum": "cumsum",
    "div": "divide",
    "dropout": "dropout1d dropout2d dropout3d spatialdropout1d spatialdropout2d spatialdropout3d "
    "alphadropout featurealphadropout droppath stochasticdepth",
    "elu": "celu",
    "embedding": "lookup",
    "globalAveragePool": "adaptiveavgpool2d adaptiveaveragepooling2d globalaveragepooling2d "
    "globalavgpool2d globalavgpool globalaveragepooling",
    "groupNormalization": "groupnorm localresponsenorm",
    "gru": "rnn simplernn",
    "gruCell": "rnncell simplernncell",
    "hardSwish": "hardsilu",
    "identity": "noop passthrough",
    "instanceNormalization": "instancenorm instancenorm1d instancenorm2d instancenorm3d",
    "l2Pool2d": "lppool2d",
    "layerNormalization": "layernorm",
    "lstm": "convlstm1d convlstm2d",
    "matmul": "bmm dot einsum mm",
    "max": "maximum",
    "maxPool2d": "maxpooling2d maxpool maxpooling fractionalmaxpool2d pooling",
    "min": "minimum",
    "mul": "multiply",
    "neg": "negative",
    "positionalEmbedding": "positionembedding posembedding",
    "pow": "power",
    "reduceL2": "norm",
    "reduceLogSumExp": "logsumexp",
    "reduceMax": "amax",
    "reduceMean": "mean",
    "reduceMin": "amin",
    "reduceProduct": "prod",
    "reduceSum": "sum",
    "reduceVariance": "var variance",
    "resample2d": "interpolate upsample upsampling2d upsamplingnearest2d resize resizing",
    "reshape": "view unflatten",
    "residual": "skip shortcut skipconnection residualconnection",
    "reverse": "flip",
    "rmsNorm": "rmsnormalization",
    "rotaryEmbedding": "rope",
    "roundEven": "round",
    "silu": "swish",
    "split": "chunk",
    "sub": "subtract",
    "transpose": "permute swapaxes",
    "unsqueeze": "expanddims",
}
"""Operators, and their names elsewhere, folded."""

HINTS: Mapping[str, str] = {
    DENSE: "dense fc fullyconnected linear lazylinear einsumdense mlp affine bilinear",
    _INPUT: "input inputlayer",
    _ENCODED: "categoryencoding stringlookup integerlookup textvectorization hashing "
    "hashedcrossing discretization",
    _DISTURBED: "gaussiannoise gaussiandropout noise",
    _POOLED: "maxpool1d maxpooling1d avgpool1d averagepool1d averagepooling1d lppool1d",
    _LENGTHENED: "convtranspose1d conv1dtranspose convolution1dtranspose upsampling1d maxunpool1d",
    _BLOCK: "transformer transformerencoder transformerencoderlayer transformerdecoder "
    "transformerdecoderlayer transformerblock",
    "write the activation as a layer: relu()": "activation",
    "write direction=both in lstm or gru": "bidirectional bilstm bigru",
    "write one gru after the other, all but the last with returnSequence=true": "stackedrnncells",
    "write attend(q, k, v, o=o, heads=4, kvHeads=2)": "groupqueryattention groupedqueryattention",
    "write its layers one after the other": "sequential modulelist modulist",
    "write the operators themselves, such as mul(2), add(1)": "lambda",
    "leave it out: layers work on every position of a sequence": "timedistributed",
    "leave it out: rows may have different lengths, and padding is masked": "masking",
    "leave it out: standardize=True of the dataset does it": "normalization",
    "leave it out: regularization= of train() keeps weights small": "activityregularization",
    "leave it out: a normalisation of values does as much": "spectralnormalization spectralnorm "
    "weightnorm",
    "leave it out, and write dataset.augment(Flip(), Rotate(), Shift(), Brighten())": ""
    "randomflip randomrotation randomzoom randomcrop randomtranslation randombrightness "
    "randomcontrast mixup cutmix",
    "write mul(0.00392157), which divides by 255": "rescaling",
    "write reduceMean(axes=[sequence]), or axes=[length] if a dimension is called so": ""
    "globalaveragepooling1d globalaveragepool1d globalavgpool1d adaptiveavgpool1d "
    "adaptiveaveragepooling1d",
    "write reduceMax(axes=[sequence]), or axes=[length] if a dimension is called so": ""
    "globalmaxpooling1d globalmaxpool1d adaptivemaxpool1d adaptivemaxpooling1d",
    "write reduceMax(axes=[height, width])": "globalmaxpooling2d globalmaxpool2d globalmaxpool "
    "globalmaxpooling adaptivemaxpool2d adaptivemaxpooling2d",
    "write conv2d(k, filters=4, kernel=3, groups=4), each 4 being the channels": ""
    "depthwiseconv2d depthwiseconv",
    "write conv1d(k, filters=4, kernel=3, groups=4), each 4 being the channels": "depthwiseconv1d",
    "write conv2d(k, filters=4, kernel=3, groups=4), conv2d(p, filters=16, kernel=1), each 4 "
    "being the channels": "separableconv2d separableconvolution2d separableconv",
    "write conv1d(k, filters=4, kernel=3, groups=4), conv1d(p, filters=16, kernel=1), each 4 "
    "being the channels": "separableconv1d separableconvolution1d",
    "write resample2d(scales=[2, 2])": "maxunpool2d",
    "write resample2d(scales=[2, 2], mode=linear)": "upsamplingbilinear2d",
    "write pad([0, 1, 1], [0, 1, 1])": "zeropadding2d zeropad2d constantpad2d padding",
    "write pad([0, 1, 1], [0, 1, 1], mode=reflection)": "reflectionpad2d",
    "write pad([0, 1, 1], [0, 1, 1], mode=edge)": "replicationpad2d",
    "write pad([1, 0], [1, 0])": "zeropadding1d zeropad1d constantpad1d",
    "write pad([1, 0], [1, 0], mode=reflection)": "reflectionpad1d",
    "write pad([1, 0], [1, 0], mode=edge)": "replicationpad1d",
    "write slice(starts=[0, 1, 1], sizes=[4, 6, 6])": "cropping2d centercrop crop",
    "write slice(starts=[1, 0], sizes=[6, 4])": "cropping1d",
    "write repeatSequence(length=3)": "repeatvector",
    "write embedding(t, size=100, shape=[16]), reduceMean(axes=[sequence])": "embeddingbag",
    "write add([a, b]), mul(0.5)": "average",
    "write clamp(minValue=-1, maxValue=1)": "hardtanh",
    "write clamp(minValue=0, maxValue=6)": "relu6",
    "write leakyRelu(alpha=0.23)": "rrelu",
    "write neg(), softmax()": "softmin",
    "write softmax(axis=channels)": "softmax2d",
    "write pow(2)": "square",
    "write sqrt(), reciprocal()": "rsqrt",
    "write add(1), log()": "log1p",
    "write exp(), sub(1)": "expm1",
    "write triangular(upper=false)": "tril",
    "write triangular()": "triu",
    "define it: glu:layers split(2, name=half), sigmoid(node=half.1), mul(half.0);": "glu",
    "define it: hardShrink:layers abs(), greater(0.5), where(input, 0);": "hardshrink",
    "define it: logSigmoid:layers neg(), softplus(), neg();": "logsigmoid",
    "define it: mish:layers softplus(), tanh(), mul(input);": "mish",
    "define it: selu:layers elu(alpha=1.67326), mul(1.0507);": "selu",
    "define it: softShrink:layers clamp(minValue=-0.5, maxValue=0.5, name=c), sub([input, c]);": ""
    "softshrink",
    "define it: tanhShrink:layers tanh(name=t), sub([input, t]);": "tanhshrink",
    "define it: threshold:layers greater(0.5), where(input, 0);": "threshold thresholdedrelu",
    "define it: unit:layers reduceL2(axes=[-1], keepDimensions=true, name=n), div([input, n]);": ""
    "unitnormalization normalize",
    "define it, here for 16 channels of 8 × 8: shuffle:layers reshape([4, 2, 2, 8, 8]), "
    "transpose([0, 3, 1, 4, 2]), reshape([4, 16, 16]);": "pixelshuffle depthtospace",
    "there are pictures, no volumes: join depth and channels by reshape, and write conv2d": ""
    "conv3d convolution3d conv3dtranspose convtranspose3d maxpool3d maxpooling3d avgpool3d "
    "averagepooling3d globalaveragepooling3d globalmaxpooling3d adaptiveavgpool3d "
    "adaptivemaxpool3d upsampling3d zeropadding3d cropping3d convlstm3d",
}
"""What to write, and the layers elsewhere that do it, folded."""


def _by_name(table: Mapping[str, str]) -> dict[str, str]:
    return {name: entry for entry, names in table.items() for name in names.split()}


LAYERS: Mapping[str, str] = _by_name(HINTS) | _by_name(OPERATORS)
"""Layers by their names elsewhere, folded: an operator of the notation, or what to write."""

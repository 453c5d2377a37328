"""Trains a network on the Iris flowers, and predicts the species of one."""

from webnnm import IrisDataset, NNModel

SOURCE = """
model:input shape=[4]; model:output shape=[3];
model:layers dense(shape=[8], activation=relu), dense(shape=[3], activation=softmax);
dense:layers matmul(w), add(b), activation();
"""

iris = await IrisDataset.create(standardize=True)
model = await NNModel.create(source=SOURCE, dataset=iris, seed=0, log=print)
print(f"training on {model.backend.description} …")
await model.train(epochs=100, progress="off")
result = await model.test()
print(f"test accuracy {result.accuracy:.2f}")
flower = await model.predict([5.1, 3.5, 1.4, 0.2])
print(f"sepals of 5.1 and 3.5 cm, petals of 1.4 and 0.2 cm: {flower}")

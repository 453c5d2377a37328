"""Pictures as rows of pixels: `images.ImageDataset`."""

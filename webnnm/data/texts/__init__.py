"""Running text for next-token prediction: `text.TextDataset`."""

"""What the GPU samplers are made of."""

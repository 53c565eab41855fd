"""What the OTLP receivers are made of."""

"""What becomes of incidents is told to targets: noticed, kept on disk, delivered."""

"""Records of a store → Evidence."""

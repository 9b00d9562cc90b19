"""How well rankings and labels agree with a reference."""

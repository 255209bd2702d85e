"""Long checks: every model, compiler and linker, fuzzing, mutated files."""

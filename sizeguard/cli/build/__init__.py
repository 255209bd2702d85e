"""Commands that build the runtime and its inputs: build, import, codegen, trace."""

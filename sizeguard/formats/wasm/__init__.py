"""Read WebAssembly modules, objects and components."""

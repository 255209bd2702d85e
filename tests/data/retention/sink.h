// What makes code that can be found again: a store of a constant that stands nowhere else.

#pragma once

#define NOINLINE __attribute__((noinline))

// MARKER is unlike in every fixture and every run: -DMARKER=0x…ull, and the same in MARKER_TEXT for assembly.
#define OTHER 0x0123456789abcdefull

namespace {
volatile unsigned long sink;
}  // namespace

// A function written in assembly, in a section of its own.

#include "sink.h"

asm(R"(
  .pushsection .text.subject, "ax", @progbits
  .globl subject
  .type subject, @function
subject:
  movabsq $)" MARKER_TEXT R"(, %rax
  ret
  .size subject, . - subject
  .popsection
)");
int main() { return 0; }

// Shows:   a dead function written in assembly, in a section of its own
// Subject: dead
// Marker:  0x5afe0c0df0101010
// Kept:    no

#include <cstdint>

#ifdef __x86_64__
asm(R"(
  .section .text.dead,"ax",@progbits
  .globl dead
  .type dead, @function
dead:
  movabsq $0x5afe0c0df0101010, %rax
  ret
  .size dead, .-dead
  .text
)");
#endif

int main(int count, char**) {
  return static_cast<int>(count);
}

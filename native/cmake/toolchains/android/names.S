// Macros for the lists of names that a library of the system has. A library of them has no content: nobody ships it.

.macro function name
  .globl \name
  .type \name, %function
\name:
.endm

.macro pointer name
  .globl \name
  .type \name, %object
  .size \name, 8
\name:
.endm

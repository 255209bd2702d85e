/* read() and write() that a signal interrupts before every call, and that transfer a few bytes. */

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static ssize_t transfer(long number, int file, void* bytes, size_t size) {
  static int calls;
  if (++calls % 2 == 1) {
    errno = EINTR;
    return -1;
  }
  return syscall(number, file, bytes, size < 100 ? size : 100);
}

ssize_t read(int file, void* bytes, size_t size) {
  return transfer(SYS_read, file, bytes, size);
}

ssize_t write(int file, const void* bytes, size_t size) {
  return transfer(SYS_write, file, (void*)bytes, size);
}

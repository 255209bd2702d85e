// Errors of the C interface.

#include "native/c_api/errors.h"

#include <cstdarg>
#include <cstdio>

namespace sg::c_api {

sizeguard_code succeed(sizeguard_error* error) {
  if (error != nullptr) {
    error->code = SIZEGUARD_OK;
    error->message[0] = 0;
  }
  return SIZEGUARD_OK;
}

sizeguard_code fail(sizeguard_error* error, sizeguard_code code, const char* format, ...) {
  if (error != nullptr) {
    error->code = code;
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return code;
}

sizeguard_code fail_null(sizeguard_error* error, const char* name) {
  return fail(error, SIZEGUARD_INVALID, "%s is null", name);
}

sizeguard_code fail_memory(sizeguard_error* error) {
  return fail(error, SIZEGUARD_MEMORY, "out of memory");
}

}  // namespace sg::c_api

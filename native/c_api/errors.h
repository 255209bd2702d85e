// Errors of the C interface: a code, and a message for the caller's sizeguard_error, if there is
// one.

#pragma once

#include <cstddef>

#include "native/c_api/sizeguard.h"

namespace sg::c_api {

sizeguard_code succeed(sizeguard_error* error);

[[gnu::format(printf, 3, 4)]] sizeguard_code fail(sizeguard_error* error, sizeguard_code code,
                                                  const char* format, ...);

sizeguard_code fail_null(sizeguard_error* error, const char* name);

sizeguard_code fail_memory(sizeguard_error* error);

}  // namespace sg::c_api

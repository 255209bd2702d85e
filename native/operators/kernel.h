// Includes that all kernel files share.

#pragma once

#include <array>
#include <cmath>
#include <cstring>

#include "native/operators/copy.h"
#include "native/operators/elementwise.h"
#include "native/operators/reduce.h"
#include "native/operators/shape.h"
#include "native/runtime/context.h"
#include "native/selective/dtype_switch.h"

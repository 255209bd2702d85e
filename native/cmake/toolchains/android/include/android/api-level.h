/* The header of this name that FlatBuffers includes. The compiler itself defines __ANDROID_API__.
 */
#pragma once

// .npy, versions 1 and 2: a magic, a header that is a Python dictionary, the elements.

#include "native/apps/npy.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sg {
namespace {

/// numpy's type without the byte order, four bytes per code of ScalarType.
const char kTypes[] =
    "u1\0\0i1\0\0i2\0\0i4\0\0i8\0\0f2\0\0f4\0\0f8\0\0\0\0\0\0\0\0\0\0\0\0\0\0b1\0\0\0\0\0\0\0\0\0\0"
    "\0\0\0\0V2\0";

/// The place behind the words if the text begins with them, or null. An import of strncmp would
/// take 70 bytes.
const char* behind(const char* text, const char* words) {
  for (; *words != 0; ++words, ++text) {
    if (*text != *words) return nullptr;
  }
  return text;
}

/// The start of a key's value, or null.
const char* find_value(const char* header, const char* key) {
  const char* value;
  while ((value = behind(header, key)) == nullptr) {
    if (*header++ == 0) return nullptr;
  }
  while (*value == ' ' || *value == ':' || *value == '(' || *value == '\'') ++value;
  return value;
}

/// Calls read() or write() until all bytes are done. A call may do fewer than asked, and a signal
/// may interrupt it.
template <typename Call, typename Byte>
bool transfer(Call call, int file, Byte* bytes, size_t size) {
  while (size > 0) {
    const ssize_t done = call(file, bytes, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes += done;
    size -= static_cast<size_t>(done);
  }
  return true;
}

int find_dtype(const char* type) {
  for (int code = 0; code < kScalarTypeCodes; ++code) {
    const char* end = is_scalar_type(code) ? behind(type, kTypes + 4 * code) : nullptr;
    if (end != nullptr && *end == '\'') return code;
  }
  return -1;
}

}  // namespace

void* read_file(Context& context, const char* path, size_t* size) {
  void* bytes = nullptr;
  struct stat status;
  const int file = open(path, O_RDONLY | O_NONBLOCK);  // does not wait for a writer of a pipe
  if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    *size = static_cast<size_t>(status.st_size);
    bytes = context.allocate(static_cast<int64_t>(*size));
    if (bytes != nullptr && !transfer(read, file, static_cast<char*>(bytes), *size))
      bytes = nullptr;
  }
  if (bytes == nullptr) {
    const char* why = context.message();  // of a limit of memory
    std::fprintf(stderr, "error: %s: %s\n", path, *why != 0 ? why : "cannot read");
  }
  if (file >= 0) close(file);
  return bytes;
}

bool read_decimal(const char*& text, int64_t& number) {
  const char* const start = text;  // read by a loop, since an import of strtoll takes 70 bytes
  for (number = 0; *text >= '0' && *text <= '9'; ++text) {
    if (__builtin_mul_overflow(number, 10, &number) ||
        __builtin_add_overflow(number, *text - '0', &number))
      return false;
  }
  return text != start;
}

// Longer than 40 lines: it checks an untrusted file field by field.
Result<Tensor> read_npy(Context& context, const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  if (size < 12 || behind(static_cast<const char*>(data), "\x93NUMPY") == nullptr)
    return context.fail(Error::Invalid, "not a .npy file");
  const size_t start = bytes[6] == 1 ? 10 : 12;
  const size_t length = bytes[8] | bytes[9] << 8 |
                        (bytes[6] == 1 ? 0 : static_cast<size_t>(bytes[10] | bytes[11] << 8) << 16);
  char header[512];
  if (length > size - start || length >= sizeof header)
    return context.fail(Error::Invalid, "damaged .npy header");
  std::memcpy(header, bytes + start, length);
  header[length] = 0;

  const char* type = find_value(header, "'descr'");
  const char* order = find_value(header, "'fortran_order'");
  const char* shape = find_value(header, "'shape'");
  const int dtype = type == nullptr || (*type != '<' && *type != '|') ? -1 : find_dtype(type + 1);
  if (dtype < 0 || order == nullptr || *order != 'F' || shape == nullptr) {
    return context.fail(Error::Invalid, "not a dtype or order that this program reads");
  }
  int64_t sizes[kMaxDims];
  size_t dim = 0;
  while (dim < kMaxDims && read_decimal(shape, sizes[dim])) {
    ++dim;
    while (*shape == ',' || *shape == ' ') ++shape;
  }
  const IntArrayRef dims(sizes, dim);
  const int64_t count = count_elements(dims);
  const auto available = static_cast<int64_t>(size - start - length);
  if (*shape != ')' || count < 0 ||
      count > available / element_size(static_cast<ScalarType>(dtype))) {
    return context.fail(Error::Invalid, "the .npy file is too short");
  }
  const unsigned char* elements = bytes + start + length;
  if (dtype == static_cast<int>(ScalarType::Bool) &&
      !are_bools(elements, static_cast<size_t>(count))) {
    return context.fail(Error::Invalid, "a bool is neither 0 nor 1");
  }
  if (reinterpret_cast<uintptr_t>(elements) % 8 == 0)
    return context.borrow(static_cast<ScalarType>(dtype), dims, {}, elements, available);
  SG_ASSIGN(const Tensor copy, context.empty(static_cast<ScalarType>(dtype), dims));
  std::memcpy(copy.bytes(), elements, static_cast<size_t>(count * copy.element_size()));
  return copy;
}

namespace {

/// The elements of a tensor in the order of its indices.
Result<Tensor> to_contiguous(Context& context, Tensor tensor) {
  if (tensor.is_contiguous()) return tensor;
  SG_ASSIGN(const Tensor copy, context.empty(tensor.scalar_type(), tensor.sizes()));
  const int64_t element = tensor.element_size();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const int64_t offset = offset_of(tensor, i);
    std::memcpy(copy.bytes() + i * element, tensor.bytes() + offset * element,
                static_cast<size_t>(element));
  }
  return copy;
}

/// Makes the folders of a path that are missing. Writing the file will tell what could not be made.
void make_folders(char* path) {
  for (char* end = path + 1; *end != 0; ++end) {
    if (*end != '/') continue;
    *end = 0;
    mkdir(path, 0777);
    *end = '/';
  }
}

/// Writes a contiguous tensor. Returns false if writing fails.
bool write_npy(const char* path, Tensor tensor) {
  char shape[24 * kMaxDims] = "";
  int used = 0;
  for (const int64_t size : tensor.sizes()) {
    used += std::snprintf(shape + used, sizeof shape - static_cast<size_t>(used), "%lld,",
                          static_cast<long long>(size));
  }
  // The header is padded so that the elements start at a multiple of 64.
  const auto element = static_cast<size_t>(tensor.element_size());
  char header[576];
  const char* type = kTypes + 4 * code_of(tensor.scalar_type());
  const int text =
      std::snprintf(header, sizeof header,
                    "\x93NUMPY\1%c%c%c{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }",
                    0, 0, 0, element == 1 ? '|' : '<', type, shape);
  const size_t start = (static_cast<size_t>(text) + 1 + 63) / 64 * 64;
  std::memset(header + text, ' ', start - static_cast<size_t>(text));
  header[8] = static_cast<char>((start - 10) & 255);
  header[9] = static_cast<char>((start - 10) >> 8);
  header[start - 1] = '\n';

  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const bool done =
      file >= 0 && transfer(write, file, header, start) &&
      transfer(write, file, tensor.bytes(), static_cast<size_t>(tensor.numel()) * element);
  return file >= 0 && close(file) == 0 && done;
}

}  // namespace

int write_outputs(Context& context, const char* folder, Span<const Value> outputs) {
  for (const Value& output : outputs) {
    if (output.tag <= Tag::Double || output.tag == Tag::Tensor) continue;
    std::fprintf(stderr, "error: %s: an output is a list, a string or an object\n", folder);
    return 2;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value& output = outputs[i];
    char path[4096];
    const int length = std::snprintf(path, sizeof path, "%s/output%zu.npy", folder, i);
    bool done = *folder != 0 && length < static_cast<int>(sizeof path);
    if (done) make_folders(path);
    if (done && output.tag == Tag::None) {
      done = unlink(path) == 0 || errno == ENOENT;
    } else if (done) {
      const auto array = output.tag == Tag::Tensor ? to_contiguous(context, Tensor(output.tensor))
                                                   : context.wrap_number(output.to_scalar());
      done = array.ok() && write_npy(path, array.value());
    }
    if (!done) {
      std::fprintf(stderr, "error: %s: cannot write output %zu\n", folder, i);
      return 2;
    }
  }
  return 0;
}

}  // namespace sg

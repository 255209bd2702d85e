// The Context's memory and error texts.

#include "native/runtime/context.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "native/runtime/registry.h"

namespace sg {
namespace {

// Rounded up so that the memory after the header is aligned as malloc aligns.
constexpr int64_t kMemoryHeader = (sizeof(Block) + 15) / 16 * 16;
constexpr int64_t kStorageHeader = (sizeof(Storage) + 15) / 16 * 16;

}  // namespace

int64_t Scalar::to_int() const {
  if (!is_floating()) return bits_.integer;
  return bits_.number > -0x1p63 && bits_.number < 0x1p63 ? static_cast<int64_t>(bits_.number)
                                                         : INT64_MIN;
}

float Scalar::to_float() const {
  return is_floating() ? static_cast<float>(bits_.number) : static_cast<float>(bits_.integer);
}

Context::~Context() {
  while (blocks_ != nullptr) free_block(blocks_);
}

/// Allocates memory that counts towards the limit. The sum of the two sizes may overflow.
void* Context::take(int64_t header, int64_t bytes) {
  void* memory = nullptr;
  if (bytes >= 0 && bytes <= memory_limit - memory_used_ - header)
    memory = std::malloc(static_cast<size_t>(header + bytes));
  if (memory == nullptr) {
    fail(Error::Memory, "out of memory");
    return nullptr;
  }
  memory_used_ += header + bytes;
  return memory;
}

void Context::give(void* memory, int64_t size) {
  memory_used_ -= size;
  std::free(memory);
}

Block* Context::create_block(int64_t header, int64_t bytes, Block::Kind kind) {
  auto* block = static_cast<Block*>(take(header, bytes));
  if (block == nullptr) return nullptr;
  block->previous = nullptr;
  block->next = blocks_;
  block->size = header + bytes;
  block->uses = 0;
  block->kind = kind;
  if (blocks_ != nullptr) blocks_->previous = block;
  blocks_ = block;
  return block;
}

void* Context::allocate(int64_t bytes) {
  Block* block = create_block(kMemoryHeader, bytes, Block::Kind::Memory);
  return block == nullptr ? nullptr : reinterpret_cast<char*>(block) + kMemoryHeader;
}

void* Context::allocate_zeros(size_t bytes) {
  void* memory = allocate(static_cast<int64_t>(bytes));
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

void Context::deallocate(void* memory) {
  if (memory != nullptr)
    free_block(reinterpret_cast<Block*>(static_cast<char*>(memory) - kMemoryHeader));
}

/// `borrowed` is memory of the caller, or null: the storage then has memory of its own.
Storage* Context::create_storage(int64_t bytes, char* borrowed) {
  auto* storage = static_cast<Storage*>(take(kStorageHeader, borrowed == nullptr ? bytes : 0));
  if (storage == nullptr) return nullptr;
  storage->data =
      borrowed == nullptr ? reinterpret_cast<char*>(storage) + kStorageHeader : borrowed;
  storage->bytes = bytes;
  storage->views = 0;
  storage->read_only = borrowed != nullptr;
  return storage;
}

void Context::free_storage(Storage* storage) {
  if (--storage->views == 0)
    give(storage, kStorageHeader + (storage->read_only ? 0 : storage->bytes));
}

void Context::free_block(Block* block) {
  (block->previous == nullptr ? blocks_ : block->previous->next) = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
  if (block->kind == Block::Kind::Tensor) {
    Storage* storage = static_cast<TensorImpl*>(block)->storage;
    if (storage != nullptr) free_storage(storage);
  }
  give(block, block->size);
}

Result<Tensor> Context::create_tensor(ScalarType dtype, IntArrayRef sizes, IntArrayRef strides) {
  const auto dim = static_cast<int64_t>(sizes.size());
  const int64_t numel = count_elements(sizes);
  // The limit applies to views too: an expanded view takes no memory, but it takes time.
  if (dim > kMaxDims || numel < 0 || numel > memory_limit / 8 ||
      !is_scalar_type(static_cast<int64_t>(dtype)) ||
      (strides.data() != nullptr && strides.size() != sizes.size())) {
    return invalid("no such shape or dtype");
  }
  auto* impl =
      static_cast<TensorImpl*>(create_block(sizeof(TensorImpl), 16 * dim, Block::Kind::Tensor));
  if (impl == nullptr) return Failed{};
  impl->storage = nullptr;
  impl->numel = numel;
  impl->dtype = dtype;
  impl->dim = static_cast<int8_t>(dim);
  impl->wrapped_number = false;
  int64_t stride = 1;
  for (int64_t axis = dim - 1; axis >= 0; --axis) {
    impl->shape[axis] = sizes[axis];
    impl->shape[dim + axis] = strides.data() == nullptr ? stride : strides[axis];
    if (sizes[axis] > 1) stride *= sizes[axis];
  }
  return Tensor(impl);
}

/// A new tensor over a storage that was just created (null: that failed).
Result<Tensor> Context::attach(Tensor tensor, Storage* storage) {
  if (storage == nullptr) {
    free_block(tensor.impl());
    return Failed{};
  }
  storage->views = 1;
  tensor.impl()->storage = storage;
  tensor.impl()->data = storage->data;
  return tensor;
}

Result<Tensor> Context::empty(ScalarType dtype, IntArrayRef sizes) {
  SG_ASSIGN(const Tensor tensor, create_tensor(dtype, sizes, {}));
  return attach(tensor, create_storage(tensor.numel() * tensor.element_size(), nullptr));
}

Result<Tensor> Context::borrow(ScalarType dtype, IntArrayRef sizes, IntArrayRef strides,
                               const void* data, int64_t bytes) {
  SG_ASSIGN(const Tensor tensor, create_tensor(dtype, sizes, strides));
  // The flag read_only keeps operators from writing, so the cast is safe.
  return attach(tensor, create_storage(bytes, static_cast<char*>(const_cast<void*>(data))));
}

Result<Tensor> Context::view(Tensor base, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  SG_ASSIGN(const Tensor tensor, create_tensor(base.scalar_type(), sizes, strides));
  TensorImpl* impl = tensor.impl();
  impl->storage = base.impl()->storage;
  ++impl->storage->views;
  impl->data = base.bytes();
  if (impl->numel == 0) return tensor;  // it has no element, wherever its data lies
  // In elements: what the storage holds before the first element of base, and from there on.
  const int64_t size = tensor.element_size();
  const int64_t before = (base.bytes() - impl->storage->data) / size;
  int64_t left = impl->storage->bytes / size - before;
  if (offset >= -before && offset < left) {
    impl->data += offset * size;
    left -= offset + 1;
    for (const int64_t* shape = impl->shape; shape != impl->shape + impl->dim; ++shape) {
      if (*shape == 1) continue;
      const int64_t stride = shape[impl->dim];
      left = stride < 0 || stride > left / (*shape - 1) ? -1 : left - stride * (*shape - 1);
      if (left < 0) break;
    }
    if (left >= 0) return tensor;
  }
  free_block(impl);
  return invalid("a view goes beyond its tensor's memory");
}

Result<Tensor> Context::wrap_number(Scalar number) {
  // Numbers are Double or Long until promotion decides.
  const ScalarType dtype = number.is_floating() ? ScalarType::Double
                           : number.is_bool()   ? ScalarType::Bool
                                                : ScalarType::Long;
  SG_ASSIGN(const Tensor tensor, empty(dtype, {}));
  tensor.impl()->wrapped_number = true;
  if (number.is_floating()) {
    *tensor.data<double>() = number.to_double();
  } else if (number.is_bool()) {
    *tensor.data<bool>() = number.to_int() != 0;
  } else {
    *tensor.data<int64_t>() = number.to_int();
  }
  return tensor;
}

void Context::count_use(Block* block, int change, bool free_unused) {
  block->uses += static_cast<uint64_t>(int64_t{change});
  if (block->uses != 0 || !free_unused) return;
  Span<Tensor> kept;
  if (block->kind == Block::Kind::Object) kept = static_cast<Object*>(block)->tensors;
  // The span is part of the object: count before the object goes.
  for (const Tensor& tensor : kept) count_uses(tensor, -1, true);
  free_block(block);
}

void Context::count_uses(const Value& value, int change, bool free_unused) {
  if (value.tag == Tag::Tensor) {
    count_use(value.tensor, change, free_unused);
  } else if (value.tag == Tag::Object) {
    count_use(value.object, change, free_unused);
  } else if (value.tag == Tag::TensorList) {
    // One by one, since a list may hold a tensor twice.
    for (uint32_t i = 0; i < value.size; ++i) count_uses(value.tensors[i], change, free_unused);
  }
  if (value.owned) {
    char* memory = reinterpret_cast<char*>(const_cast<int64_t*>(value.integers));
    count_use(reinterpret_cast<Block*>(memory - kMemoryHeader), change, free_unused);
  }
}

void Context::adopt(Object* object) {
  for (const Tensor& tensor : object->tensors) count_uses(tensor, 1, false);
}

void Context::sweep(const Block* mark, Span<const Value> results) {
  for (const Value& result : results) count_uses(result, 1, false);
  for (Block* block = blocks_; block != mark;) {
    // Objects are newer than the tensors that they keep. So the loop reaches those tensors later
    // and frees them then.
    if (block->uses == 0 && block->kind == Block::Kind::Object) {
      for (const Tensor& tensor : static_cast<Object*>(block)->tensors)
        count_uses(tensor, -1, false);
    }
    Block* next = block->next;
    if (block->uses == 0) free_block(block);
    block = next;
  }
  for (const Value& result : results) count_uses(result, -1, false);  // their new owner counts them
}

// The message in builds without the feature verbose_errors.
const char kNoMessage[] = "invalid (build with the feature verbose_errors to learn why)";

Failed Context::fail(Error error, const char* message) {
  if (error_ != Error::None) return Failed{};
  error_ = error;
  const char* name = frame == nullptr ? "" : frame->op->schema;
  const char* caller =
      frame == nullptr || frame->caller == nullptr ? "" : frame->caller->op->schema;
  std::snprintf(message_, sizeof message_, "%.*s%s%.*s%s%s%s", name_length(name), name,
                *caller == 0 ? "" : " (called by ", name_length(caller), caller,
                *caller == 0 ? "" : ")", *name == 0 ? "" : ": ",
                message == nullptr ? kNoMessage : message);
  // Texts of a program may hold line breaks, but an error is one line.
  for (char& c : message_) {
    if ((c > 0 && c < ' ') || c == 127) c = '?';
  }
  return Failed{};
}

}  // namespace sg

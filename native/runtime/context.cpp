// The Context's memory and error texts.

#include "native/runtime/context.h"

#include <cstdio>
#include <cstdlib>

#include "native/runtime/registry.h"

namespace sg {
namespace {

// Rounded up so that the memory after the header is aligned as malloc aligns.
constexpr size_t kMemoryHeader = (sizeof(Block) + 15) / 16 * 16;
constexpr size_t kStorageHeader = (sizeof(Storage) + 15) / 16 * 16;

}  // namespace

int64_t Scalar::to_int() const {
  if (!is_floating()) return bits_.integer;
  return bits_.number > -0x1p63 && bits_.number < 0x1p63 ? static_cast<int64_t>(bits_.number)
                                                         : INT64_MIN;
}

Context::~Context() {
  while (blocks_ != nullptr) free_block(blocks_);
}

Block* Context::create_block(size_t size, Block::Kind kind) {
  auto* block = static_cast<Block*>(std::malloc(size));
  if (block == nullptr) {
    fail(Error::Memory, "out of memory");
    return nullptr;
  }
  block->previous = nullptr;
  block->next = blocks_;
  block->uses = 0;
  block->kind = kind;
  if (blocks_ != nullptr) blocks_->previous = block;
  blocks_ = block;
  return block;
}

void* Context::allocate(int64_t bytes) {
  if (bytes > memory_limit) {
    fail(Error::Memory, "out of memory");
    return nullptr;
  }
  Block* block = create_block(kMemoryHeader + static_cast<size_t>(bytes), Block::Kind::Memory);
  return block == nullptr ? nullptr : reinterpret_cast<char*>(block) + kMemoryHeader;
}

Storage* Context::create_storage(int64_t bytes) {
  Storage* storage = nullptr;
  if (bytes <= memory_limit - memory_used_) {
    storage = static_cast<Storage*>(std::malloc(kStorageHeader + static_cast<size_t>(bytes)));
  }
  if (storage == nullptr) {
    fail(Error::Memory, "out of memory");
    return nullptr;
  }
  memory_used_ += bytes;
  storage->data = reinterpret_cast<char*>(storage) + kStorageHeader;
  storage->bytes = bytes;
  storage->views = 0;
  storage->read_only = false;
  return storage;
}

void Context::free_storage(Storage* storage) {
  if (--storage->views != 0) return;
  memory_used_ -= storage->bytes;
  std::free(storage);
}

void Context::free_block(Block* block) {
  (block->previous == nullptr ? blocks_ : block->previous->next) = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
  if (block->kind == Block::Kind::Tensor) free_storage(static_cast<TensorImpl*>(block)->storage);
  std::free(block);
}

Result<Tensor> Context::create_tensor(ScalarType dtype, IntArrayRef sizes, IntArrayRef strides) {
  const auto dim = static_cast<int64_t>(sizes.size());
  const int64_t numel = count_elements(sizes);
  // The limit applies to views too: an expanded view takes no memory, but it takes time.
  if (dim > kMaxDims || numel < 0 || numel > memory_limit / 8 ||
      !is_scalar_type(static_cast<int64_t>(dtype))) {
    return invalid("no such shape or dtype");
  }
  auto* impl = static_cast<TensorImpl*>(
      create_block(sizeof(TensorImpl) + 16 * sizes.size(), Block::Kind::Tensor));
  if (impl == nullptr) return Failed{};
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

Result<Tensor> Context::empty(ScalarType dtype, IntArrayRef sizes) {
  SG_ASSIGN(const Tensor tensor, create_tensor(dtype, sizes, {}));
  TensorImpl* impl = tensor.impl();
  impl->storage = create_storage(tensor.numel() * tensor.element_size());
  if (impl->storage == nullptr) {
    // The tensor has no storage yet, so it must not stay in the list.
    blocks_ = impl->next;
    if (blocks_ != nullptr) blocks_->previous = nullptr;
    std::free(impl);
    return Failed{};
  }
  impl->storage->views = 1;
  impl->data = impl->storage->data;
  return tensor;
}

Result<Tensor> Context::view(Tensor base, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  SG_ASSIGN(const Tensor tensor, create_tensor(base.scalar_type(), sizes, strides));
  TensorImpl* impl = tensor.impl();
  impl->storage = base.impl()->storage;
  ++impl->storage->views;
  impl->data = base.bytes() + offset * base.element_size();
  return tensor;
}

Result<Tensor> Context::borrow(ScalarType dtype, IntArrayRef sizes, IntArrayRef strides,
                               const void* data) {
  // This storage has no bytes of its own. The flag read_only keeps operators from writing, so the
  // cast is safe.
  Storage* storage = create_storage(0);
  if (storage == nullptr) return Failed{};
  auto result = create_tensor(dtype, sizes, strides);
  if (!result.ok()) {
    std::free(storage);
    return Failed{};
  }
  storage->views = 1;
  storage->read_only = true;
  TensorImpl* impl = result.value().impl();
  impl->storage = storage;
  impl->data = static_cast<char*>(const_cast<void*>(data));
  return result;
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
  block->uses += static_cast<uint32_t>(change);
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
  return Failed{};
}

}  // namespace sg

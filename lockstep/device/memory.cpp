// SPDX-License-Identifier: Apache-2.0
// malloc's own settings are not enough: glibc's posix_memalign, which tensors
// use, asks for more than it returns, so a freed block never fits the next
// request of its size.
#include "lockstep/device/memory.h"

#include <c10/core/CPUAllocator.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace lockstep {
namespace {

// Smaller ones malloc keeps itself.
constexpr std::size_t kSmallest = 64 << 10;
constexpr std::size_t kHugePage = 2 << 20;

// Eight sizes for each power of two: at most an eighth is wasted, and batches
// of nearly the same size share their blocks.
std::size_t rounded(std::size_t bytes) {
  const std::size_t unit = std::max(std::bit_floor(bytes) / 8, std::size_t{64});
  return (bytes + unit - 1) / unit * unit;
}

class KeepingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* block = bytes < kSmallest ? take_small(bytes) : take(rounded(bytes));
    return {block, block, &give_back, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  // One for the process, never destroyed: tensors may outlive main().
  static KeepingAllocator& instance() {
    static KeepingAllocator* const one = new KeepingAllocator;
    return *one;
  }

 private:
  static void* fresh(std::size_t bytes, std::size_t alignment) {
    void* block = nullptr;
    if (posix_memalign(&block, alignment, bytes) != 0) throw std::bad_alloc();
    return block;
  }

  static void* take_small(std::size_t bytes) {
    return bytes == 0 ? nullptr : fresh(bytes, 64);
  }

  void* take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      live_bytes_ += bytes;
      most_live_bytes_ = std::max(most_live_bytes_, live_bytes_);
      std::vector<void*>& kept = kept_[bytes];
      if (!kept.empty()) {
        void* block = kept.back();
        kept.pop_back();
        kept_bytes_ -= bytes;
        size_of_[block] = bytes;
        return block;
      }
    }
    void* block = fresh(bytes, bytes < kHugePage ? 64 : kHugePage);
    use_huge_pages(block, bytes);
    const std::lock_guard lock(mutex_);
    size_of_[block] = bytes;
    return block;
  }

  static void give_back(void* block) {
    if (block && !instance().keep(block)) std::free(block);
  }

  // False when the block is small, or there is enough already.
  bool keep(void* block) {
    const std::lock_guard lock(mutex_);
    const auto found = size_of_.find(block);
    if (found == size_of_.end()) return false;
    const std::size_t bytes = found->second;
    size_of_.erase(found);
    live_bytes_ -= bytes;
    if (kept_bytes_ + bytes > most_live_bytes_) return false;
    kept_bytes_ += bytes;
    kept_[bytes].push_back(block);
    return true;
  }

  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> size_of_;  // of blocks in use
  std::unordered_map<std::size_t, std::vector<void*>> kept_;
  std::size_t live_bytes_ = 0, most_live_bytes_ = 0, kept_bytes_ = 0;
};

}  // namespace

void keep_freed_memory() {
  c10::SetCPUAllocator(&KeepingAllocator::instance());
  // What is not a tensor: no block gets a mapping of its own, and the heap's
  // end is never given back.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

void use_huge_pages(void* begin, std::size_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (from + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t end = (from + bytes) / kHugePage * kHugePage;
  if (end > first)
    madvise(static_cast<char*>(begin) + (first - from), end - first,
            MADV_HUGEPAGE);
}

}  // namespace lockstep

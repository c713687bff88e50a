#include "engine/kamino/checksum.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "engine/pmem/stream_copy.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

bool HasAvx() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx")) return true;
  std::printf("\nNOT RUN: the processor has no AVX\n");
  return false;
}

// Bits 128 to 255 of each vector register.
using UpperHalves = std::array<std::array<uint64_t, 2>, 16>;

// By assembler, as the compiler would clear them around intrinsics.
__attribute__((always_inline)) inline void ReadUpperHalves(UpperHalves* upper) {
  asm volatile(
      "vextractf128 $1, %%ymm0, 0(%0)\n"
      "vextractf128 $1, %%ymm1, 16(%0)\n"
      "vextractf128 $1, %%ymm2, 32(%0)\n"
      "vextractf128 $1, %%ymm3, 48(%0)\n"
      "vextractf128 $1, %%ymm4, 64(%0)\n"
      "vextractf128 $1, %%ymm5, 80(%0)\n"
      "vextractf128 $1, %%ymm6, 96(%0)\n"
      "vextractf128 $1, %%ymm7, 112(%0)\n"
      "vextractf128 $1, %%ymm8, 128(%0)\n"
      "vextractf128 $1, %%ymm9, 144(%0)\n"
      "vextractf128 $1, %%ymm10, 160(%0)\n"
      "vextractf128 $1, %%ymm11, 176(%0)\n"
      "vextractf128 $1, %%ymm12, 192(%0)\n"
      "vextractf128 $1, %%ymm13, 208(%0)\n"
      "vextractf128 $1, %%ymm14, 224(%0)\n"
      "vextractf128 $1, %%ymm15, 240(%0)\n"
      :
      : "r"(upper->data())
      : "memory");
}

constexpr UpperHalves kClear = {};

TEST(ChecksumTest, DirtyUpperHalvesAreDetected) {
  if (!HasAvx()) GTEST_SKIP();
  UpperHalves upper;
  asm volatile("vcmpps $15, %%ymm5, %%ymm5, %%ymm5\n" ::  // all ones
               : "xmm5");
  ReadUpperHalves(&upper);
  asm volatile("vzeroupper");
  EXPECT_NE(upper, kClear);
}

TEST(ChecksumTest, LeavesUpperHalvesClear) {
  if (!HasAvx()) GTEST_SKIP();
  std::vector<std::byte> bytes(1u << 20);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i * 7 + 1);
  UpperHalves upper;
  for (size_t size : {0, 8, 64, 128, 200, 240, 241, 256, 1024, 4096, 1 << 20}) {
    asm volatile("vzeroupper");
    const volatile uint64_t hash = Checksum({bytes.data(), size});
    ReadUpperHalves(&upper);
    static_cast<void>(hash);
    EXPECT_EQ(upper, kClear) << size << " bytes";
  }
}

TEST(ChecksumTest, CopiesLeaveUpperHalvesClear) {
  if (!HasAvx()) GTEST_SKIP();
  const std::vector<char> source(4096, 'x');
  alignas(64) static char target[4096];
  UpperHalves upper;
  for (const StreamLinesFn stream : StreamLinesFns()) {
    asm volatile("vzeroupper");
    stream(target, source.data(), sizeof(target));
    ReadUpperHalves(&upper);
    EXPECT_EQ(upper, kClear);
  }
}

}  // namespace
}  // namespace kamino::engine

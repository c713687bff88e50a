#include "engine/pmem/stream_copy.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

TEST(StreamCopyTest, CopiesExactlyAtAnyAlignment) {
  std::vector<char> source(400);
  std::iota(source.begin(), source.end(), 1);
  alignas(64) char target[512];
  for (size_t offset = 64; offset < 64 + 17; ++offset) {
    for (size_t from = 0; from < 3; ++from) {
      for (size_t length = 0; length < 300; ++length) {
        std::fill(std::begin(target), std::end(target), 'x');
        StreamCopy(target + offset, source.data() + from, length);
        for (size_t i = 0; i < sizeof(target); ++i) {
          const bool copied = i >= offset && i < offset + length;
          ASSERT_EQ(target[i], copied ? source[from + i - offset] : 'x')
              << offset << " " << from << " " << length << " at " << i;
        }
      }
    }
  }
}

TEST(StreamCopyTest, EveryWidthCopiesTheSame) {
  std::vector<char> source(64 * 9 + 3);
  std::iota(source.begin(), source.end(), 1);
  ASSERT_FALSE(StreamLinesFns().empty());
  for (const StreamLinesFn stream : StreamLinesFns()) {
    for (size_t lines = 0; lines < 9; ++lines) {
      alignas(64) char target[64 * 9] = {};
      stream(target, source.data() + 3, 64 * lines);
      for (size_t i = 0; i < sizeof(target); ++i) {
        ASSERT_EQ(target[i], i < 64 * lines ? source[3 + i] : 0) << lines;
      }
    }
  }
}

}  // namespace
}  // namespace kamino::engine

// A value that can be found wherever in this process's memory it was copied to,
// by whatever means: memcpy, inlined moves, stores past the cache, a parser.
//
// A program that links this frees nothing that `new` has given out, so that
// what was copied stays to be found. What it misses: a copy over an earlier one
// of the same bytes, and one that something else was stored over since.
#ifndef KAMINO_TESTS_NODE_COPIES_MARKED_VALUE_H_
#define KAMINO_TESTS_NODE_COPIES_MARKED_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace kamino::copies {

class MarkedValue {
 public:
  // Random bytes; another seed makes another value. `bytes` is a multiple of
  // kBlockBytes, which is what is looked for.
  static constexpr size_t kBlockBytes = 64;
  MarkedValue(uint64_t seed, size_t bytes);

  // One more copy.
  std::string Make() const;
  size_t size() const { return hidden_.size(); }

  // How many bytes of it are in memory, by the last part of the path of the
  // file that they are mapped from; "" for all memory without one.
  using Found = std::map<std::string, int64_t>;
  Found Find() const;

 private:
  bool IsBlock(const char* at, size_t block) const;

  std::string hidden_;  // its bytes inverted, so as not to be found itself
};

// Inverts every byte, so that a value is not found, and back.
void Invert(char* bytes, size_t size);

}  // namespace kamino::copies

#endif  // KAMINO_TESTS_NODE_COPIES_MARKED_VALUE_H_

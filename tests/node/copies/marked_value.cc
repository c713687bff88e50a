#include "tests/node/copies/marked_value.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <random>
#include <sstream>
#include <unordered_map>
#include <vector>

// Freed memory is not used again.
void operator delete(void*) noexcept {}
void operator delete(void*, size_t) noexcept {}
void operator delete(void*, std::align_val_t) noexcept {}
void operator delete(void*, size_t, std::align_val_t) noexcept {}

namespace kamino::copies {
namespace {

uint64_t WordAt(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

struct Mapping {
  uintptr_t begin;
  uintptr_t end;
  std::string name;
};

// Memory that this process can store to.
std::vector<Mapping> Mappings() {
  std::vector<Mapping> mappings;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, access, offset, device, inode, path;
    words >> range >> access >> offset >> device >> inode >> path;
    if (access.substr(0, 2) != "rw") continue;
    Mapping mapping;
    std::sscanf(range.c_str(), "%lx-%lx", &mapping.begin, &mapping.end);
    const bool file = inode != "0" && access[3] == 's';
    if (file) mapping.name = path.substr(path.rfind('/') + 1);
    mappings.push_back(mapping);
  }
  return mappings;
}

}  // namespace

void Invert(char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(~bytes[i]);
}

MarkedValue::MarkedValue(uint64_t seed, size_t bytes) : hidden_(bytes, '\0') {
  std::mt19937_64 random(seed);
  for (char& byte : hidden_) byte = static_cast<char>(random());
}

std::string MarkedValue::Make() const {
  std::string value = hidden_;
  Invert(value.data(), value.size());
  return value;
}

bool MarkedValue::IsBlock(const char* at, size_t block) const {
  const char* const hidden = hidden_.data() + block * kBlockBytes;
  for (size_t i = 0; i < kBlockBytes; ++i) {
    if (at[i] != static_cast<char>(~hidden[i])) return false;
  }
  return true;
}

MarkedValue::Found MarkedValue::Find() const {
  // Blocks by their first word, and which of its first bytes there are.
  std::unordered_map<uint64_t, size_t> blocks;
  std::vector<bool> first(size_t{1} << 16);
  for (size_t i = 0; i < hidden_.size() / kBlockBytes; ++i) {
    const uint64_t hidden = WordAt(hidden_.data() + i * kBlockBytes);
    blocks[hidden] = i;
    first[~hidden & 0xffff] = true;
  }
  Found found;
  for (const Mapping& mapping : Mappings()) {
    const char* const end = reinterpret_cast<const char*>(mapping.end);
    for (const char* at = reinterpret_cast<const char*>(mapping.begin);
         at + kBlockBytes <= end; ++at) {
      const uint64_t word = WordAt(at);
      if (!first[word & 0xffff]) continue;
      const auto block = blocks.find(~word);
      if (block == blocks.end() || !IsBlock(at, block->second)) continue;
      found[mapping.name] += kBlockBytes;
    }
  }
  return found;
}

}  // namespace kamino::copies

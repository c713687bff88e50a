// Checks a tree on a heap that is not in use: each page and each record. Stores
// nothing; ends whatever the pages say, as no object is reached twice.
#ifndef KAMINO_ENGINE_INDEX_INDEX_CHECK_H_
#define KAMINO_ENGINE_INDEX_INDEX_CHECK_H_

#include <cstdint>
#include <functional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/heap/heap_check.h"
#include "engine/transaction.h"

namespace kamino::engine {

struct CheckedTree {
  uint64_t pages = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;  // of values
};

struct CheckedRecord {
  ObjectId id;
  uint64_t version;
  absl::string_view key;
  absl::string_view value;
};

// Calls `visit` for each readable record, in the order of the pages.
CheckedTree CheckTree(CheckedBlocks* blocks, ObjectId root,
                      const Finding& found,
                      const std::function<void(const CheckedRecord&)>& visit);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_INDEX_INDEX_CHECK_H_

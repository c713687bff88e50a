// Archapt's matrices in an image of a heap, read by docs/formats/archapt.md and
// docs/formats/heap.md alone; and which of their objects are beyond repair.
#ifndef KAMINO_TESTS_ENGINE_CRASH_ARCHAPT_IMAGE_H_
#define KAMINO_TESTS_ENGINE_CRASH_ARCHAPT_IMAGE_H_

#include <cstddef>
#include <set>
#include <vector>

#include "engine/transaction.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

// The valid ones that have no known loss.
std::vector<CodedObjects> MatricesOf(const std::byte* image);

// The objects of `matrix` that stay wrong in `image`: each line that differs
// from `truth` is wrong, and one that is the only wrong one of its row or
// column can be repaired.
std::set<ObjectId> BeyondRepair(const CodedObjects& matrix,
                                const std::byte* image, const std::byte* truth);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_ARCHAPT_IMAGE_H_

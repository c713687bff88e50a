// Archapt's matrices in an image of a heap, read by docs/formats/archapt.md and
// docs/formats/heap.md alone; and which of their objects cannot be had back.
#ifndef KAMINO_TESTS_ENGINE_CRASH_ARCHAPT_IMAGE_H_
#define KAMINO_TESTS_ENGINE_CRASH_ARCHAPT_IMAGE_H_

#include <cstddef>
#include <set>
#include <vector>

#include "engine/transaction.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

// Those that count and of which nothing is known to be lost.
std::vector<CodedObjects> MatricesOf(const std::byte* image);

// Objects of `matrix` that stay wrong in `image`, where each line that differs
// from `truth` is wrong, and one that is the only such one of its row or column
// can be made right.
std::set<ObjectId> BeyondRepair(const CodedObjects& matrix,
                                const std::byte* image, const std::byte* truth);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_ARCHAPT_IMAGE_H_

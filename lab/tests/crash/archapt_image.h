// Archapt's matrices in an image of a heap, read by lab/docs/archapt.md and
// docs/formats/heap.md alone.
#ifndef KAMINO_LAB_TESTS_CRASH_ARCHAPT_IMAGE_H_
#define KAMINO_LAB_TESTS_CRASH_ARCHAPT_IMAGE_H_

#include <cstddef>
#include <vector>

#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

// The valid ones that have no known loss.
std::vector<CodedObjects> MatricesOf(const std::byte* image);

}  // namespace kamino::engine::crash

#endif  // KAMINO_LAB_TESTS_CRASH_ARCHAPT_IMAGE_H_

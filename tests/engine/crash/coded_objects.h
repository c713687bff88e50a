// Which coded objects of an image are beyond repair.
#ifndef KAMINO_TESTS_ENGINE_CRASH_CODED_OBJECTS_H_
#define KAMINO_TESTS_ENGINE_CRASH_CODED_OBJECTS_H_

#include <cstddef>
#include <set>

#include "engine/transaction.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

// The objects of `coded` that stay wrong in `image`: each line that differs
// from `truth` is wrong, and one that is the only wrong one of its row or
// column can be repaired.
std::set<ObjectId> BeyondRepair(const CodedObjects& coded,
                                const std::byte* image, const std::byte* truth);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_CODED_OBJECTS_H_

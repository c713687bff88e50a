// A region that makes durable less than it should, or too late.
#ifndef KAMINO_TESTS_ENGINE_CRASH_FAULTY_REGION_H_
#define KAMINO_TESTS_ENGINE_CRASH_FAULTY_REGION_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "engine/pmem/region.h"

namespace kamino::engine::crash {

// Errs once the fault is planted (tests/faults/fault.h). Null: no such fault in
// that area, 0 being the heap's. `memory` must outlive it.
std::unique_ptr<Region> MakeFaultyRegion(absl::string_view fault, size_t area,
                                         Region* memory);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_FAULTY_REGION_H_

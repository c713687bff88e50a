// The header of all kinds of undo copy.
#ifndef KAMINO_ENGINE_KAMINO_UNDO_COPY_HEADER_H_
#define KAMINO_ENGINE_KAMINO_UNDO_COPY_HEADER_H_

#include "absl/status/status.h"
#include "engine/heap/heap.h"
#include "engine/kamino/undo_copy_format.h"
#include "engine/pmem/region.h"

namespace kamino::engine {

// Durable on return.
void WriteUndoCopyHeader(const Heap& heap, undo_copy_format::Kind kind,
                         Region* region);

// kFailedPrecondition: another kind, version, heap or size, or not an undo
// copy; kDataLoss: damaged.
absl::Status CheckUndoCopyHeader(const Heap& heap, undo_copy_format::Kind kind,
                                 const Region& region);

// Whether the region is an intact undo copy of another heap's objects.
bool IsOfAnotherHeap(const Heap& heap, const Region& region);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_UNDO_COPY_HEADER_H_

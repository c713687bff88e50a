// The header of all kinds of backup.
#ifndef KAMINO_ENGINE_KAMINO_BACKUP_HEADER_H_
#define KAMINO_ENGINE_KAMINO_BACKUP_HEADER_H_

#include "absl/status/status.h"
#include "engine/heap/heap.h"
#include "engine/kamino/backup_format.h"
#include "engine/pmem/region.h"

namespace kamino::engine {

// Durable on return.
void WriteBackupHeader(const Heap& heap, backup_format::Kind kind,
                       Region* region);

// kFailedPrecondition: another kind, version, heap or size, or not a backup;
// kDataLoss: damaged.
absl::Status CheckBackupHeader(const Heap& heap, backup_format::Kind kind,
                               const Region& region);

// Whether the region is an intact backup of another heap's objects.
bool IsOfAnotherHeap(const Heap& heap, const Region& region);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_BACKUP_HEADER_H_

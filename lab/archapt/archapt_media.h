// The parts of an Archapt store that lie on the medium: the heap, and in its
// log area the undo ring and the slots of matrices.
#ifndef KAMINO_LAB_ARCHAPT_ARCHAPT_MEDIA_H_
#define KAMINO_LAB_ARCHAPT_ARCHAPT_MEDIA_H_

#include "engine/heap/heap.h"
#include "engine/pmem/region.h"
#include "lab/archapt/archapt_options.h"
#include "lab/archapt/archapt_recovery.h"
#include "lab/archapt/lost_objects.h"
#include "lab/archapt/matrix_table.h"
#include "lab/archapt/undo_ring.h"

namespace kamino::engine {

struct ArchaptMedia {
  // The heap must outlive this.
  ArchaptMedia(const ArchaptOptions& options, Heap* its_heap,
               const ArchaptLayout& layout)
      : heap(its_heap),
        region(its_heap->region()),
        ring(region, layout.ring, layout.seed, !options.unchecked),
        table(heap, layout.slots_begin, layout.slots, layout.seed,
              !options.unchecked),
        lost(&table) {}

  Heap* const heap;
  Region* const region;
  UndoRing ring;
  MatrixTable table;
  LostObjects lost;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_ARCHAPT_MEDIA_H_

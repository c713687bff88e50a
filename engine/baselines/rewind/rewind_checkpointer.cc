#include "engine/baselines/rewind/rewind_checkpointer.h"

#include "absl/time/time.h"

namespace kamino::engine {
namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(1);

}  // namespace

RewindCheckpointer::RewindCheckpointer(RewindStore* store)
    : worker_("checkpointer", kPeriod, [store] {
        if (store->WantsCheckpoint()) store->Checkpoint();
        return false;
      }) {}

}  // namespace kamino::engine

#include "engine/baselines/archapt/archapt_mover.h"

#include "absl/time/time.h"

namespace kamino::engine {
namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(1);

}  // namespace

ArchaptMover::ArchaptMover(ArchaptStore* store)
    : worker_("mover", kPeriod, [store] {
        if (store->WantsAdvance()) store->Advance();
        return false;
      }) {}

}  // namespace kamino::engine

#include "node/driver/chain_context.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "replica/errors.h"

namespace kamino::node {
namespace {

ChainNodeOptions InModeOf(ChainNodeOptions options, const Storage& storage) {
  options.chain.mode = storage.options().mode;
  options.admission.pipelines = Pipelines(storage.options().mode);
  return options;
}

}  // namespace

ChainContext::ChainContext(ChainNodeOptions options_of_node,
                           Storage* storage_of_node,
                           const replica::ProcedureRegistry* procedures)
    : options(InModeOf(std::move(options_of_node), *storage_of_node)),
      storage(storage_of_node),
      state(procedures, storage->heap()->root()),
      ranges(storage->heap(), storage->scrub_record(),
             options.chain.scrub_range_bytes),
      snapshots(storage->heap(), options.snapshots),
      executor(storage->heap(), &state, &ranges,
               RollsBackAlone(storage->options().mode) ? storage : nullptr,
               &snapshots) {}

void ChainContext::Fail(absl::Status status) {
  if (pending.fatal.ok()) pending.fatal = std::move(status);
}

absl::Status ChainContext::Stopping() const {
  return replica::MakeError(
      kamino::v1::REASON_RECONFIGURING,
      absl::StrCat(options.chain.node_id, " is stopping"));
}

}  // namespace kamino::node

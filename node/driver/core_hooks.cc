#include "node/driver/core_hooks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "glog/logging.h"

namespace kamino::node {

using replica::Actions;
using replica::LinkId;

CoreExecutor::Hooks CoreHooks::Hooks() {
  CoreExecutor::Hooks hooks;
  hooks.tick = [this] { OnTick(); };
  hooks.end_of_batch = [this] { return EndOfBatch(); };
  hooks.activity = &context_.meters.activity;
  hooks.stood_still = [this](absl::Duration time) {
    context_.chain->OnStoodStill(time, context_.views->FailureTimeout());
  };
  return hooks;
}

void CoreHooks::OnTick() {
  reports_.OnTick();
  context_.views->NoteProgress();
  if (context_.Now() - context_.started >=
      context_.options.restarts.long_life) {
    context_.storage->restarts()->Forget();
  }
  context_.chain->OnTick(context_.Now());
  context_.meters.reads.EndOverdue(context_.Now());
  context_.meters.results.EndOverdue(context_.Now());
  context_.links->CloseUnused(context_.Now(), [this](LinkId link) {
    return context_.chain->core().link_table().Uses(link);
  });
  context_.links->CloseDenied(context_.Now());
  standing_.OnTick(context_.Now());
  planned_stop_.OnTick(context_.Now());
  if (user_ != nullptr) user_->OnTick(context_.Now());
}

bool CoreHooks::EndOfBatch() {
  ChainNode& chain = *context_.chain;
  const absl::Time now = context_.Now();
  Actions actions = chain.EndOfBatch(now);
  settled_.store(chain.core().progress().settled(), std::memory_order_relaxed);
  context_.meters.stages.OnBatch(chain.core(), now);
  if (context_.events.decided) context_.events.decided(chain);
  CarryOut(std::move(actions));
  if (user_ != nullptr) user_->EndOfBatch();
  planned_stop_.EndOfBatch(now);
  reports_.Report();
  const bool summarizing = chain.Summarize();
  return BringUndoCopyUpToDate() || summarizing;
}

bool CoreHooks::BringUndoCopyUpToDate() {
  const size_t step = std::min(context_.propagation_step(), pace_.step());
  const absl::Time began = context_.Now();
  const bool more = context_.chain->PropagateToUndoCopy(step);
  pace_.Took(step, context_.Now() - began);
  return more;
}

void CoreHooks::CarryOut(Actions actions) {
  if (!actions.fatal.ok()) {
    LOG(ERROR) << "this node stops: " << actions.fatal;
    context_.events.fatal(std::move(actions.fatal));
    return;
  }
  for (LinkId link : actions.close) context_.links->Close(link);
  for (const Actions::Open& open : actions.open) {
    context_.links->Open(open.link, open.member);
  }
  for (const Actions::Send& send : actions.send) {
    context_.links->Send(send.link, send.message, send.payload);
  }
  if (actions.fetch_view) context_.views->RequestView();
}

}  // namespace kamino::node

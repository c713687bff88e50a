// A node as the head of its chain: requests, sessions, and the handover of this
// role.
#ifndef KAMINO_NODE_DRIVER_NODE_HEAD_H_
#define KAMINO_NODE_DRIVER_NODE_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/principal.h"
#include "engine/kamino/kamino_store.h"
#include "head/admission.h"
#include "head/request.h"
#include "node/driver/chain_context.h"

namespace kamino::node {

// Opens the undo copy and admits requests once this node is the head and its
// heap is repaired. Otherwise it refuses requests. Core thread only.
class NodeHead {
 public:
  // `context` outlives this.
  explicit NodeHead(ChainContext* context) : context_(*context) {}

  // A mutation. Answered at once when this node is not the head.
  void Submit(head::Request request, absl::Time now);

  // Sessions, as in head::HeadSessions. A node that is not the head says so at
  // once, and finds no session.
  void OpenSession(const head::SessionParams& params, absl::Time now,
                   head::HeadSessions::Opened done);
  void AskForSession(uint64_t id, uint64_t epoch, absl::Time now,
                     head::HeadSessions::Opened done,
                     const PrincipalPtr& by = nullptr);
  void CloseSession(uint64_t id, absl::Time now,
                    absl::AnyInvocable<void(absl::Status)> done,
                    const PrincipalPtr& by = nullptr);
  void HearSession(uint64_t id, absl::Time now);
  std::optional<head::SessionInfo> FindSession(uint64_t id) const;

  // The node has a new view.
  void OnView(absl::Time now);
  void OnTick(absl::Time now);
  // Executes the requests that are ready.
  void Execute(absl::Time now);
  // As ChainNode::PropagateToUndoCopy, for the undo copy of the head.
  bool PropagateToUndoCopy(size_t max);
  // Waits until the store's changes are flushed.
  void Quiesce();

  // Executes nothing new any more: mutations wait for another head to which
  // they can be redirected. Then drained() follows, unless the links break.
  void Hold();
  // While held: everything that it has executed is completed, and nothing is
  // announced.
  bool drained() const;
  // A planned stop of the process: nothing more is executed, and any
  // announcement to the successor ends. Then retired() follows, unless the link
  // breaks.
  void Retire();
  // The successor cannot mistake anything under way here for a request on which
  // this node has crashed, and nothing more will begin.
  bool retired() const;
  // The end: answers waiting requests.
  void Stop();

  // None while this node is not the head.
  std::optional<head::AdmissionStats> admission_stats() const;
  std::optional<engine::KaminoStats> store_stats() const;

 private:
  void BecomeIfDue(absl::Time now);
  absl::Status Become(absl::Time now);
  void StopBeing();
  absl::Status NotHead() const;
  absl::Status CheckMaySubmit() const;

  ChainContext& context_;
  // While head.
  std::unique_ptr<engine::KaminoStore> store_;
  std::unique_ptr<head::Admission> admission_;
  bool retiring_ = false;
  bool holding_ = false;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_NODE_HEAD_H_

// The data that all parts of a head use.
#ifndef KAMINO_HEAD_HEAD_CONTEXT_H_
#define KAMINO_HEAD_HEAD_CONTEXT_H_

#include "engine/kamino/kamino_store.h"
#include "head/admission_options.h"
#include "head/waiting_requests.h"
#include "replica/core/chain_core.h"
#include "replica/state/state_machine.h"

namespace kamino::head {

// The pointers outlive the head.
struct HeadContext {
  const AdmissionOptions options;
  engine::KaminoStore* const store;
  replica::StateMachine* const state;
  replica::ChainCore* const core;
  WaitingRequests waiting;
  // Only these fields are used: committed, aborted, repeated, rejected,
  // evicted, identified. The parts know the rest (Admission::stats).
  AdmissionStats counters;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_HEAD_CONTEXT_H_

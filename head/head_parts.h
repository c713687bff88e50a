// The parts of a head.
#ifndef KAMINO_HEAD_HEAD_PARTS_H_
#define KAMINO_HEAD_HEAD_PARTS_H_

#include "engine/kamino/kamino_store.h"
#include "head/admission_options.h"
#include "head/head_context.h"
#include "head/head_sessions.h"
#include "head/in_flight_entries.h"
#include "head/outcome_room.h"
#include "head/quarantine.h"
#include "head/turn.h"
#include "replica/core/chain_core.h"
#include "replica/state/state_machine.h"

namespace kamino::head {

// Each has one part of the work; they are constructed in this order.
struct HeadParts {
  HeadParts(AdmissionOptions options, engine::KaminoStore* store,
            replica::StateMachine* state, replica::ChainCore* core,
            SubmitFunction submit);

  HeadContext context;
  Turn turn;
  InFlightEntries in_flight;
  HeadSessions sessions;
  OutcomeRoom outcomes;
  Quarantine quarantine;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_HEAD_PARTS_H_

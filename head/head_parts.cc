#include "head/head_parts.h"

#include <utility>

namespace kamino::head {

HeadParts::HeadParts(AdmissionOptions options, engine::KaminoStore* store,
                     replica::StateMachine* state, replica::ChainCore* core,
                     SubmitFunction submit)
    : context{std::move(options), store, state, core, {}, {}},
      turn(context.options.clock, context.options.max_turn,
           context.options.max_touched),
      in_flight(&context),
      sessions(&context, &in_flight, std::move(submit)),
      outcomes(&context, &sessions.table()),
      quarantine(&context) {}

}  // namespace kamino::head

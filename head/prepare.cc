// The head's decisions about a request before its execution.
#include "base/status_macros.h"
#include "head/admission.h"
#include "replica/restore.h"

namespace kamino::head {

using engine::Transaction;

absl::Status Admission::Prepare(Transaction& transaction,
                                const BatchClients& clients, absl::Time now,
                                Request* request) {
  replica::Mutation& mutation = request->mutation;
  mutation.dropped_clients.clear();
  if (mutation.in_session) return CheckSession(transaction, *request);
  if (mutation.client_id != 0) {
    return MakeRoomForClient(transaction, clients, now, request);
  }
  if (mutation.function == replica::kDropFunction) {
    return ChooseDropped(now, request);
  }
  if (mutation.function == replica::kOpenSessionFunction) {
    if (request->evicts_least) NarrowWindow(&mutation);
    return CheckRoomForSession(mutation, clients);
  }
  if (mutation.function == replica::kBeginRestoreFunction) {
    return PrepareRestore(&mutation);
  }
  if (request->closes_silent) return ChooseClosed(now, request);
  return CheckMayClose(transaction, *request);
}

}  // namespace kamino::head

// Receives the messages of all links: checks that a message is of this chain
// and view and may arrive on its link (MessageRules), and gives it to the part
// that handles it. A message that may not arrive ends its link.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CORE_CHAIN_MESSAGES_H_
#define KAMINO_REPLICA_CORE_CHAIN_MESSAGES_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/core/chain_parts.h"
#include "replica/core/hello_exchange.h"
#include "replica/core/link_table.h"
#include "replica/core/log_parts.h"
#include "replica/core/state_replacement.h"
#include "replica/core/successor_messages.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_context.h"

namespace kamino::replica {

class ChainMessages {
 public:
  using Message = kamino::internal::v1::ChainMessage;

  // `chain` and all pointers must outlive it.
  ChainMessages(const ChainContext& chain, LinkParts* links, DataParts* data,
                LogParts* log, LinkTable* table);

  // A link that this node opened is up.
  void OnLinkOpened(LinkId link, absl::Time now) {
    hellos_.OnOpened(link, now);
  }
  // `payload`: the bytes behind the message; only an Append has any.
  void OnMessage(LinkId link, const Message& message, absl::string_view payload,
                 absl::Time now);

 private:
  // False: the message may not arrive on that link, and is refused.
  bool Check(LinkId link, const Message& message, absl::Time now);
  // False when the message is of another view; the answer is given then.
  bool CheckView(LinkId link, const Message& message);
  void Handle(LinkId link, const Message& message, absl::string_view payload,
              absl::Time now);
  void OnReject(LinkId link, const Message& message, absl::Time now);
  void OnAppend(LinkId link, const kamino::internal::v1::Append& append,
                absl::string_view entry);
  void OnCompletion(LinkId link, uint64_t applied);
  void OnFetch(LinkId link, const kamino::internal::v1::Fetch& fetch);

  const ChainContext& chain_;
  LinkParts* const links_;
  DataParts* const data_;
  LogParts* const log_;
  LinkTable* const table_;
  HelloExchange hellos_;
  SuccessorMessages successor_;
  StateReplacement replacement_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_CHAIN_MESSAGES_H_

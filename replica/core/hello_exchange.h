// Accepts or refuses links by the Hello of the peer, and sends this node's own
// Hello on the links that it opens (replica/link/handshake.h).
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CORE_HELLO_EXCHANGE_H_
#define KAMINO_REPLICA_CORE_HELLO_EXCHANGE_H_

#include <string>

#include "absl/time/time.h"
#include "base/log_limit.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/core/chain_parts.h"
#include "replica/core/link_table.h"
#include "replica/core/log_parts.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_context.h"

namespace kamino::replica {

class HelloExchange {
 public:
  // `chain` and all pointers must outlive it.
  HelloExchange(const ChainContext& chain, LinkParts* links, DataParts* data,
                LogParts* log, const LinkTable* table)
      : chain_(chain), links_(links), data_(data), log_(log), table_(table) {}

  // A link that this node opened is up.
  void OnOpened(LinkId link, absl::Time now);
  // The first message on a link that another node opened.
  void OnHello(LinkId link, const kamino::internal::v1::Hello& hello,
               absl::Time now);

 private:
  // Why this Hello is refused; "" if it is not.
  std::string Refuse(LinkId link, const kamino::internal::v1::Hello& hello,
                     absl::Time now) const;
  void OnHelloAppend(LinkId link, const kamino::internal::v1::Hello& hello,
                     absl::Time now);
  // A joining node asks to continue: refuses if the entries it needs cannot be
  // read.
  void CheckResumed(const kamino::internal::v1::Hello& hello);
  void SendSync(LinkId link);

  const ChainContext& chain_;
  LinkParts* const links_;
  DataParts* const data_;
  LogParts* const log_;
  const LinkTable* const table_;
  LogLimit told_refusals_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_HELLO_EXCHANGE_H_

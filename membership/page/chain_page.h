// A manager's live page: a read-only picture of the chain. "/" is the page,
// which loads nothing from other servers; "/chain.json" is its data, a
// ChainPage (proto/kamino/internal/v1/page.proto).
#ifndef KAMINO_MEMBERSHIP_PAGE_CHAIN_PAGE_H_
#define KAMINO_MEMBERSHIP_PAGE_CHAIN_PAGE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "membership/manager/manager.h"
#include "membership/page/node_statuses.h"
#include "rpc/credentials.h"
#include "web/server.h"

namespace kamino::membership {

// Thread-safe. Must outlive the server that has its routes; `manager` must
// outlive it.
class ChainPage {
 public:
  // `credentials`: for calls to the nodes. Null: no TLS.
  ChainPage(Manager* manager,
            std::shared_ptr<const rpc::Credentials> credentials)
      : manager_(manager), statuses_(std::move(credentials)) {}

  std::vector<web::Route> Routes();

 private:
  // If this manager does not lead, names the leader.
  std::string Json();

  Manager* const manager_;
  NodeStatuses statuses_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_PAGE_CHAIN_PAGE_H_

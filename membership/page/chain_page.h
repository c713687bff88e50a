// The live page of a manager: the chain as a picture, read only. "/" is the
// page, without anything from elsewhere; "/chain.json" what it is drawn from, a
// ChainPage (proto/kamino/internal/v1/page.proto).
#ifndef KAMINO_MEMBERSHIP_PAGE_CHAIN_PAGE_H_
#define KAMINO_MEMBERSHIP_PAGE_CHAIN_PAGE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "membership/manager.h"
#include "membership/page/node_statuses.h"
#include "rpc/credentials.h"
#include "web/server.h"

namespace kamino::membership {

// Thread-safe. Outlives the server that has its routes; `manager` outlives it.
class ChainPage {
 public:
  // `credentials`: as whom it asks the nodes. Null: in the clear.
  ChainPage(Manager* manager,
            std::shared_ptr<const rpc::Credentials> credentials)
      : manager_(manager), statuses_(std::move(credentials)) {}

  std::vector<web::Route> Routes();

 private:
  // A manager that does not lead says who does.
  std::string Json();

  Manager* const manager_;
  NodeStatuses statuses_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_PAGE_CHAIN_PAGE_H_

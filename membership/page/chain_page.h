// The live page of a manager: the chain as a picture, read only. "/" is the
// page, without anything from elsewhere; "/chain.json" what it is drawn from, a
// ChainPage (proto/kamino/internal/v1/page.proto).
#ifndef KAMINO_MEMBERSHIP_PAGE_CHAIN_PAGE_H_
#define KAMINO_MEMBERSHIP_PAGE_CHAIN_PAGE_H_

#include <string>
#include <vector>

#include "membership/manager.h"
#include "membership/page/node_statuses.h"
#include "web/server.h"

namespace kamino::membership {

// Thread-safe. Outlives the server that has its routes; `manager` outlives it.
class ChainPage {
 public:
  explicit ChainPage(Manager* manager) : manager_(manager) {}

  std::vector<web::Route> Routes();

 private:
  // A manager that does not lead says who does.
  std::string Json();

  Manager* const manager_;
  NodeStatuses statuses_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_PAGE_CHAIN_PAGE_H_

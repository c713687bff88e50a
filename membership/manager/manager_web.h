// A manager's HTTP pages: metrics and probes.
#ifndef KAMINO_MEMBERSHIP_MANAGER_MANAGER_WEB_H_
#define KAMINO_MEMBERSHIP_MANAGER_MANAGER_WEB_H_

#include <string>
#include <utility>
#include <vector>

#include "membership/manager/manager.h"
#include "metrics/page.h"
#include "web/server.h"

namespace kamino::membership {

// Thread-safe.
class ManagerWeb {
 public:
  // `manager` outlives this.
  explicit ManagerWeb(Manager* manager);

  // /metrics, /livez and /readyz; this must outlive the server.
  std::vector<web::Route> Routes();
  // Adds a source to /metrics.
  void Add(metrics::Page::Source source) { page_.Add(std::move(source)); }
  // The text of /metrics.
  std::string Metrics() const { return page_.Text(); }

 private:
  void Describe(metrics::Families* families);

  Manager* const manager_;
  metrics::Page page_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_MANAGER_WEB_H_

// What a manager shows over HTTP: its metrics, and what probes ask.
#ifndef KAMINO_MEMBERSHIP_MANAGER_WEB_H_
#define KAMINO_MEMBERSHIP_MANAGER_WEB_H_

#include <string>
#include <utility>
#include <vector>

#include "membership/manager.h"
#include "metrics/page.h"
#include "web/server.h"

namespace kamino::membership {

// Thread-safe.
class ManagerWeb {
 public:
  // `manager` outlives this.
  explicit ManagerWeb(Manager* manager);

  // /metrics, /livez and /readyz; this outlives who calls them.
  std::vector<web::Route> Routes();
  // On /metrics, too, from now on.
  void Add(metrics::Page::Source source) { page_.Add(std::move(source)); }
  // As /metrics has them.
  std::string Metrics() const { return page_.Text(); }

 private:
  void Describe(metrics::Families* families);

  Manager* const manager_;
  metrics::Page page_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_WEB_H_

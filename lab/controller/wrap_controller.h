// The controller of WrAP (Algorithm 2, with section 3.2 for ordinary stores):
// what the cache lets go is kept from home by a victim cache, and home
// locations change by the logs of closed wraps, in the order in which they were
// closed.
//
//   1. What neither a cache nor the victim cache has is the latest at home
//      (Property 1).
//   2. Of a word that wraps store to, home has what the last one that retired
//      stored: nothing older, as its log is gone, and nothing of a wrap that
//      has not, as it may yet have to be forgotten. The paper does not say so,
//      but lives by it.
#ifndef KAMINO_LAB_CONTROLLER_WRAP_CONTROLLER_H_
#define KAMINO_LAB_CONTROLLER_WRAP_CONTROLLER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "lab/controller/controller.h"
#include "lab/controller/retirement.h"

namespace kamino::bench::controller {

class WrapController final : public Controller {
 public:
  // `queue` must outlive this. `check`: remembers what has retired, for
  // CheckHome, which looks whether invariant 2 holds.
  WrapController(const Machine& machine, EventQueue* queue, bool check);

  Fetched Miss(Time now, LineNumber line) override;
  void Evict(Time now, LineNumber line, const LineData& data) override;
  // It ends in the victim cache, which a crash empties.
  Channel::Done Flush(Time now, LineNumber line, const LineData& data) override;
  Channel::Done WriteLog(Time now, LineNumber line) override;
  std::optional<WrapNumber> OpenWrap(Time now, Actor* waiting) override;
  void CloseWrap(Time now, WrapNumber wrap, Bucket bucket) override;
  LineData Visible(LineNumber line) override;
  absl::Status CheckHome() const override;
  ControllerCounts counts() const override;

  VictimCache& victims() { return *victims_; }

 private:
  // The values of the wrap are at home.
  void Retire(Time now, WrapNumber wrap, const std::vector<LogRecord>& records);

  const Machine machine_;
  EventQueue* const queue_;
  Channel scm_;
  Channel log_;
  Home home_;
  Time now_ = 0;  // when the victim cache was last used
  const std::unique_ptr<VictimCache> victims_;

  Retirement retirement_;

  WrapNumber last_wrap_ = 0;
  uint64_t open_ = 0;  // and not retired
  std::deque<Actor*> waiting_;
  ControllerCounts counts_;

  const bool check_;
  absl::flat_hash_map<WordNumber, uint64_t> retired_;  // with check_
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_WRAP_CONTROLLER_H_

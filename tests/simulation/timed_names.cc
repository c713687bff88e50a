#include "tests/simulation/timed_names.h"

#include <utility>

namespace kamino::simulation {

void TimedNames::LookUp(const std::string& host, absl::Time deadline,
                        Answer answer) {
  const absl::Duration takes = server_->takes;
  const auto end = [self = shared_from_this(), host,
                    answer = std::move(answer)] {
    self->known_.insert(host);
    answer(self->LastGood(host));
  };
  // No event of its own: seeds of runs without name servers do not change.
  if (takes == absl::ZeroDuration()) return end();
  if (world_->now() + takes >= deadline) return;
  world_->After(takes, end);
}

transport::Resolver::Addresses TimedNames::LastGood(
    const std::string& host) const {
  if (known_.count(host) == 0) return {};
  return {*transport::AddressOfNumber("192.0.2.1", 0)};
}

void TimedNames::Find(const std::string& host, std::function<void()> go) {
  auto waits = std::make_shared<bool>(true);
  const auto once = [waits, go = std::move(go)] {
    if (std::exchange(*waits, false)) go();
  };
  LookUp(host, absl::InfiniteFuture(),
         [once](const absl::StatusOr<Addresses>&) { once(); });
  if (!*waits) return;
  world_->After(kLate, [self = shared_from_this(), host, once] {
    if (!self->LastGood(host).empty()) once();
  });
}

}  // namespace kamino::simulation

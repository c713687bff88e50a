#include <algorithm>
#include <vector>

#include "bench/connections/crowd.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::bench::connections {
namespace {

// Opened at a time, so that none waits for others longer than it may take.
constexpr size_t kAtATime = 64;

class IdleCrowd final : public Crowd {
 public:
  IdleCrowd(size_t count, Dialer* dialer) : count_(count), dialer_(dialer) {}

  absl::Status Open(absl::Status* refused) override {
    while (open_.size() < count_ && refused->ok()) {
      const size_t now = std::min(kAtATime, count_ - open_.size());
      for (Dialed& each :
           dialer_->Open(std::vector<kamino::v1::SessionHello>(now))) {
        refused->Update(each.status);
        if (each.status.ok()) open_.push_back(std::move(each.connection));
      }
    }
    return absl::OkStatus();
  }

  size_t size() const override { return open_.size(); }

  absl::Status Close(size_t* lost) override {
    const auto answers = Dialer::Ask(open_, session::Method::kKeepAlive, 0,
                                     kamino::v1::GetRequest());
    *lost += static_cast<size_t>(
        std::count_if(answers.begin(), answers.end(),
                      [](const absl::Status& each) { return !each.ok(); }));
    dialer_->Close(&open_);
    return absl::OkStatus();
  }

 private:
  const size_t count_;
  Dialer* const dialer_;
  std::vector<ConnectionPtr> open_;
};

}  // namespace

std::unique_ptr<Crowd> IdleConnections(size_t count, Dialer* dialer) {
  return std::make_unique<IdleCrowd>(count, dialer);
}

}  // namespace kamino::bench::connections
